// Each command in README.md and docs/tools.md prints what the page shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness/gateway_process.h"
#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"

namespace stdgate::harness::tools_page_test {
namespace {

namespace fs = std::filesystem;

struct ShownCommand {
  std::string command;
  std::string output;
};

std::string read_file(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The commands in console blocks.
std::vector<ShownCommand> shown_commands(const std::string& page) {
  std::vector<ShownCommand> found;
  std::istringstream lines(page);
  bool is_console = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      is_console = line == "```console";
    } else if (is_console && line.starts_with("$ ")) {
      found.push_back(ShownCommand{line.substr(2), {}});
    } else if (is_console && !found.empty()) {
      found.back().output += line + "\n";
    }
  }
  for (ShownCommand& shown : found) {
    while (shown.output.ends_with("\n\n")) shown.output.pop_back();
  }
  return found;
}

// Times differ between runs, and so does the width of their columns.
std::string without_times(const std::string& text) {
  return std::regex_replace(text, std::regex(R"([0-9]+(\.[0-9])? m?s *)"), "TIME ");
}

std::string shell_output(const fs::path& folder, const std::string& command) {
  const fs::path bin = fs::path(STDGATE_PROGRAM).parent_path();
  const std::string line =
      "cd " + folder.string() + " && PATH=" + bin.string() + ":$PATH sh -c \"$SHOWN\" 2>&1";
  setenv("SHOWN", command.c_str(), 1);
  FILE* const pipe = ::popen(line.c_str(), "r");
  std::string out;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
  ::pclose(pipe);
  unsetenv("SHOWN");
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string host_of(const std::string& url) { return url.substr(url.find("://") + 3); }

TEST(ToolsPage, CommandsPrintWhatIsShown) {
  const fs::path source = STDGATE_SOURCE_DIR;
  const std::string page = read_file(source / "docs/tools.md");
  TemporaryFolder folder;
  folder.write("weather.py",
               "import os, sys\n"
               "print(\"weather server started\", flush=True)\n"
               "if \"WEATHER_API_KEY\" not in os.environ:\n"
               "    sys.exit(\"WEATHER_API_KEY is required\")\n");
  folder.write("lists.py",
               "import json, sys\n"
               "for line in sys.stdin:\n"
               "    message = json.loads(line)\n"
               "    if message.get('method') == 'initialize':\n"
               "        result = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}},\n"
               "                  'serverInfo': {'name': 'files', 'version': '1'}}\n"
               "    elif message.get('method') == 'tools/list':\n"
               "        result = {'tools': [{'name': 'read', 'description': 'Reads a file'},\n"
               "                            {'name': 'write', 'description': 'Writes a file'}]}\n"
               "    else:\n"
               "        if 'id' in message:\n"
               "            print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'error':\n"
               "                              {'code': -32601, 'message': 'no'}}), flush=True)\n"
               "        continue\n"
               "    print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}),\n"
               "          flush=True)\n");
  folder.write("claude_desktop_config.json",
               R"({"mcpServers":{"github":{"command":"docker",
                   "args":["run","-i","-e","GITHUB_TOKEN","ghcr.io/github/github-mcp-server"],
                   "env":{"GITHUB_TOKEN":"ghp_0123456789abcdefghij0123456789abcdef"}},
                   "docs":{"url":"https://docs.example/mcp"}}})");
  const GatewayProcess gateway(serve(
      {backend("demo", demo_server()),
       backend("lists", {"python3", (folder.path() / "lists.py").string()}, "protocol: mcp")}));
  const std::string address = host_of(gateway.url());
  folder.write("gateway.yaml", "listen: [\"" + address + "\"]\nadmin: \"" +
                                   host_of(gateway.admin_url()) +
                                   "\"\nbackends:\n  demo: { command: [\"stdgate\", "
                                   "\"demo-server\"], protocol: jsonrpc }\n  lists: { command: "
                                   "[\"python3\", \"lists.py\"], rules: [{ allow: [reader], tools: "
                                   "[read] }] }\n");
  const std::vector<ShownCommand> commands = shown_commands(page);
  ASSERT_GE(commands.size(), 7U);
  for (const ShownCommand& shown : commands) {
    const std::string output =
        replaced(shell_output(folder.path(), shown.command), address, "127.0.0.1:8080");
    EXPECT_EQ(without_times(output), without_times(shown.output)) << shown.command;
  }
}

// Behaves like @modelcontextprotocol/server-everything, as far as README.md uses that server.
constexpr const char* kEcho = R"py(
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
              "serverInfo": {"name": "echo", "version": "1"}}
    if message["method"] == "tools/call":
        text = "Echo: " + message["params"]["arguments"]["message"]
        result = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"result": result, "jsonrpc": "2.0", "id": message["id"]},
                     separators=(",", ":")), flush=True)
)py";

TEST(Readme, CommandsPrintWhatIsShown) {
  const fs::path source = STDGATE_SOURCE_DIR;
  TemporaryFolder folder;
  folder.write("echo.py", kEcho);
  // The gateway of deploy/run on other ports, and the gateway of the second example.
  std::string demo = read_file(source / "gateway.yaml");
  for (const char* const port : {":8080\"", ":9464\""}) demo = replaced(demo, port, ":0\"");
  GatewaySetup demo_setup;
  demo_setup.config = demo;
  const GatewayProcess first(demo_setup);
  const GatewayProcess second(
      serve_one({"python3", (folder.path() / "echo.py").string()}, "protocol: mcp"));
  const std::vector<std::pair<std::string, std::string>> places = {
      {"127.0.0.1:8080", host_of(first.url())},
      {"127.0.0.1:9464", host_of(first.admin_url())},
      {"127.0.0.1:8081", host_of(second.url())}};
  const std::vector<ShownCommand> commands = shown_commands(read_file(source / "README.md"));
  ASSERT_EQ(commands.size(), 4U);
  for (const ShownCommand& shown : commands) {
    std::string command = replaced(shown.command, "curl ", "curl -s ");  // without a meter
    for (const auto& [from, to] : places) command = replaced(command, from, to);
    std::string output = shell_output(folder.path(), command);
    while (output.ends_with("\n")) output.pop_back();
    output += '\n';
    EXPECT_EQ(output, shown.output) << shown.command;
  }
}

}  // namespace
}  // namespace stdgate::harness::tools_page_test
