// Fuzz target: any text is the settings of an MCP client, or is refused with a reason. Adopted
// settings start `connect`. Putting them back restores the original text.
#include <set>
#include <string>

#include "gateway/tools/client_import.h"
#include "gateway/tools/client_settings.h"
#include "tests/fuzz/fuzz_target.h"

namespace stdgate::test::settings_fuzz {
namespace {

using namespace tools;

void check(std::string_view text) {
  const auto before = read_servers(text);
  const auto servers = import_servers(text);
  if (!servers) return require(!servers.error().empty(), "what is refused has a reason", text);
  require(servers->names.size() == servers->backends.size(), "each backend has its name", text);
  ServerCommands commands;
  for (const std::string& name : servers->names) {
    commands[name] = {"/bin/stdgate", "connect", name};
  }
  const auto adopted = with_commands(text, commands);
  if (!adopted) return require(!adopted.error().empty(), "and what cannot be changed too", text);
  const auto connected = connected_servers(*adopted);
  require(connected.has_value(), "it is read again", text);
  std::set<std::string> names;
  for (const auto& [name, command] : commands) {
    require(connected->contains(name), "each server is reached by connect", text);
    names.insert(name);
  }
  const auto again = import_servers(*adopted);
  require(again.has_value(), "it is imported again", text);
  for (const std::string& name : again->names) {
    require(!names.contains(name), "no server is adopted twice", text);
  }
  const auto undone = with_entries_of(*adopted, text, names);
  if (!undone) return require(!undone.error().empty(), "or put back", text);
  const auto after = read_servers(*undone);
  require(after && after->json() == before->json(), "it says what it said", text);
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::settings_fuzz
