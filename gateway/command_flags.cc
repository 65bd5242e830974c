// What `stdgate --help` says.
#include "gateway/command_flags.h"

#include <algorithm>
#include <string_view>

namespace stdgate {
namespace {

constexpr std::string_view kUsage =
    "Puts stdio JSON-RPC servers on the network.\n"
    "\n"
    "Usage:\n"
    "  stdgate [options] -- COMMAND [ARG...]  serve one command\n"
    "  stdgate [options] [--config FILE]      serve what FILE says (default: gateway.yaml)\n"
    "  stdgate check [options] [...]          validate, print the resolved configuration\n"
    "  stdgate demo-server                    a JSON-RPC server on stdin and stdout, to try with\n";
constexpr std::string_view kExamples =
    "Examples:\n"
    "  stdgate --protocol jsonrpc -- stdgate demo-server\n"
    "  curl --json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"math/add\",\"params\":[1,2]}' \\\n"
    "    http://127.0.0.1:8080/rpc\n"
    "  stdgate -- npx -y @modelcontextprotocol/server-everything\n"
    "  stdgate --min 1 --max 4 --timeout 30s --env LOG_LEVEL=debug -- ./my-server\n"
    "  stdgate check --config gateway.yaml\n";

std::string help_line(const std::string& left, const std::string& right) {
  constexpr size_t kColumn = 30;
  std::string line = "  " + left;
  line.resize(std::max(kColumn, line.size() + 2), ' ');
  return line + right + "\n";
}

std::string help_of(FlagScope scope) {
  std::string lines;
  for (const FlagSpec& spec : kFlags) {
    if (spec.scope != scope) continue;
    const std::string space = *spec.placeholder == '\0' ? "" : " ";
    lines += help_line(spec.name + space + spec.placeholder, spec.help);
  }
  return lines;
}

}  // namespace

std::string help_text() {
  return std::string(kUsage) + "\nOptions (they override the file; defaults in parentheses):\n" +
         help_line("-c, --config FILE", "the configuration") + help_of(FlagScope::gateway) +
         help_line("--version", "print the version") + help_line("-h, --help", "print this") +
         "\nOptions of the command (without --config; a file has the same by other names):\n" +
         help_of(FlagScope::backend) + "\n" + std::string(kExamples);
}

}  // namespace stdgate
