#include "gateway/tools/diagnosis.h"

#include <algorithm>

#include "gateway/base/utf8.h"
#include "gateway/config/value_names.h"
#include "gateway/rpc/json_writer.h"
#include "gateway/tools/findings.h"
#include "gateway/tools/hints.h"
#include "gateway/tools/listing.h"

namespace stdgate::tools {

namespace {

constexpr size_t kColumns = 80;
constexpr size_t kStepWidth = 24;
constexpr size_t kTimeWidth = 10;

std::string column(std::string text, size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

// `text` in lines that begin in `column`, the first one behind what stands there already: `used`
// columns.
std::string wrapped(std::string_view text, size_t column, size_t used) {
  std::string lines;
  while (text.size() > kColumns - used) {
    size_t end = text.rfind(' ', kColumns - used);
    if (end == std::string_view::npos || end == 0) end = std::min(text.find(' '), text.size());
    lines.append(text.substr(0, end)).append("\n").append(column, ' ');
    text.remove_prefix(std::min(end + 1, text.size()));
    used = column;
  }
  return lines.append(text) + "\n";
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
  text += wrapped(finding.message + " [" + std::string(finding.code) + "]", 2, head.size());
  for (const std::string& line : finding.evidence) text += "  | " + line + "\n";
  if (!finding.advice.empty()) text += "  -> " + wrapped(finding.advice, 5, 5);
  return text;
}

std::string config_text(const Diagnosis& diagnosis) {
  if (!diagnosis.config.empty()) return "\nfor gateway.yaml:\n\n" + diagnosis.config;
  if (diagnosis.changes.empty()) {
    return diagnosis.is_healthy() ? "\nnothing has to change in the configuration\n" : "";
  }
  std::string text = "\nto change in the configuration:\n\n";
  for (const std::string& change : diagnosis.changes) text += "  " + change + "\n";
  return text;
}

}  // namespace

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

bool Diagnosis::is_healthy() const {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.weight == Finding::Weight::breaks;
  });
}

std::string text_of(const Diagnosis& diagnosis) {
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
            wrapped(visible(joined(offer.names, ", "), VisibleText::line), 2, head.size());
  }
  if (!diagnosis.modern_clients.empty()) {
    text += "\n" + wrapped(diagnosis.modern_clients, 2, 0);
  }
  for (const Finding& finding : diagnosis.findings) text += finding_text(finding);
  text += config_text(diagnosis) + "\n";
  return text + (diagnosis.is_healthy() ? "healthy\n" : "not healthy\n");
}

std::string json_of(const Diagnosis& diagnosis) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_object();
  json.boolean("healthy", diagnosis.is_healthy());
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

}  // namespace stdgate::tools
