// The clients that `stdgate adopt` knows: their files, and how they refer to variables. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate::tools {

// How a client's settings name variables.
enum class References : uint8_t {
  none,      // every text stands for itself
  shell,     // ${NAME}, ${NAME:-default}
  editor,    // ${env:NAME}, ${userHome}; others only the editor knows
  unbraced,  // $NAME and ${NAME}
};

// The value of an environment variable, nothing when unset.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

struct AdoptedClient {
  std::string_view word;   // on the command line
  std::string_view title;  // "Claude Desktop"
  References references = References::none;
  // A variable that names the folder of its file, and the file there; empty: none does.
  std::string_view folder_variable = {};
  std::string_view file_in_folder = {};
  // Below XDG_CONFIG_HOME, or ~/.config; empty: it does not stand there.
  std::string_view file_in_config = {};
  std::string_view file_in_home = {};
  // On macOS, below the home directory; empty: as elsewhere.
  std::string_view file_on_macos = {};
};

std::span<const AdoptedClient> adopted_clients();
// Null: no such client.
const AdoptedClient* find_adopted_client(std::string_view word);

// $XDG_CONFIG_HOME, or .config in the home directory; empty: neither is known.
std::string config_home(const Variables& variables);

// Where its file may be, the likeliest first.
std::vector<std::string> files_of(const AdoptedClient& client, const Variables& variables);

// `text` as the client reads it. The error is the rest of "left out, as …".
tl::expected<std::string, std::string> resolved(std::string_view text, References references,
                                                const Variables& variables);

}  // namespace stdgate::tools
