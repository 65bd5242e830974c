#include "gateway/tools/user_units.h"

namespace stdgate::tools {

namespace {

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
  for (const char c : path) {
    if (c == '%') out += c;
    out += c;
  }
  return out;
}

}  // namespace

std::string socket_unit(const UserService& service) {
  return std::string(kUnitMark) +
         "# systemd starts the gateway with the first connection.\n"
         "[Unit]\n"
         "Description=Socket of stdgate\n"
         "\n"
         "[Socket]\n"
         "ListenStream=" +
         unit_path(service.socket) +
         "\n"
         "SocketMode=0600\n"
         "DirectoryMode=0700\n"
         "# Connections that may wait while the gateway starts.\n"
         "Backlog=1024\n"
         "\n"
         "[Install]\n"
         "WantedBy=sockets.target\n";
}

std::string service_unit(const UserService& service) {
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
         unit_word(service.program, true) + " --config " + unit_word(service.config_file, true) +
         "\n"
         "ExecReload=/bin/kill -HUP $MAINPID\n"
         "# Of the shell that installed this: servers are found there, as npx and uvx.\n"
         "Environment=" +
         unit_word("PATH=" + service.path, false) +
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

}  // namespace stdgate::tools
