// `stdgate install --user`: a user's gateway as a unit of systemd.
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "gateway/base/visible_text.h"
#include "gateway/config/config_ranges.h"
#include "gateway/config/text_file.h"
#include "gateway/tools/file_replacement.h"
#include "gateway/tools/tool.h"
#include "gateway/tools/user_gateway.h"
#include "gateway/tools/user_units.h"
#include "transports/net/loop.h"
#include "transports/stdio/command_output.h"

namespace stdgate::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUserInstallUsage =
    "  stdgate install --user [--config FILE] [--dry-run]\n"
    "  stdgate install --user --uninstall\n";
constexpr std::string_view kUserInstallAbout =
    "The gateway of this user as a service: systemd listens on its Unix socket, and\n"
    "starts it with the first connection. The gateway's file is\n"
    "~/.config/stdgate/gateway.yaml, which stdgate adopt writes.\n"
    "\n"
    "Two units go into ~/.config/systemd/user, stdgate.socket and stdgate.service;\n"
    "the socket is enabled. --uninstall takes both away and leaves the file.\n"
    "\n"
    "Exit code: 0 done, 1 not, 2 usage.\n";
constexpr std::array kUserInstallOptions{
    ToolOption{"--user", "", "for this user alone; root's units are in deploy/examples"},
    ToolOption{"--config", "FILE", "of the gateway (~/.config/stdgate/gateway.yaml)"},
    ToolOption{"--uninstall", "", "take the service away"},
    ToolOption{"--dry-run", "", "print the units, and write nothing"},
};

constexpr Duration kSystemctlTime = std::chrono::seconds(30);

using Step = tl::expected<void, std::string>;

Step run_systemctl(const std::vector<std::string>& words) {
  const std::string command = "systemctl --user " + joined(words, " ");
  net::Loop loop;
  stdio::CommandOutput::Result printed;
  const stdio::CommandOutput output(loop, command, kSystemctlTime,
                                    [&loop, &printed](stdio::CommandOutput::Result result) {
                                      printed = std::move(result);
                                      loop.stop();
                                    });
  loop.run();
  if (printed) return {};
  return tl::unexpected(command + " has failed: " + printed.error());
}

Step run_all(const std::vector<std::vector<std::string>>& commands) {
  for (size_t i = 0; i < commands.size(); ++i) {
    const Step done = run_systemctl(commands[i]);
    if (done) continue;
    std::string left;
    for (; i < commands.size(); ++i) left += "\n  systemctl --user " + joined(commands[i], " ");
    return tl::unexpected(done.error() +
                          ". Where systemd runs for this user, these do the rest:" + left);
  }
  return {};
}

const std::vector<std::vector<std::string>> kStart{
    {"daemon-reload"}, {"enable", "--now", "stdgate.socket"}, {"try-restart", "stdgate.service"}};
const std::vector<std::vector<std::string>> kStop{
    {"disable", "--now", "stdgate.socket", "stdgate.service"}};

bool is_ours(const std::string& file) {
  std::error_code unreadable;
  if (!fs::exists(file, unreadable)) return true;
  const auto text = config::read_text_file(file, config::kMaxConfigFile);
  return text && text->starts_with(kUnitMark);
}

Step write_unit(const std::string& file, const std::string& text) {
  if (!is_ours(file)) return tl::unexpected(file + " is another one's unit; move it away first");
  if (auto made = make_private_folder_of(file); !made) return made;
  return replace_file(file, text);
}

ToolOutput uninstall(const std::string& folder, bool is_dry_run) {
  const std::array files{folder + "stdgate.socket", folder + "stdgate.service"};
  ToolOutput output;
  std::error_code error;
  for (const std::string& file : files) {
    if (!is_ours(file)) return tool_error(kFailed, file + " is another one's unit; it stays");
  }
  if (!fs::exists(files[0], error) && !fs::exists(files[1], error)) {
    return tool_error(kFailed, "install: there is no service in " + folder);
  }
  if (is_dry_run) return tool_text("would remove " + files[0] + " and " + files[1] + "\n");
  const Step stopped = run_all(kStop);
  for (const std::string& file : files) {
    if (fs::remove(file, error)) output.out += "removed " + file + "\n";
  }
  if (stopped) {
    if (const Step reloaded = run_systemctl({"daemon-reload"}); reloaded) return output;
  }
  ToolOutput failed = tool_error(
      kFailed,
      "install: " + (stopped ? "systemctl --user daemon-reload has failed" : stopped.error()));
  failed.out = output.out;
  return failed;
}

ToolOutput install_for_user(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  if (!arguments.words.empty() || arguments.has_command || !arguments.has("--user")) {
    return tool_error(kBadUsage, "install: expected --user; stdgate install-to DIR copies stdgate");
  }
  const std::string home = config_home(surroundings.environment);
  if (home.empty()) return tool_error(kFailed, "install: HOME is not set");
  const std::string folder = home + "/systemd/user/";
  if (arguments.has("--uninstall")) return uninstall(folder, arguments.has("--dry-run"));
  const auto gateway = read_user_gateway(arguments.value("--config"), surroundings.environment);
  if (!gateway) return tool_error(kFailed, "install: " + gateway.error());
  if (gateway->is_new) {
    return tool_error(kFailed,
                      "install: there is no " + gateway->file + "; stdgate adopt CLIENT writes it");
  }
  std::error_code error;
  const UserService service{fs::read_symlink("/proc/self/exe", error).string(), gateway->file,
                            gateway->socket, surroundings.environment("PATH").value_or("")};
  const std::array files{std::pair(folder + "stdgate.socket", socket_unit(service)),
                         std::pair(folder + "stdgate.service", service_unit(service))};
  ToolOutput output;
  for (const auto& [file, text] : files) {
    if (arguments.has("--dry-run")) {
      output.out.append(file).append(":\n").append(text).append("\n");
      continue;
    }
    if (const Step written = write_unit(file, text); !written) {
      return tool_error(kFailed, "install: " + written.error());
    }
    output.out += "written " + visible(file, VisibleText::line) + "\n";
  }
  if (arguments.has("--dry-run")) return output;
  if (const Step started = run_all(kStart); !started) {
    ToolOutput failed = tool_error(kFailed, "install: " + started.error());
    failed.out = output.out;
    return failed;
  }
  output.out += "listening at " + gateway->socket +
                "; the gateway starts with the first connection\n"
                "it ends when you log out, unless: loginctl enable-linger\n";
  return output;
}

}  // namespace

extern const Tool kUserInstallTool{
    "install", kUserInstallUsage, kUserInstallAbout, kUserInstallOptions, false, install_for_user};

}  // namespace stdgate::tools
