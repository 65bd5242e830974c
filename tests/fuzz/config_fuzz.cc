// Fuzz target: any configuration file is either read, or refused with a place and a reason. A
// configuration that was read and printed is read again with the same result.

#include <string>

#include "gateway/config/config_parser.h"
#include "tests/fuzz/fuzz_target.h"

namespace stdgate::test::config_fuzz {
namespace {

std::optional<std::string> variable(const std::string& name) {
  if (name == "HOME") return "/home/ada";
  if (name == "API_KEY") return "the-secret-of-ada";
  return std::nullopt;
}

tl::expected<std::string, std::string> read_file(const std::string& file, size_t /*limit*/) {
  if (file == "env") return "A=1\nB='2'\n";
  if (file == "key") return "the-key-of-ada-1234\n";
  return tl::unexpected("cannot read " + file);
}

// A printed configuration with hidden values cannot be read back.
bool hides(const std::string& printed) { return printed.find("***") != std::string::npos; }

void check(std::string_view text) {
  // The fuzzer can learn the secret from the comparisons below. A file with the secret would show
  // it by itself.
  if (text.find("the-secret-of-ada") != std::string_view::npos) return;
  const auto config = config::parse_config(std::string(text), variable, {}, read_file);
  if (!config) {
    require(!config.error().empty(), "what is refused has a reason", text);
    for (const config::ConfigError& error : config.error()) {
      require(!error.message.empty(), "each error says what is wrong", text);
      require(error.to_string("f").find("the-secret-of-ada") == std::string::npos,
              "no secret stands in an error", text);
    }
    return;
  }
  require(!config->backends.empty(), "there is something to serve", text);
  const std::string printed = config::print_config(*config);
  require(printed.find("the-secret-of-ada") == std::string::npos, "secrets are hidden", text);
  if (hides(printed)) return;
  const auto again = config::parse_config(printed, variable, {}, read_file);
  require(again.has_value(), "what is printed can be read", text);
  require(config::print_config(*again) == printed, "and it is the same", text);
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::config_fuzz
