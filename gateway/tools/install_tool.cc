// `stdgate install-to`: this program and its guard into a folder that another container sees.
// `stdgate install --user`: a user's gateway as a unit of systemd.
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "gateway/base/encodings.h"
#include "gateway/config/config_files.h"
#include "gateway/config/config_ranges.h"
#include "gateway/tools/local_files.h"
#include "gateway/tools/tool.h"
#include "transports/net/loop.h"
#include "transports/stdio/command_output.h"
#include "transports/stdio/guard_process.h"

namespace stdgate::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInstallUsage = "  stdgate install-to DIR\n";
constexpr std::string_view kInstallAbout =
    "Copies stdgate and its guard into DIR, and makes DIR if it does not exist. Files\n"
    "of the same name are replaced. An init container uses it: the image beside it\n"
    "then runs DIR/stdgate, if it has the shared libraries that `ldd stdgate` lists.\n"
    "\n"
    "Exit code: 0 copied, 1 not, 2 usage.\n";
constexpr mode_t kProgramMode = 0755;

// The error is a sentence.
tl::expected<void, std::string> copy_program(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const auto size = fs::file_size(from, error);
  std::string content(error ? 0 : size, '\0');
  std::ifstream in(from, std::ios::binary);
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (!in || content.empty()) return tl::unexpected("cannot read " + from.string());
  if (auto written = replace_file(to.string(), content); !written) return written;
  if (::chmod(to.c_str(), kProgramMode) == 0) return {};
  return tl::unexpected("cannot make " + to.string() + " executable: " + std::strerror(errno));
}

ToolOutput install(const ToolArguments& arguments, const ToolSurroundings& /*surroundings*/) {
  if (arguments.words.size() != 1 || arguments.has_command) {
    return tool_error(kBadUsage, "install-to: expected one DIR");
  }
  const fs::path folder = arguments.words.front();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return tool_error(kFailed, "cannot make " + folder.string() + ": " + error.message());
  const fs::path own = own_program();
  // The guard first: a program that is there finds its guard.
  const std::array programs{own.parent_path() / stdio::GuardBinary::kFileName, own};
  const std::array targets{folder / stdio::GuardBinary::kFileName, folder / "stdgate"};
  for (size_t i = 0; i < programs.size(); ++i) {
    if (const auto copied = copy_program(programs[i], targets[i]); !copied) {
      return tool_error(kFailed, copied.error());
    }
  }
  return tool_text("installed in " + folder.string() + ": stdgate-guard stdgate\n");
}

// --- The units of systemd that start a user's gateway with the first connection ------------------

// The first line of both units, which identifies them.
constexpr std::string_view kUnitMark = "# Written by `stdgate install --user`.\n";

// A word in double quotes, as systemd reads it back (systemd.service(5), systemd.unit(5)).
// `expands`: of a command line, where a dollar sign stands for a variable.
std::string unit_word(std::string_view text, bool expands) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '%' || (expands && c == '$')) out += c;
    out += c;
  }
  return out + "\"";
}

// A path that is a whole value, where nothing is quoted.
std::string unit_path(std::string_view path) {
  std::string out;
  for (const char c : path) out.append(c == '%' ? 2 : 1, c);
  return out;
}

std::string socket_unit(const std::string& socket) {
  return std::string(kUnitMark) +
         "# systemd starts the gateway with the first connection.\n"
         "[Unit]\n"
         "Description=Socket of stdgate\n"
         "\n"
         "[Socket]\n"
         "ListenStream=" +
         unit_path(socket) +
         "\n"
         "SocketMode=0600\n"
         "DirectoryMode=0700\n"
         "# Connections that may wait while the gateway starts.\n"
         "Backlog=1024\n"
         "\n"
         "[Install]\n"
         "WantedBy=sockets.target\n";
}

// `path`: PATH, for the servers.
std::string service_unit(const std::string& config_file, const std::string& path) {
  return std::string(kUnitMark) +
         "# stdgate.socket starts it.\n"
         "[Unit]\n"
         "Description=stdio JSON-RPC servers for the programs of this user\n"
         "Requires=stdgate.socket\n"
         "After=stdgate.socket\n"
         "\n"
         "[Service]\n"
         "Type=notify\n"
         "ExecStart=" +
         unit_word(own_program(), true) + " --config " + unit_word(config_file, true) +
         "\n"
         "ExecReload=/bin/kill -HUP $MAINPID\n"
         "# Of the shell that installed this: servers are found there, as npx and uvx.\n"
         "Environment=" +
         unit_word("PATH=" + path, false) +
         "\n"
         "UMask=0077\n"
         "Restart=on-failure\n"
         "# 2: the configuration is wrong, which a restart does not change.\n"
         "RestartPreventExitStatus=2\n"
         "# More than timeouts.drain and twice pool.grace.\n"
         "TimeoutStopSec=30\n"
         "# Children are stdgate's to end.\n"
         "KillMode=mixed\n";
}

constexpr std::string_view kUserInstallUsage =
    "  stdgate install --user [--config FILE] [--dry-run]\n"
    "  stdgate install --user --uninstall\n";
constexpr std::string_view kUserInstallAbout =
    "Makes the gateway of this user a service. systemd listens on its Unix socket,\n"
    "and starts the gateway with the first connection. The gateway's file is\n"
    "~/.config/stdgate/gateway.yaml, which `stdgate adopt` writes.\n"
    "\n"
    "Writes the units stdgate.socket and stdgate.service to ~/.config/systemd/user,\n"
    "and enables the socket. --uninstall removes both units and keeps the file.\n"
    "\n"
    "Exit code: 0 done, 1 not, 2 usage.\n";
constexpr std::array kUserInstallOptions{
    ToolOption{"--user", "", "for this user; units for root are in deploy/examples"},
    ToolOption{"--config", "FILE", "the gateway's file (~/.config/stdgate/gateway.yaml)"},
    ToolOption{"--uninstall", "", "remove the service"},
    ToolOption{"--dry-run", "", "print the units, and write nothing"},
};

constexpr Duration kSystemctlTime = std::chrono::seconds(30);

using Done = tl::expected<void, std::string>;

Done run_systemctl(const std::vector<std::string>& words) {
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

Done run_all(const std::vector<std::vector<std::string>>& commands) {
  for (size_t i = 0; i < commands.size(); ++i) {
    const Done done = run_systemctl(commands[i]);
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
  if (!file_exists(file)) return true;
  const auto text = config::read_text_file(file, config::kMaxConfigFile);
  return text && text->starts_with(kUnitMark);
}

Done write_unit(const std::string& file, const std::string& text) {
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
  if (!file_exists(files[0]) && !file_exists(files[1])) {
    return tool_error(kFailed, "install: there is no service in " + folder);
  }
  if (is_dry_run) return tool_text("would remove " + files[0] + " and " + files[1] + "\n");
  const Done stopped = run_all(kStop);
  for (const std::string& file : files) {
    if (fs::remove(file, error)) output.out += "removed " + file + "\n";
  }
  if (stopped) {
    if (const Done reloaded = run_systemctl({"daemon-reload"}); reloaded) return output;
  }
  output.fail({kFailed, "install: " + (stopped ? "systemctl --user daemon-reload has failed"
                                               : stopped.error())});
  return output;
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
  const std::string path = surroundings.environment("PATH").value_or("");
  const std::array files{std::pair(folder + "stdgate.socket", socket_unit(gateway->socket)),
                         std::pair(folder + "stdgate.service", service_unit(gateway->file, path))};
  ToolOutput output;
  for (const auto& [file, text] : files) {
    if (arguments.has("--dry-run")) {
      output.out.append(file).append(":\n").append(text).append("\n");
      continue;
    }
    if (const Done written = write_unit(file, text); !written) {
      return tool_error(kFailed, "install: " + written.error());
    }
    output.out += "written " + visible(file, VisibleText::line) + "\n";
  }
  if (arguments.has("--dry-run")) return output;
  if (const Done started = run_all(kStart); !started) {
    output.fail({kFailed, "install: " + started.error()});
    return output;
  }
  output.out += "listening at " + gateway->socket +
                "; the gateway starts with the first connection\n"
                "it ends when you log out, unless: loginctl enable-linger\n";
  return output;
}

}  // namespace

extern const Tool kInstallTool{"install-to",  "DIR",         "copy stdgate and its guard to DIR",
                               kInstallUsage, kInstallAbout, {},
                               false,         install};

extern const Tool kUserInstallTool{"install",
                                   "--user",
                                   "run this user's gateway as a service",
                                   kUserInstallUsage,
                                   kUserInstallAbout,
                                   kUserInstallOptions,
                                   false,
                                   install_for_user};

}  // namespace stdgate::tools
