// The name of a backend that is given as a command.
#include <gtest/gtest.h>

#include <sstream>

#include "gateway/app/command_line.h"

namespace stdgate {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST(CommandName, IsWhatPeopleCallTheServer) {
  const std::pair<const char*, const char*> cases[] = {
      // Packages of registries.
      {"npx -y @modelcontextprotocol/server-everything", "server-everything"},
      {"npx @scope/name@1.2.3 --flag", "name"},
      {"npx -y mcp-remote@latest https://a.example/sse", "mcp-remote"},
      {"npx -p @scope/tools -y the-tool arg", "the-tool"},
      {"npx --package=@scope/tools -- the-tool", "the-tool"},
      {"npx -y github:org/repo#main", "repo"},
      {"npm exec -y -- @scope/name", "name"},
      {"npm x @scope/name", "name"},
      {"bunx --bun @scope/name", "name"},
      {"bun x name", "name"},
      {"pnpm dlx @scope/name", "name"},
      {"yarn dlx name", "name"},
      {"uvx mcp-server-git", "mcp-server-git"},
      {"uvx mcp-server-git@0.6.2 --repository /srv", "mcp-server-git"},
      {"uvx --from git+https://github.com/oraios/serena serena start-mcp-server", "serena"},
      {"uvx --python 3.12 name[extra]==1.0", "name"},
      {"uvx git+https://github.com/org/name.git@v1", "name"},
      {"uv tool run name", "name"},
      {"pipx run name", "name"},
      {"pipx run --spec git+https://a/b name", "name"},
      // Scripts.
      {"python3 shout.py", "shout"},
      {"/usr/bin/python3.11 -u /srv/shout.py", "shout"},
      {"python3 -m mod.name", "mod-name"},
      {"python -W ignore -m mcp_server_time --utc", "mcp_server_time"},
      {"python3 -c pass", "python3"},
      {"python3", "python3"},
      {"uv run x.py", "x"},
      {"uv run --directory /srv/weather weather.py", "weather"},
      {"uv --directory", "uv"},
      {"uv run --with mcp mcp run weather.py", "weather"},
      {"uv run python -m tool", "tool"},
      {"uv run -m tool", "tool"},
      {"poetry run tool", "tool"},
      {"node weather.mjs", "weather"},
      {"node --no-warnings -r dotenv/config weather.js", "weather"},
      {"node dist/index.js", "project"},
      {"node ./build/src/main.js", "project"},
      {"node weather/dist/index.js", "weather"},
      {"node /x/node_modules/@scope/server-foo/dist/index.js", "server-foo"},
      {"node server.js", "server"},
      {"node weather/server.js", "weather"},
      {"node /home/ada/server.js", "server"},
      {"node -e 1", "node"},
      {"tsx src/index.ts", "project"},
      {"deno run -A --config deno.json weather.ts", "weather"},
      {"deno run --allow-net jsr:@scope/name", "name"},
      {"deno run npm:@scope/name@1 x", "name"},
      {"deno run https://a.example/weather/mod.ts", "weather"},
      {"bun run weather.ts", "weather"},
      {"bun weather.ts", "weather"},
      {"ruby weather.rb", "weather"},
      {"bash run-weather.sh", "run-weather"},
      // Containers.
      {"docker run -i --rm image:tag", "image"},
      {"docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server", "github-mcp-server"},
      {"docker run --mount type=bind,src=/a,dst=/b -i host:5000/mcp/fetch@sha256:abc x", "fetch"},
      {"podman run -v /a:/b --network=none image", "image"},
      {"docker exec -i container server", "container"},
      {"docker compose run service", "service"},
      {"docker run", "docker"},
      {"docker", "docker"},
      // Programs that are built and run.
      {"cargo run --quiet --bin weather -- --flag", "weather"},
      {"cargo run -p weather", "weather"},
      {"cargo run --release -- stdio", "project"},
      {"go run ./cmd/weather", "weather"},
      {"go run .", "project"},
      {"go run main.go", "project"},
      {"go run example.org/x/weather@latest", "weather"},
      {"java -jar x.jar", "x"},
      {"java -Xmx1g -jar target/weather-1.2.3-all.jar", "weather"},
      {"java -cp a:b org.example.Weather", "weather"},
      {"dotnet run --project src/Weather/Weather.csproj", "weather"},
      {"dotnet bin/Weather.dll", "weather"},
      // Commands that run another command.
      {"env A=b cmd", "cmd"},
      {"env -i PATH=/bin A=b npx -y @scope/name", "name"},
      {"sudo -u mcp nice -n 5 python3 shout.py", "shout"},
      {"env env env env env env env env env env env x", "env"},
      // Programs.
      {"clangd --log=error", "clangd"},
      {"./my-server", "my-server"},
      {"./target/release/weather", "weather"},
      {"/opt/Server.py", "server"},
      {"stdgate demo-server", "demo-server"},
      {"/opt/mcp", "default"},  // the path is used by the gateway itself
      {"python3 -m mcp", "python3"},
      {"/opt/...", "default"},
      {"/opt/ü", "default"},
      {"x/", "x"},
  };
  for (const auto& [command, name] : cases) {
    EXPECT_EQ(app::name_from_command(split(command), "/home/ada/project"), name) << command;
  }
}

TEST(CommandName, LooksIntoAShellsCommand) {
  const std::pair<const char*, const char*> cases[] = {
      {"npx -y @scope/name", "name"},
      {"cd /srv && exec npx -y @scope/name", "name"},
      {"source ~/.nvm/nvm.sh; python3 'shout.py';", "shout"},
      {"echo $HOME", "bash"},
      {"while read x; do echo y; done", "bash"},
      {"", "bash"},
      {"a `b`", "bash"},
  };
  for (const auto& [script, name] : cases) {
    for (const char* option : {"-c", "-lc"}) {
      EXPECT_EQ(app::name_from_command({"bash", option, script}, ""), name) << script;
    }
  }
  EXPECT_EQ(app::name_from_command({"sh", "-c"}, ""), "sh");
}

TEST(CommandName, NeedsNoWorkingDirectory) {
  EXPECT_EQ(app::name_from_command({"node", "dist/index.js"}, ""), "node");
  EXPECT_EQ(app::name_from_command({"node", "dist/index.js"}, "/"), "node");
  EXPECT_EQ(app::name_from_command({"cargo", "run"}, ""), "cargo");
}

TEST(CommandName, IsAValidNameAtMost) {
  EXPECT_EQ(app::name_from_command({"/srv/My Server.py"}, ""), "my-server");
  EXPECT_EQ(app::name_from_command({std::string(64, 'a')}, ""), std::string(64, 'a'));
  EXPECT_EQ(app::name_from_command({std::string(65, 'a')}, ""), "default");
  EXPECT_EQ(app::name_from_command({"npx", std::string(65, 'a')}, ""), "npx");
}

}  // namespace
}  // namespace stdgate
