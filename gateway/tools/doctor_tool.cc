// `stdgate doctor`: tries a server, and says what is wrong with it.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "gateway/app/command_flags.h"
#include "gateway/base/encodings.h"
#include "gateway/config/backend_facts.h"
#include "gateway/config/secret.h"
#include "gateway/config/value_names.h"
#include "gateway/rpc/json_text.h"
#include "gateway/tools/conversation.h"
#include "gateway/tools/doctor.h"
#include "gateway/tools/gateway_yaml.h"
#include "gateway/tools/hints.h"
#include "gateway/tools/listing.h"
#include "gateway/tools/peer.h"

namespace stdgate::tools {

namespace {

constexpr std::string_view kDoctorUsage =
    "  stdgate doctor [options] -- COMMAND [ARG...]  a command\n"
    "  stdgate doctor [options] BACKEND              one of the configuration\n";

constexpr std::string_view kDoctorAbout =
    "Starts a server as the gateway would, does its handshake, lists what it offers,\n"
    "and ends it. Then it says what users would meet: noise on stdout, buffered\n"
    "answers, a crash and its last lines, missing variables, slow starts, processes\n"
    "left behind. It prints the lines for gateway.yaml; for a BACKEND, the lines that\n"
    "have to change there.\n"
    "\n"
    "Exit code: 0 healthy, 1 something breaks it, 2 usage.\n";

constexpr std::array kDoctorOptions{
    ToolOption{"--json", "", "print the report as JSON"},
    ToolOption{"--timeout", "TIME", "for each step (30s; 90s while npx or the like may fetch)"},
    ToolOption{"--config", "FILE", "the file that has BACKEND (gateway.yaml)"},
};

constexpr Duration kTimeout = std::chrono::seconds(30);
// A package with its dependencies may have some hundred MB.
constexpr Duration kFetchTimeout = std::chrono::seconds(90);
// Time for the steps after the first one.
constexpr Duration kLeastRest = std::chrono::seconds(30);
constexpr Duration kMostRest = std::chrono::seconds(90);
// Helpers of a server notice its end, and end, a moment after it.
constexpr Duration kLinger = std::chrono::seconds(2);

// Takes what was found wrong with a command out of it. False: a backend with it would not work.
bool mend_command(const Diagnosis& diagnosis, std::vector<std::string>& command) {
  constexpr std::array<std::string_view, 3> kUseless{"one-word", "echo", "sandbox-network"};
  const auto has = [&diagnosis](std::string_view code) {
    return std::ranges::find(diagnosis.findings, code, &Finding::code) != diagnosis.findings.end();
  };
  if (std::ranges::any_of(kUseless, has)) return false;
  if (!has("npx-asks")) return true;
  const auto run = config::package_run_of(command);
  if (!run || !run->may_ask) return false;  // it is somewhere in a script
  command.insert(command.begin() + static_cast<ptrdiff_t>(run->words), "-y");
  return true;
}

// Adds the text for the configuration, or the changes to it.
void add_changes(Diagnosis& diagnosis, const config::BackendConfig& given,
                 const ToolArguments& arguments) {
  std::vector<BackendSetting> changes = changes_between(given, diagnosis.backend);
  for (const std::string& name : diagnosis.variables) {
    const bool is_given = VariableChoice{{name}}.is_given_to(given);
    if (!is_given) changes.push_back({{"env", name}, yaml_reference(name)});
  }
  if (arguments.has_command) {
    std::vector<std::string> not_written;  // secrets, as a report has it
    BackendLines lines = lines_of(command_line_of(arguments), not_written, changes);
    lines.name = given.name;
    if (!mend_command(diagnosis, lines.command)) return;
    lines.command = config::hide_secret_arguments(lines.command);
    diagnosis.config = "backends:\n" + backend_yaml(lines, 2, 2);
    return;
  }
  for (const BackendSetting& change : changes) {
    diagnosis.changes.push_back(setting_text(given.name, change));
  }
}

void hide_secrets(Diagnosis& diagnosis, const config::SecretTexts& secrets) {
  diagnosis.command = visible(secrets.hide(joined(secrets.command(), " ")), VisibleText::line);
  for (Step& step : diagnosis.steps) step.outcome = secrets.hide(step.outcome);
  for (Finding& finding : diagnosis.findings) {
    finding.message = secrets.hide(finding.message);
    finding.advice = secrets.hide(finding.advice);
    for (std::string& line : finding.evidence) line = secrets.hide(line);
  }
  for (Offer& offer : diagnosis.offers) {
    for (std::string& name : offer.names) name = secrets.hide(name);
  }
  diagnosis.server_name = secrets.hide(diagnosis.server_name);
  diagnosis.server_version = secrets.hide(diagnosis.server_version);
  diagnosis.revision = secrets.hide(diagnosis.revision);
}

// --- The report -------------------------------------------------------------------------------

constexpr size_t kStepWidth = 24;
constexpr size_t kTimeWidth = 10;

std::string column(std::string text, size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::string_view name_of(Finding::Weight weight) {
  switch (weight) {
    case Finding::Weight::breaks:
      return "error";
    case Finding::Weight::warning:
      return "warning";
    case Finding::Weight::note:
      break;
  }
  return "note";
}

bool is_healthy(const Diagnosis& diagnosis) {
  return std::ranges::find(diagnosis.findings, Finding::Weight::breaks, &Finding::weight) ==
         diagnosis.findings.end();
}

std::string server_text(const Diagnosis& diagnosis) {
  std::string text = diagnosis.server_name;
  if (!diagnosis.server_version.empty()) text += " " + diagnosis.server_version;
  const bool is_agent = diagnosis.backend.protocol == config::Protocol::acp;
  const std::string protocol = is_agent ? "ACP " : "MCP ";
  if (!diagnosis.revision.empty()) {
    text += (text.empty() ? protocol : ", " + protocol) + diagnosis.revision;
  }
  return visible(text, VisibleText::line);
}

std::string finding_text(const Finding& finding) {
  const std::string head = std::string(name_of(finding.weight)) + ": ";
  std::string text = "\n" + head;
  text += app::wrapped(finding.message + " [" + std::string(finding.code) + "]", 2, head.size());
  for (const std::string& line : finding.evidence) text += "  | " + line + "\n";
  if (!finding.advice.empty()) text += "  -> " + app::wrapped(finding.advice, 5, 5);
  return text;
}

std::string config_text(const Diagnosis& diagnosis) {
  if (!diagnosis.config.empty()) return "\nfor gateway.yaml:\n\n" + diagnosis.config;
  if (diagnosis.changes.empty()) {
    return is_healthy(diagnosis) ? "\nnothing has to change in the configuration\n" : "";
  }
  std::string text = "\nto change in the configuration:\n\n";
  for (const std::string& change : diagnosis.changes) text += "  " + change + "\n";
  return text;
}

std::string report_text(const Diagnosis& diagnosis) {
  std::string text = "command  " + diagnosis.command + "\n";
  if (const std::string server = server_text(diagnosis); !server.empty()) {
    text += "server   " + server + "\n";
  }
  if (const std::string sandbox = sandbox_text(diagnosis.backend); !sandbox.empty()) {
    text += "sandbox  " + visible(sandbox, VisibleText::line) + "\n";
  }
  text += '\n';
  for (const Step& step : diagnosis.steps) {
    std::string line = step.is_ok ? "  ok  " : "  --  ";
    line += column(step.name, kStepWidth) + column(text_of(step.took), kTimeWidth);
    line += visible(step.outcome, VisibleText::line);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  for (const Offer& offer : diagnosis.offers) {
    if (offer.names.empty()) continue;
    const std::string head = std::string(offer.kind) + ": ";
    text += "\n" + head +
            app::wrapped(visible(joined(offer.names, ", "), VisibleText::line), 2, head.size());
  }
  if (!diagnosis.modern_clients.empty()) {
    text += "\n" + app::wrapped(diagnosis.modern_clients, 2, 0);
  }
  for (const Finding& finding : diagnosis.findings) text += finding_text(finding);
  text += config_text(diagnosis) + "\n";
  return text + (is_healthy(diagnosis) ? "healthy\n" : "not healthy\n");
}

std::string report_json(const Diagnosis& diagnosis) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_object();
  json.boolean("healthy", is_healthy(diagnosis));
  json.text("command", diagnosis.command);
  json.text("protocol", config::name_of(diagnosis.backend.protocol));
  json.text("sandbox", sandbox_text(diagnosis.backend));
  json.begin_object("server");
  json.text("name", diagnosis.server_name);
  json.text("version", diagnosis.server_version);
  json.text("revision", diagnosis.revision);
  json.boolean("legacy", diagnosis.is_legacy);
  json.boolean("modern", diagnosis.is_modern);
  json.text("modern_clients", diagnosis.modern_clients);
  json.end_object();
  json.begin_array("steps");
  for (const Step& step : diagnosis.steps) {
    json.begin_object();
    json.text("name", step.name);
    json.boolean("ok", step.is_ok);
    json.raw("seconds", std::to_string(to_seconds(step.took)));
    json.text("outcome", step.outcome);
    json.end_object();
  }
  json.end_array();
  json.begin_object("offers");
  for (const Offer& offer : diagnosis.offers) {
    write_texts(json, offer.kind, offer.names);
  }
  json.end_object();
  json.begin_array("findings");
  for (const Finding& finding : diagnosis.findings) {
    json.begin_object();
    json.text("weight", name_of(finding.weight));
    json.text("code", finding.code);
    json.text("message", finding.message);
    json.text("advice", finding.advice);
    write_texts(json, "evidence", finding.evidence);
    json.end_object();
  }
  json.end_array();
  json.text("config", diagnosis.config);
  write_texts(json, "changes", diagnosis.changes);
  json.end_object();
  return json.take() + "\n";
}

// --- The word --------------------------------------------------------------------------------

// A script that reads both outputs wants the report alone.
void tell_people(const std::string& line) {
  if (isatty(STDERR_FILENO) != 1) return;
  std::fprintf(stderr, "stdgate: doctor: %s\n", visible(line, VisibleText::line).c_str());
}

ToolOutput diagnose(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  if (arguments.has_command ? !arguments.words.empty() : arguments.words.size() != 1) {
    return tool_error(kBadUsage, "doctor: expected -- COMMAND, or the name of one backend");
  }
  const auto timeout = arguments.timeout(kTimeout);
  if (!timeout) return failure(timeout.error());
  const auto config =
      config_of(arguments, surroundings, arguments.has_command ? "" : arguments.words.front());
  if (!config) return {kBadUsage, {}, config.error()};
  const auto chosen = find_backend(
      *config, arguments.has_command ? config->backends.front().name : arguments.words.front(),
      "doctor tries");
  if (!chosen) return tool_error(kBadUsage, chosen.error());
  const config::BackendConfig& backend = **chosen;
  const auto stage = CommandStage::open(*config, backend, surroundings, "stdgate-doctor");
  if (!stage) return tool_error(kFailed, stage.error());
  (*stage)->set_linger(kLinger);
  Doctor doctor(
      {(*stage)->services(),
       [&surroundings](const std::string& name) { return surroundings.variables.contains(name); },
       tell_people},
      backend,
      {.step = *timeout,
       .fetch = arguments.has("--timeout") ? *timeout : kFetchTimeout,
       .whole = *timeout + std::clamp(3 * *timeout, kLeastRest, kMostRest)});
  Diagnosis diagnosis = doctor.examine();
  add_changes(diagnosis, backend, arguments);
  hide_secrets(diagnosis, {*config, backend, (*stage)->services().launch.environment});
  ToolOutput output;
  output.exit_code = is_healthy(diagnosis) ? kHealthy : kFailed;
  output.out = arguments.has("--json") ? report_json(diagnosis) : report_text(diagnosis);
  return output;
}

}  // namespace

extern const Tool kDoctorTool{"doctor",     "-- COMMAND", "try a server, and say what is wrong",
                              kDoctorUsage, kDoctorAbout, kDoctorOptions,
                              true,         diagnose};

}  // namespace stdgate::tools
