// The program's entry: which of its modes to run. The process that serves is in app/process.h.

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "gateway/app/command_line.h"
#include "gateway/app/config_findings.h"
#include "gateway/app/listeners.h"
#include "gateway/app/permissions.h"
#include "gateway/app/process.h"
#include "gateway/app/secret_bytes.h"
#include "gateway/base/encodings.h"
#include "gateway/config/config_changes.h"
#include "gateway/demo/demo_server.h"
#include "gateway/policy/rule_review.h"
#include "gateway/tools/tool.h"
#include "metrics/audit/verification.h"
#include "metrics/logs/log_writer.h"
#include "transports/net/file_descriptor.h"

namespace stdgate {
namespace {

std::map<std::string, std::string> read_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

constexpr int kBadAudit = 1;  // exit code: something in it is not what was written

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

uint64_t random_number() {
  std::array<uint8_t, sizeof(uint64_t)> bytes{};
  app::fill_random(bytes);
  return std::bit_cast<uint64_t>(bytes);
}

std::chrono::sys_seconds now_in_seconds() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// The lines say already that they are about stdgate, or about a place in its file.
void print_warnings(const app::CommandLine& command_line, app::Findings findings) {
  constexpr std::string_view kOwnName = "stdgate: ";
  for (const std::string& line : app::lines_of(command_line, std::move(findings))) {
    std::string_view text = line;
    if (text.starts_with(kOwnName)) text.remove_prefix(kOwnName.size());
    std::fprintf(stderr, "stdgate: warning: %.*s", static_cast<int>(text.size()), text.data());
  }
}

// No errors: the file may be checked elsewhere than where it is to serve.
void warn_of_surroundings(const app::CommandLine& command_line, const config::Config& config,
                          const std::map<std::string, std::string>& variables) {
  app::Findings findings = app::unstartable_children(config, variables);
  for (app::Findings more :
       {app::exposed_files(config), app::exposed_url(config),
        app::expired_keys(config, now_in_seconds()), app::unusable_state_dir(config),
        app::unpinned_backends(config), app::unchecked_schemas(config),
        policy::review_listeners(config), policy::review_roles(config)}) {
    std::ranges::move(more, std::back_inserter(findings));
  }
  for (const config::BackendConfig& backend : config.backends) {
    std::ranges::move(policy::review_rules(backend, config.roles), std::back_inserter(findings));
  }
  print_warnings(command_line, std::move(findings));
}

// The files of certificates, keys and the audit are read as for serving. False: they cannot be
// used, which has been said.
bool check_files(const app::CommandLine& command_line, const config::Config& config) {
  app::TlsFindings found = app::check_tls(config, now_in_seconds());
  for (app::Findings more :
       {app::unusable_keys(config), app::unusable_audit(config), app::unusable_locks(config)}) {
    std::ranges::move(more, std::back_inserter(found.errors));
  }
  for (const std::string& line : app::lines_of(command_line, found.errors)) {
    std::fputs(line.c_str(), stderr);
  }
  print_warnings(command_line, std::move(found.warnings));
  return found.errors.empty();
}

// Output that was asked for has to arrive: a full disk behind a pipe is no success.
int print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return app::kCleanExit;
  std::fprintf(stderr, "stdgate: cannot write to stdout: %s\n", std::strerror(errno));
  return app::kCouldNotStart;
}

// `stdgate check --as`.
int print_permissions(const app::CommandLine& command_line,
                      const config::Environment& environment) {
  const auto config = app::load_config(command_line, environment);
  if (!config) return app::kUsageError;  // which has been said
  const auto text = app::permissions_text(
      *config, {command_line.as, command_line.only, command_line.as_json}, now_in_seconds());
  if (text) return print(*text);
  std::fprintf(stderr, "stdgate: %s\n", visible(text.error(), VisibleText::line).c_str());
  return app::kUsageError;
}

// `stdgate check --against`.
int print_changes(const app::CommandLine& command_line, const config::Environment& environment) {
  app::CommandLine running_line;
  running_line.config_file = command_line.against;
  const auto running = app::load_config(running_line, environment);
  if (!running) {
    std::fputs(running.error().c_str(), stderr);
    return app::kUsageError;
  }
  const auto wanted = app::load_config(command_line, environment);
  if (!wanted) return app::kUsageError;  // which has been said
  return print(config::changes_text(config::changes_between(*running, *wanted)));
}

// As much as a key may have, and more, so that a longer one is noticed.
std::string read_stdin() {
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), stdin));
  return text;
}

int run_tool(const tools::Tool& tool, std::vector<std::string> arguments,
             const std::map<std::string, std::string>& variables,
             const config::Environment& environment) {
  const tools::ToolSurroundings surroundings{variables,        environment,
                                             STDGATE_VERSION,  isatty(STDOUT_FILENO) == 1,
                                             now_in_seconds(), random_number()};
  const tools::ToolOutput output = tools::run_tool(tool, arguments, surroundings);
  std::fputs(output.err.c_str(), stderr);
  const int printed = print(output.out);
  return printed == app::kCleanExit ? output.exit_code : printed;
}

// Certificates are looked at when listeners are opened; afterwards they are taken over by
// themselves, and a reload leaves them alone.
enum class CertificateFiles : uint8_t { looked_at, left_alone };

// The configuration with the files that only serving needs, or what is wrong with it, for people.
// `files`: receives the names of the files that were read for it.
tl::expected<config::Config, std::string> load_to_serve(const app::CommandLine& command_line,
                                                        const config::Environment& environment,
                                                        CertificateFiles certificates,
                                                        std::vector<std::string>& files) {
  files.clear();
  auto config = app::load_config(command_line, environment, &files);
  if (!config) return config;
  app::Findings findings = app::unusable_keys(*config);
  std::ranges::move(app::unusable_locks(*config), std::back_inserter(findings));
  if (certificates == CertificateFiles::looked_at) {
    std::ranges::move(app::check_tls(*config, now_in_seconds()).errors,
                      std::back_inserter(findings));
  }
  std::string problems;
  for (const std::string& line : app::lines_of(command_line, std::move(findings))) problems += line;
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return config;
}

int serve(const app::CommandLine& command_line, std::map<std::string, std::string>& variables,
          const config::Environment& environment) {
  // Before a file is opened.
  auto sockets = net::PassedSockets::take(variables);
  std::vector<std::string> files;
  const auto config = load_to_serve(command_line, environment, CertificateFiles::looked_at, files);
  const auto read_again = [&] {
    return load_to_serve(command_line, environment, CertificateFiles::left_alone, files);
  };
  if (config && !sockets) {
    const std::string sentence = config->log.format == config::LogFormat::text ? "stdgate: " : "";
    logs::write_start_error(config->log.format, "cannot listen",
                            sentence + visible(sockets.error(), VisibleText::line) + '\n',
                            variables);
    return app::kCouldNotStart;
  }
  // With a file there is more to serve, and what is missing may come.
  const std::string missing = config && !command_line.command.empty()
                                  ? app::missing_program(config->backends.front(), variables)
                                  : std::string();
  if (!missing.empty()) {
    const std::string sentence = config->log.format == config::LogFormat::text ? "stdgate: " : "";
    logs::write_start_error(config->log.format, "bad command line",
                            sentence + visible(missing, VisibleText::line) + '\n', variables);
    return app::kUsageError;
  }
  if (config) {
    const std::string file = app::config_file_of(command_line);
    std::error_code gone;
    return app::serve(
        *config, variables,
        {.read_again = read_again,
         .config_file = file.empty() ? file : std::filesystem::absolute(file, gone).string(),
         .files = &files,
         .sockets = &*sockets});
  }
  logs::write_start_error(app::wanted_log_format(command_line), "bad configuration", config.error(),
                          variables);
  return app::kUsageError;
}

int run(int argc, char** argv) {
  std::map<std::string, std::string> variables = read_environment();
  const config::Environment environment = [&variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  if (const tools::Tool* tool = argc > 1 ? tools::find_tool(argv[1]) : nullptr) {
    return run_tool(*tool, {argv + 2, argv + argc}, variables, environment);
  }
  std::error_code gone;  // the working directory may not exist any more
  const std::string working_directory = std::filesystem::current_path(gone).string();
  const app::CommandLine command_line =
      app::parse_command_line(argc, argv, working_directory, tools::command_words());
  switch (command_line.action) {
    case app::CommandLine::Action::exit:
      if (command_line.exit_code == 0) return print(command_line.output);
      logs::write_start_error(command_line.error_format, "bad command line", command_line.output,
                              variables);
      return command_line.exit_code;
    case app::CommandLine::Action::check: {
      const app::CheckReport report = app::check_config(command_line, environment);
      if (report.exit_code != 0) {
        std::fputs(report.output.c_str(), stderr);
        return report.exit_code;
      }
      if (command_line.as.empty() && (command_line.as_json || !command_line.only.empty())) {
        std::fputs("stdgate: --backend and --json go with --as\n", stderr);
        return app::kUsageError;
      }
      if (!command_line.as.empty()) return print_permissions(command_line, environment);
      std::string output = report.output;
      if (const auto config = app::load_config(command_line, environment)) {
        output += app::bridge_lines(*config) + app::pin_lines(*config);
        if (!check_files(command_line, *config)) return app::kUsageError;
        warn_of_surroundings(command_line, *config, variables);
      }
      if (!command_line.against.empty()) return print_changes(command_line, environment);
      return print(output);
    }
    case app::CommandLine::Action::hash_key: {
      const bool makes_key = command_line.makes_key || isatty(STDIN_FILENO) == 1;
      const auto text = makes_key ? app::new_key_text() : app::key_hash_text(read_stdin());
      if (text) return print(*text);
      std::fprintf(stderr, "stdgate: %s\n", text.error().c_str());
      return app::kUsageError;
    }
    case app::CommandLine::Action::verify_audit: {
      const audit::AuditReport report = audit::verify_files(command_line.audit_files);
      const int printed = print(visible(report.text, VisibleText::lines));
      if (report.is_good) return printed;
      return report.is_complete ? kBadAudit : app::kUsageError;
    }
    case app::CommandLine::Action::demo_server:
      return demo::run_demo_server(0, 1, SteadyClock());
    case app::CommandLine::Action::serve:
      break;
  }
  return serve(command_line, variables, environment);
}

}  // namespace
}  // namespace stdgate

int main(int argc, char** argv) {
  // First of all: children of the same user may not read the environment and memory of this
  // process, nor take its descriptors.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // Whatever is opened later must not get their numbers.
  if (!stdgate::net::open_standard_descriptors()) return stdgate::app::kCouldNotStart;
  // Peers that go away are errors of their write, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow any more is an error of its write too.
  std::signal(SIGXFSZ, SIG_IGN);
  return stdgate::run(argc, argv);
}
