// The text of --help: each default in it is the default of the configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "gateway/app/command_flags.h"
#include "gateway/app/command_line.h"

namespace stdgate {
namespace {

using testing::HasSubstr;

std::optional<std::string> no_variables(const std::string&) { return std::nullopt; }

app::CommandLine parse_words(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "stdgate");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return app::parse_command_line(static_cast<int>(argv.size()), argv.data());
}

tl::expected<config::Config, std::string> load(const std::vector<std::string>& arguments) {
  return app::load_config(parse_words(arguments), no_variables);
}

// The help's lines about one flag, joined by spaces; empty if the flag is missing.
std::string lines_of(const std::string& flag) {
  std::istringstream help(app::help_text(app::command_flags()));
  std::string found;
  for (std::string line; std::getline(help, line);) {
    if (found.empty()) {
      if (line.starts_with("  " + flag + " ")) found = line;
    } else if (line.starts_with("      ")) {
      found += " " + line.substr(line.find_first_not_of(' '));
    } else {
      break;
    }
  }
  return found;
}

// "16" for "… (16)", "session; jsonrpc: shared" for "… (session; jsonrpc: shared)".
std::string default_in(const std::string& text) {
  if (!text.ends_with(")")) return {};
  const size_t open = text.rfind('(');
  return text.substr(open + 1, text.size() - open - 2);
}

// The part of the default for `protocol`, which begins with the protocol's name; otherwise the
// usual default.
std::string default_for(const std::string& stated, const std::string& protocol) {
  std::string usual;
  std::istringstream parts(stated);
  for (std::string part; std::getline(parts, part, ';');) {
    part.erase(0, part.find_first_not_of(' '));
    if (part.starts_with(protocol + ": ")) return part.substr(protocol.size() + 2);
    if (part.find(": ") == std::string::npos) usual = part;
  }
  return usual;
}

TEST(Help, StatesTheDefaultsThatTheConfigurationHas) {
  const std::set<std::string> without = {"--allowed-hosts",
                                         "--anonymous",
                                         "--api-key-file",
                                         "--audit-file",
                                         "--traces-endpoint",
                                         "--allowed-origins",
                                         "--rpc-stream",
                                         "--watch",
                                         "--no-call-log",
                                         "--name",
                                         "--env",
                                         "--env-file",
                                         "--env-inherit",
                                         "--cwd",
                                         "--expose-fault-details",
                                         "--replica",
                                         "--state-dir",
                                         "--session-key-file",
                                         "--tls-certificate",
                                         "--tls-key",
                                         "--client-ca"};
  for (const app::FlagSpec& spec : app::command_flags()) {
    const std::string& name = spec.name;
    const std::string stated = default_in(lines_of(name));
    EXPECT_EQ(stated.empty(), without.contains(name)) << name << ": " << lines_of(name);
    if (stated.empty()) continue;
    for (const std::string protocol : {"mcp", "jsonrpc", "lsp", "acp"}) {
      const std::string value = default_for(stated, protocol);
      if (value.empty()) continue;  // only jsonrpc has cancel_method
      std::vector<std::string> plain = {"--protocol", protocol, "--", "x"};
      if (name == "--protocol") plain = {"--", "x"};
      std::vector<std::string> with_flag = plain;
      with_flag.insert(with_flag.begin(), {name, value});
      const auto expected = load(plain);
      const auto config = load(with_flag);
      ASSERT_TRUE(expected);
      ASSERT_TRUE(config) << name << " " << value << ": " << config.error();
      EXPECT_EQ(*config, *expected) << name << " " << value;
    }
  }
}

TEST(Help, NamesWhatIsInherited) {
  const auto config = load({"--", "x"});
  ASSERT_TRUE(config);
  for (const std::string& name : config->backends.at(0).env_inherit) {
    EXPECT_THAT(app::help_text(app::command_flags()), HasSubstr(name));
  }
}

TEST(Help, FitsATerminal) {
  std::vector<std::string> helps{app::help_text(app::command_flags())};
  for (const app::CommandWord& word : app::own_words()) {
    helps.emplace_back(app::word_help(word.word));
  }
  for (const std::string& help : helps) {
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(Help, EachWordExplainsItselfWhereverItIsAsked) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
      {{"audit", "--help"}, "stdgate audit verify FILE"},
      {{"audit", "verify", "--help"}, "stdgate audit verify FILE"},
      {{"audit", "verify", "file", "-h"}, "stdgate audit verify FILE"},
      {{"config", "--help"}, "stdgate config schema"},
      {{"config", "schema", "--help"}, "stdgate config schema"},
      {{"config", "reference", "-h"}, "stdgate config reference"},
      {{"version", "--help"}, "stdgate version"},
      {{"help", "--help"}, "stdgate help"},
      {{"check", "--help"}, "stdgate check --as"},
      {{"--config", "f", "check", "--help"}, "stdgate check --as"},
      {{"hash-key", "--help"}, "stdgate hash-key --new"},
      {{"demo-server", "-h"}, "stdgate demo-server"},
  };
  for (const auto& [arguments, text] : table) {
    const app::CommandLine line = parse_words(arguments);
    EXPECT_EQ(line.action, app::CommandLine::Action::exit) << text;
    EXPECT_EQ(line.exit_code, 0) << text;
    EXPECT_THAT(line.output, HasSubstr("Usage:\n"));
    EXPECT_THAT(line.output, HasSubstr("  " + text));
    EXPECT_THAT(line.output,
                testing::Not(HasSubstr("stdgate [options] -- COMMAND [ARG...]  serve")));
  }
}

TEST(Help, WarnsOfSecretsInPs) {
  EXPECT_THAT(lines_of("--env"), HasSubstr("in ps"));
  EXPECT_THAT(lines_of("--env"), HasSubstr("--env-file"));
}

}  // namespace
}  // namespace stdgate
