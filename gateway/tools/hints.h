// Finds out by a server's last words on stderr why it does not work. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::tools {

// Alternative environment variables: the server needs one of them. Mostly a single one.
struct VariableChoice {
  std::vector<std::string> names;

  // "A_KEY or A_TOKEN"
  [[nodiscard]] std::string text() const;
  // Whether the backend gives its server one of them.
  [[nodiscard]] bool is_given_to(const config::BackendConfig& backend) const;
  // The one to give to the server: the first that `is_set`, else the first of all.
  [[nodiscard]] std::string wanted(const std::function<bool(const std::string&)>& is_set) const;
};

// Variables that lines like these report as missing: `KeyError: 'API_KEY'`, `API_KEY is required`,
// `Missing environment variable API_KEY`, `set A_KEY or A_TOKEN`. In their order, each name once.
std::vector<VariableChoice> missing_variables(const std::vector<std::string>& lines);

// Advice on a line, for people; empty: nothing is known about such a line. A missing module, a
// version of Node.js that is too old, no permission, an address in use, a program that a script did
// not find.
std::string advice_for(std::string_view line);

// npx asks whether it may install a package.
bool asks_to_install(std::string_view text);

// The reach of a backend within its sandbox, for people: "reads the system's files, cwd; writes
// nothing; no network". Empty: it has no sandbox.
std::string sandbox_text(const config::BackendConfig& backend);

// Advice on a line of stderr, or on the reason of a failed start, if its likely cause is the
// sandbox: a file or the network is out of reach. Empty: there is no sign of that.
std::string sandbox_advice(const config::BackendConfig& backend, std::string_view line);

}  // namespace stdgate::tools
