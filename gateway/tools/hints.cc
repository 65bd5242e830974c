#include "gateway/tools/hints.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <utility>
#include <vector>

#include "gateway/base/text.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

namespace {

bool is_name_char(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// A line with one of these tells of something that is missing.
constexpr std::array<std::string_view, 15> kMissing = {
    "keyerror",       "required",    "missing",      "not set",
    "must be set",    "not defined", "undefined",    "not provided",
    "no value",       "please set",  "must provide", "not found in environment",
    "please provide", "must set",    "need to set"};
// A word of capitals without an underscore is a variable only if the line says so.
constexpr std::array<std::string_view, 4> kOfVariables = {"environment", "env var", "process.env",
                                                          "keyerror"};
// Capitals that are no names of variables.
constexpr std::array<std::string_view, 16> kOtherWords = {
    "ERROR", "FATAL",     "WARN", "WARNING", "INFO", "DEBUG", "MCP", "STDIO",
    "API",   "API_KEYS_", "CLI",  "HTTP",    "JSON", "LLM",   "PAT", "URL"};

bool holds_any(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(
      words, [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// A name in a line, and where it ends there.
struct FoundName {
  std::string_view name;
  size_t end = 0;
};

std::vector<FoundName> names_in(std::string_view line, bool of_variables) {
  std::vector<FoundName> names;
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    while (end < line.size() && is_name_char(line[end])) ++end;
    const std::string_view word = line.substr(at, end - at);
    const bool begins = at == 0 || (std::isalnum(static_cast<unsigned char>(line[at - 1])) == 0 &&
                                    line[at - 1] != '_');
    const bool ends =
        end == line.size() || (std::isalnum(static_cast<unsigned char>(line[end])) == 0);
    const bool is_name =
        word.size() > 2 && std::isdigit(static_cast<unsigned char>(word[0])) == 0 &&
        (of_variables || word.find('_') != std::string_view::npos) &&
        std::find(kOtherWords.begin(), kOtherWords.end(), word) == kOtherWords.end();
    if (begins && ends && is_name) names.push_back({word, end});
    at = std::max(end, at + 1);
  }
  return names;
}

// Whether a line wants one of its names, other than all: "A_KEY or A_TOKEN", "one of A_KEY,
// A_TOKEN".
bool wants_one(std::string_view low, const std::vector<FoundName>& names) {
  constexpr std::array<std::string_view, 4> kOneOf = {"one of", "either", "any of", "at least one"};
  if (names.size() < 2) return false;
  bool has_or = false;
  for (size_t i = 1; i < names.size(); ++i) {
    const size_t begin = names[i - 1].end;
    const size_t length = names[i].end - names[i].name.size() - begin;
    const std::string_view between = low.substr(begin, length);
    if (between.find(" and ") != std::string_view::npos) return false;
    has_or = has_or || between.find(" or ") != std::string_view::npos || trim(between) == "|" ||
             trim(between) == "/";
  }
  return has_or || holds_any(low.substr(0, names.front().end), kOneOf);
}

void add_choice(VariableChoice choice, std::vector<VariableChoice>& choices) {
  std::erase_if(choice.names, [&choices](const std::string& name) {
    return std::ranges::any_of(choices, [&name](const VariableChoice& known) {
      return std::ranges::find(known.names, name) != known.names.end();
    });
  });
  if (!choice.names.empty()) choices.push_back(std::move(choice));
}

struct Hint {
  std::string_view advice;
  std::vector<std::string_view> texts;  // in lower case; a line has one of them
};

const std::array kHints{
    Hint{"its packages are for an older release of Python's mcp: uvx --with \"mcp<2\", or install "
         "that one for it",
         {"this is mcp 2", "'server' object has no attribute 'list_"}},
    Hint{"it serves HTTP: start it with its option for stdio, or serve its URL, with the command "
         "[stdgate, connect, URL]",
         {"running on http", "listening on http", "listening at http", "server started on http"}},
    Hint{"start it with its option for stdin and stdout (--stdio)",
         {"connection input stream is not set"}},
    Hint{"install its packages (npm ci) where it runs, or set cwd",
         {"cannot find module", "module_not_found"}},
    Hint{"install its packages into the Python that runs it, and name that Python by its path, as "
         "\".venv/bin/python\"",
         {"modulenotfounderror", "no module named"}},
    Hint{"use a newer Node.js", {"ebadengine", "unsupported engine"}},
    Hint{"it wants to listen on an address: start it with its option for stdio",
         {"eaddrinuse", "address already in use"}},
    Hint{"make the file executable, or readable for the user that runs it",
         {"permission denied", "eacces"}},
    Hint{"no such package in the registry: check its name",
         {"e404", "npm error 404", "was not found in the package"}},
    Hint{"it cannot reach the network from here", {"enotfound", "etimedout"}},
    Hint{"check the paths in the command, and cwd", {"no such file or directory", "enoent"}},
    Hint{"name the program by its path, or set PATH in env", {"command not found", ": not found"}},
    Hint{"it does not understand its arguments; see its usage", {"usage:"}},
};

}  // namespace

std::string VariableChoice::text() const { return joined(names, " or "); }

bool VariableChoice::is_given_to(const config::BackendConfig& backend) const {
  return std::ranges::any_of(names, [&backend](const std::string& name) {
    return backend.env.contains(name) || backend.env_sources.contains(name) ||
           backend.env_from_files.contains(name);
  });
}

std::string VariableChoice::wanted(const std::function<bool(const std::string&)>& is_set) const {
  const auto found = std::ranges::find_if(names, is_set);
  return found == names.end() ? names.front() : *found;
}

std::vector<VariableChoice> missing_variables(const std::vector<std::string>& lines) {
  std::vector<VariableChoice> choices;
  for (const std::string& line : lines) {
    const std::string low = to_lower_ascii(line);
    const std::vector<FoundName> found = names_in(line, holds_any(low, kOfVariables));
    const bool is_choice = wants_one(low, found);
    const bool says_set = is_choice && low.find("set ") != std::string::npos;
    if (!says_set && !holds_any(low, kMissing)) continue;
    VariableChoice one;
    for (const FoundName& name : found) one.names.emplace_back(name.name);
    if (is_choice) {
      add_choice(std::move(one), choices);
      continue;
    }
    for (std::string& name : one.names) add_choice({{std::move(name)}}, choices);
  }
  return choices;
}

std::string advice_for(std::string_view line) {
  const std::string low = to_lower_ascii(line);
  const auto* const hint = std::ranges::find_if(
      kHints, [&low](const Hint& known) { return holds_any(low, known.texts); });
  return hint == kHints.end() ? std::string() : std::string(hint->advice);
}

bool asks_to_install(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords = {"Ok to proceed?",
                                                      "canceled due to missing packages",
                                                      "Need to install the following packages"};
  return holds_any(text, kWords);
}

namespace {

using config::NetworkAccess;

// In lower case, as all here.
constexpr std::array<std::string_view, 4> kDenials = {"permission denied", "eacces", "eperm",
                                                      "operation not permitted"};
constexpr std::array<std::string_view, 6> kMissingFiles = {"cannot find module",
                                                           "module_not_found",
                                                           "modulenotfounderror",
                                                           "no module named",
                                                           "error while loading shared libraries",
                                                           "cannot open shared object"};
constexpr std::array<std::string_view, 3> kSockets = {"connect", "socket", "listen"};
constexpr std::array<std::string_view, 9> kMissingNetwork = {"enotfound",
                                                             "eai_again",
                                                             "getaddrinfo",
                                                             "enetunreach",
                                                             "network is unreachable",
                                                             "name resolution",
                                                             "name or service not known",
                                                             "eafnosupport",
                                                             "address family not supported"};

std::string ports_text(const std::vector<config::Port>& ports) {
  std::vector<std::string> texts;
  texts.reserve(ports.size());
  for (const config::Port& port : ports) texts.push_back(port.to_string());
  return joined(texts, ", ");
}

std::string readable_text(const config::BackendConfig& backend) {
  std::vector<std::string> places{"the system's files"};
  if (!backend.cwd.empty()) places.emplace_back("cwd");
  const config::FilesystemConfig& files = backend.sandbox.filesystem;
  places.insert(places.end(), files.read.begin(), files.read.end());
  places.insert(places.end(), files.write.begin(), files.write.end());
  return joined(places, ", ");
}

std::string writable_text(const config::FilesystemConfig& files) {
  return files.write.empty() ? "nothing" : joined(files.write, ", ");
}

std::string network_text(const config::NetworkConfig& network) {
  switch (network.access) {
    case NetworkAccess::any:
      return {};
    case NetworkAccess::none:
      return "no network";
    case NetworkAccess::outbound:
      return "outbound connections only";
    case NetworkAccess::ports:
      break;
  }
  std::string text;
  if (!network.connect.empty()) text = "connects to " + ports_text(network.connect);
  if (!network.bind.empty()) {
    text.append(text.empty() ? "" : ", ").append("listens at ").append(ports_text(network.bind));
  }
  return text + " only";
}

constexpr std::string_view kLikely = "the sandbox is the likely cause: ";

std::string advice_on_reading(const config::BackendConfig& backend) {
  const config::SandboxConfig& sandbox = backend.sandbox;
  std::string text(kLikely);
  text += "it lets the server read only " + readable_text(backend) +
          "; add the folders of its program, interpreter, libraries and packages to "
          "sandbox.filesystem.read";
  const bool is_strict = sandbox.filesystem.read.empty() && sandbox.filesystem.write.empty() &&
                         sandbox.network.access == NetworkAccess::none;
  if (is_strict) {
    text += " (instead of strict: { filesystem: { read: [FOLDER] }, network: none })";
  }
  return text;
}

}  // namespace

std::string sandbox_text(const config::BackendConfig& backend) {
  const config::SandboxConfig& sandbox = backend.sandbox;
  if (!sandbox.used) return {};
  std::string text;
  if (const config::FilesystemConfig& files = sandbox.filesystem; files.used) {
    text = "reads " + (files.default_read ? std::string("everything") : readable_text(backend));
    text += "; writes " + writable_text(files);
  }
  if (const std::string network = network_text(sandbox.network); !network.empty()) {
    text.append(text.empty() ? "" : "; ").append(network);
  }
  return text.empty() ? "system calls only" : text;
}

std::string sandbox_advice(const config::BackendConfig& backend, std::string_view line) {
  const config::SandboxConfig& sandbox = backend.sandbox;
  if (!sandbox.used) return {};
  const std::string low = to_lower_ascii(line);
  const bool is_denial = holds_any(low, kDenials);
  const bool misses_file = holds_any(low, kMissingFiles);  // "ModulENOTFOUNDError" too
  if (sandbox.network.access != NetworkAccess::any && !misses_file &&
      (holds_any(low, kMissingNetwork) || (is_denial && holds_any(low, kSockets)))) {
    return std::string(kLikely) + network_text(sandbox.network) + "; sandbox.network says which";
  }
  const config::FilesystemConfig& files = sandbox.filesystem;
  if (!files.used) return {};
  if (!files.default_read) {
    return is_denial || misses_file ? advice_on_reading(backend) : std::string();
  }
  if (!is_denial) return {};
  return std::string(kLikely) + "it lets the server write " + writable_text(files) +
         "; sandbox.filesystem.write says where";
}

}  // namespace stdgate::tools
