#include "tests/structure/rules.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

namespace stdgate {
namespace {

// Patterns for paths. '*' matches any characters, including slashes.
using Patterns = std::vector<std::string_view>;

// A file belongs to the first layer whose pattern it matches. A file may include files of its own
// layer and files that the layer lists.
struct Layer {
  std::string_view files;
  Patterns may_include;
};

Patterns operator+(Patterns some, const Patterns& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

const std::vector<Layer>& layers() {
  static const Patterns kRpc = {"gateway/base/*", "gateway/rpc/*"};
  static const Patterns kConfig = kRpc + Patterns{"gateway/config/*", "gateway/schema/*"};
  static const Patterns kPolicy = kConfig + Patterns{"gateway/policy/*"};
  static const Patterns kSession =
      kPolicy + Patterns{"gateway/session/*", "gateway/observer.h", "gateway/audit.h"};
  static const Patterns kCall = kSession + Patterns{"gateway/call/*"};
  static const Patterns kPool = kCall + Patterns{"gateway/pool/*"};
  static const Patterns kBackend = kPool + Patterns{"gateway/backend/*"};
  // Layers in front of the core know the core only by an interface.
  static const Patterns kUpstream = kPool + Patterns{"gateway/backend/upstream.h"};
  static const Patterns kAll = {"gateway/*", "transports/*", "metrics/*"};
  static const std::vector<Layer> kTable = {
      {"gateway/base/*", {}},
      {"gateway/rpc/*", kRpc},
      {"gateway/schema/*", kRpc + Patterns{"gateway/schema/*"}},
      {"gateway/observer.*", kRpc},
      {"gateway/audit.h", kPolicy + Patterns{"gateway/observer.h"}},
      {"gateway/config/*", kConfig},
      {"gateway/policy/*", kPolicy},
      {"gateway/session/*", kSession},
      {"gateway/call/*", kCall},
      {"gateway/pool/*", kPool},
      {"gateway/backend/*", kBackend},
      {"gateway/mcp/bridge/*", kBackend + Patterns{"gateway/mcp/*"}},
      {"gateway/mcp/memory_filter.*", kBackend + Patterns{"gateway/mcp/*"}},
      {"gateway/mcp/*", kUpstream},
      {"gateway/servers/*", kBackend + Patterns{"gateway/mcp/*"}},
      {"gateway/lsp/*", kPool},
      {"gateway/acp/*", kUpstream},
      {"gateway/remote/*",
       kRpc + Patterns{"gateway/mcp/param_headers.h", "gateway/mcp/mcp_revision.h"}},
      {"gateway/app/command_*", kConfig},
      {"gateway/demo/*", kRpc},
      // Parts of the composition root that know no edge.
      {"gateway/app/shutdown.*", kUpstream},
      {"gateway/app/state_report.*",
       kUpstream + Patterns{"gateway/app/reloads.h", "gateway/app/state_counts.h",
                            "gateway/app/client_snippets.h"}},
      {"gateway/app/reloads.*", kConfig + Patterns{"transports/net/file_stamps.h"}},
      {"gateway/app/client_snippets.*", kRpc},
      {"gateway/app/dialects.*",
       kBackend + Patterns{"gateway/mcp/*", "gateway/lsp/*", "gateway/acp/*"}},
      // Commands that run as programs of their own. They start children and apply rules.
      {"gateway/tools/*",
       kPool + Patterns{"gateway/app/client_snippets.h", "gateway/app/command_*",
                        "gateway/app/dialects.h", "gateway/app/permissions.h", "gateway/mcp/*",
                        "gateway/remote/*", "gateway/servers/tool_search.h",
                        "transports/auth/digest.h", "transports/fetch/curl_web_client.h",
                        "transports/websocket/socket_link.h", "transports/fetch/http_client.h",
                        "transports/net/*", "transports/stdio/*"}},
      {"gateway/main.cc", kAll},
      {"gateway/app/*", kAll},
      {"transports/net/*", {"gateway/base/*"}},
      {"transports/seal/*", {"gateway/base/*"}},
      {"transports/fetch/*",
       kRpc + Patterns{"gateway/observer.h", "gateway/remote/web_client.h", "transports/net/*"}},
      {"transports/auth/*", kPolicy + Patterns{"gateway/observer.h", "transports/fetch/fetcher.h",
                                               "transports/net/peer_certificate.h"}},
      {"transports/tls/*",
       kConfig + Patterns{"gateway/audit.h", "gateway/observer.h", "transports/net/*"}},
      // A separate program that uses libc only.
      {"transports/stdio/guard/*", {"transports/net/file_descriptor.h"}},
      {"transports/stdio/*", kPool + Patterns{"transports/net/*"}},
      {"transports/http/*",
       kUpstream + Patterns{"gateway/acp/*", "gateway/mcp/*", "transports/net/*",
                            "transports/auth/authenticator.h", "transports/auth/digest.h",
                            "transports/auth/tickets.h", "transports/tls/tls_layer.h"}},
      {"transports/websocket/*",
       kUpstream + Patterns{"gateway/acp/*", "gateway/mcp/modern_request.h", "transports/net/*",
                            "transports/http/*", "transports/auth/authenticator.h",
                            "transports/auth/digest.h", "transports/fetch/curl_web_client.h",
                            "gateway/remote/*"}},
      {"metrics/traces/*", kPool + Patterns{"metrics/observers.h", "transports/fetch/fetcher.h"}},
      {"metrics/audit/*", kPool + Patterns{"metrics/logs/redaction.h", "transports/auth/digest.h"}},
      {"metrics/*", kPool + Patterns{"metrics/observers.h"}},
  };
  return kTable;
}

// The namespace of each part's code. gateway/base, and types for observers, are in the outer
// namespace.
struct Part {
  std::string_view files;
  std::string_view name;
};

const std::vector<Part>& parts() {
  static const std::vector<Part> kTable = {
      {"gateway/main.cc", "stdgate"},
      {"gateway/observer.*", "stdgate"},
      {"gateway/audit.h", "stdgate"},
      {"gateway/base/*", "stdgate"},
      {"gateway/rpc/*", "stdgate::rpc"},
      {"gateway/schema/*", "stdgate::schema"},
      {"gateway/config/*", "stdgate::config"},
      {"gateway/policy/*", "stdgate::policy"},
      {"gateway/session/*", "stdgate::session"},
      {"gateway/call/*", "stdgate::call"},
      {"gateway/pool/*", "stdgate::pool"},
      {"gateway/backend/*", "stdgate::backend"},
      {"gateway/mcp/*", "stdgate::mcp"},
      {"gateway/servers/*", "stdgate::servers"},
      {"gateway/lsp/*", "stdgate::lsp"},
      {"gateway/acp/*", "stdgate::acp"},
      {"gateway/remote/*", "stdgate::remote"},
      {"gateway/demo/*", "stdgate::demo"},
      {"gateway/app/*", "stdgate::app"},
      {"gateway/tools/*", "stdgate::tools"},
      {"transports/net/*", "stdgate::net"},
      {"transports/tls/*", "stdgate::tls"},
      {"transports/stdio/guard/*", "stdgate::guard"},
      {"transports/stdio/*", "stdgate::stdio"},
      {"transports/http/*", "stdgate::http"},
      {"transports/seal/*", "stdgate::seal"},
      {"transports/auth/*", "stdgate::auth"},
      {"transports/fetch/*", "stdgate::fetch"},
      {"transports/websocket/*", "stdgate::websocket"},
      {"metrics/logs/*", "stdgate::logs"},
      {"metrics/prometheus/*", "stdgate::metrics"},
      {"metrics/audit/*", "stdgate::audit"},
      {"metrics/traces/*", "stdgate::traces"},
      {"metrics/*", "stdgate"},
  };
  return kTable;
}

// Headers of libraries, and of parts that must be replaceable, with the only files that may include
// them.
struct Library {
  std::string_view headers;
  Patterns users;
};

const std::vector<Library>& libraries() {
  static const std::vector<Library> kTable = {
      {"uv.h", {"transports/net/*", "transports/stdio/*", "gateway/main.cc"}},
      {"curl/*", {"transports/fetch/*"}},
      {"openssl/*",
       {"transports/seal/*", "transports/tls/*", "transports/auth/*", "transports/fetch/*"}},
      {"llhttp.h", {"transports/http/http1_*"}},
      // Code around exchanges does not know which codec carries them.
      {"transports/http/http1_*", {"transports/http/http1_*", "transports/http/server.cc"}},
      {"wslay/*", {}},  // used by tests as a peer
      {"prometheus/*", {"metrics/prometheus/*"}},
      {"spdlog/*", {"metrics/logs/*"}},
      {"yaml-cpp/*", {"gateway/config/*.cc", "gateway/config/section_reader.h"}},
      {"CLI/*", {"gateway/app/command_line.cc"}},
      {"simdjson.h",
       {"gateway/rpc/*.cc", "gateway/demo/*.cc", "gateway/tools/*.cc", "transports/websocket/*.cc",
        "transports/auth/*.cc", "metrics/traces/*.cc"}},
      {"sys/socket.h", {"transports/*"}},
      {"spawn.h", {"transports/*"}},
  };
  return kTable;
}

// Calls that the core must not make: time, randomness and the environment are passed in. Error
// codes are known to a single file.
struct BannedCall {
  const char* expression;
  Patterns files;
  Patterns except;
};

const std::vector<BannedCall>& banned_calls() {
  static const std::vector<BannedCall> kTable = {
      // The demo server is a separate process, so it reads the clock itself.
      {R"((steady|system|high_resolution)_clock::now)",
       {"gateway/*"},
       {"gateway/main.cc", "gateway/app/*", "gateway/demo/*"}},
      {R"(\bclock_gettime\b)",
       {"gateway/*"},
       {"gateway/main.cc", "gateway/app/*", "gateway/demo/*"}},
      {R"(\bgetenv\b)", {"gateway/*"}, {"gateway/main.cc", "gateway/app/*"}},
      {R"(\brand\s*\()", {"gateway/*"}, {"gateway/main.cc", "gateway/app/*"}},
      // Error codes of JSON-RPC.
      {R"(-32\d{3}\b)",
       {"gateway/*", "transports/*", "metrics/*"},
       {"gateway/rpc/fault.cc", "gateway/demo/*"}},
      {R"(\brandom_device\b)", {"gateway/*"}, {"gateway/main.cc", "gateway/app/*"}},
      // Only rpc/message_text writes JSON-RPC messages.
      {R"re(\{"jsonrpc":"2\.0","(id|method)":"?\)")re",
       {"gateway/*", "transports/*", "metrics/*"},
       {"gateway/rpc/*", "gateway/demo/*"}},
      // A call with a std::string would be std::quoted() if a header includes <iomanip>, as some
      // releases of the standard library do.
      {R"(\bquoted\()", {"gateway/*", "transports/*", "metrics/*"}, {}},
  };
  return kTable;
}

constexpr size_t kMaxLines = 500;

bool matches(std::string_view text, std::string_view pattern) {
  return fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), 0) == 0;
}

bool matches_any(std::string_view text, const Patterns& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [text](std::string_view pattern) { return matches(text, pattern); });
}

bool is_source(std::string_view path) {
  return matches_any(path, {"gateway/*", "transports/*", "metrics/*"});
}

struct Include {
  bool ours = false;  // in quotation marks
  std::string header;
};

std::vector<Include> includes_of(std::string_view text) {
  static const std::regex kForm(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"].*)re");
  std::vector<Include> includes;
  for (const std::string_view line : lines_of(text)) {
    std::cmatch match;
    if (std::regex_match(line.data(), line.data() + line.size(), match, kForm)) {
      includes.push_back({match[1] == "\"", match[2]});
    }
  }
  return includes;
}

// Collects the violations of one file.
class Report {
 public:
  explicit Report(std::string_view path) : path_(path) {}
  void add(const std::string& what) { found_.push_back(path_ + ": " + what); }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  std::string path_;
  std::vector<std::string> found_;
};

void check_layer(std::string_view path, const std::vector<Include>& includes, Report& report) {
  const auto layer = std::find_if(layers().begin(), layers().end(), [path](const Layer& candidate) {
    return matches(path, candidate.files);
  });
  if (layer == layers().end()) {
    report.add("is in no layer; add its folder to the table");
    return;
  }
  for (const Include& include : includes) {
    if (include.ours && !matches(include.header, layer->files) &&
        !matches_any(include.header, layer->may_include)) {
      report.add("may not include \"" + include.header + "\"");
    }
  }
}

void check_libraries(std::string_view path, const std::vector<Include>& includes, Report& report) {
  for (const Include& include : includes) {
    for (const Library& library : libraries()) {
      if (matches(include.header, library.headers) && !matches_any(path, library.users)) {
        report.add("may not include <" + include.header + ">");
      }
    }
  }
}

void check_calls(std::string_view path, std::string_view text, Report& report) {
  for (const BannedCall& call : banned_calls()) {
    if (!matches_any(path, call.files) || matches_any(path, call.except)) {
      continue;
    }
    const std::regex form(call.expression);
    for (std::string_view line : lines_of(text)) {
      line = line.substr(0, line.find("//"));
      std::cmatch match;
      if (std::regex_search(line.data(), line.data() + line.size(), match, form)) {
        report.add("may not use " + match.str());
      }
    }
  }
}

void check_name(std::string_view path, Report& report) {
  static const std::regex kVague(R"((^|[/_])(utils?|common|manager)([/_.]|$))");
  if (std::regex_search(path.begin(), path.end(), kVague)) {
    report.add("has a name that says nothing (utils, common, manager)");
  }
}

// The namespace of another part may only be opened for declarations.
void check_namespace(std::string_view path, std::string_view text, Report& report) {
  const auto part = std::find_if(parts().begin(), parts().end(),
                                 [&](const Part& some) { return matches(path, some.files); });
  if (part == parts().end()) return;
  static const std::regex kOpening(R"(^namespace (stdgate[a-z_:]*) \{$)");
  const std::vector<std::string_view> lines = lines_of(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    std::cmatch opening;
    if (!std::regex_match(lines[i].begin(), lines[i].end(), opening, kOpening)) continue;
    const std::string name = opening[1];
    if (name == part->name || name.starts_with(std::string(part->name) + "::")) continue;
    size_t next = i + 1;
    while (next < lines.size() && lines[next].ends_with(';') &&
           lines[next].find('{') == std::string_view::npos &&
           (lines[next].starts_with("class ") || lines[next].starts_with("struct "))) {
      ++next;
    }
    if (next == i + 1 || next == lines.size() || !lines[next].starts_with('}')) {
      report.add("defines something in " + name + ", not in " + std::string(part->name));
    }
  }
}

void check_header(std::string_view path, std::string_view text, Report& report) {
  if (!path.ends_with(".h")) {
    return;
  }
  if (!text.starts_with("//")) {
    report.add("does not begin with a comment that says its job");
  }
  const std::vector<std::string_view> lines = lines_of(text);
  if (std::find(lines.begin(), lines.end(), "#pragma once") == lines.end()) {
    report.add("lacks #pragma once");
  }
}

bool is_path_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
         c == '/';
}

// Whether `text` names the absolute path `folder`, or a path in it.
bool names_folder(std::string_view text, std::string_view folder) {
  for (size_t at = text.find(folder); at != text.npos; at = text.find(folder, at + 1)) {
    const size_t end = at + folder.size();
    const bool begins = at == 0 || !(is_path_character(text[at - 1]) || text[at - 1] == '}');
    if (begins && (end == text.size() || text[end] == '/' || !is_path_character(text[end]))) {
      return true;
    }
  }
  return false;
}

// The first folder of an absolute path ("/a" of "/a/project"), unless every system has this folder.
std::string_view own_top_folder(std::string_view checkout) {
  static const Patterns kEverywhere = {"/",    "/bin", "/build", "/dev", "/etc", "/home", "/mnt",
                                       "/opt", "/run", "/srv",   "/tmp", "/usr", "/var"};
  const std::string_view top = checkout.substr(0, checkout.find('/', 1));
  return matches_any(top, kEverywhere) ? std::string_view() : top;
}

// The host of each URL in `text`.
std::vector<std::string_view> hosts_in(std::string_view text) {
  std::vector<std::string_view> hosts;
  for (size_t at = text.find("://"); at != text.npos; at = text.find("://", at)) {
    at += 3;
    size_t end = at;
    while (end < text.size() && is_path_character(text[end]) && text[end] != '/') {
      ++end;
    }
    hosts.push_back(text.substr(at, end - at));
  }
  return hosts;
}

// Adds to `reached` what `path` includes of the project, directly and indirectly.
void reach(const std::map<std::string, std::string>& sources, const std::string& path,
           std::set<std::string>& reached) {
  const auto source = sources.find(path);
  if (source == sources.end()) return;
  for (const Include& include : includes_of(source->second)) {
    if (reached.insert(include.header).second) reach(sources, include.header, reached);
  }
}

}  // namespace

std::vector<std::string> integers_by_luck(const std::map<std::string, std::string>& sources) {
  static const std::regex kInteger(R"(\bu?int(8|16|32|64)_t\b)");
  std::vector<std::string> found;
  for (const auto& [path, text] : sources) {
    const std::vector<std::string_view> lines = lines_of(text);
    const bool uses = std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
      line = line.substr(0, line.find("//"));
      return std::regex_search(line.begin(), line.end(), kInteger);
    });
    std::set<std::string> reached;
    if (uses) reach(sources, path, reached);
    if (uses && !reached.contains("cstdint") && !reached.contains("stdint.h") &&
        !reached.contains("cinttypes")) {
      found.push_back(path + ": uses integers of fixed width; include <cstdint>");
    }
  }
  return found;
}

std::vector<std::string> long_classes(const std::map<std::string, std::string>& sources) {
  std::vector<std::string> found;
  for (const auto& [path, text] : sources) {
    if (!is_source(path) || !path.ends_with(".h")) continue;
    const auto source = sources.find(path.substr(0, path.size() - 1) + "cc");
    if (source == sources.end()) continue;
    const size_t lines = lines_of(text).size() + lines_of(source->second).size();
    if (lines > kMaxClassLines) {
      found.push_back(path + ": has " + std::to_string(lines) +
                      " lines with its source, more than " + std::to_string(kMaxClassLines));
    }
  }
  return found;
}

std::vector<std::string> machine_names_in_file(std::string_view path, std::string_view text,
                                               std::string_view checkout) {
  Report report(path);
  for (const std::string_view folder : {checkout, own_top_folder(checkout)}) {
    if (folder.size() > 1 && names_folder(text, folder)) {
      report.add("names a folder of this machine: " + std::string(folder));
      break;
    }
  }
  for (const std::string_view host : hosts_in(text)) {
    if (matches_any(host, {"*registry*", "*mirror*", "*artifactory*", "*nexus*", "deb.debian.org",
                           "*.ubuntu.com"})) {
      report.add("names a package registry: " + std::string(host));
    }
  }
  return report.take();
}

std::vector<std::string> violations_of_file(std::string_view path, std::string_view text) {
  Report report(path);
  check_name(path, report);
  check_header(path, text, report);
  if (is_source(path)) {
    const std::vector<Include> includes = includes_of(text);
    check_layer(path, includes, report);
    check_libraries(path, includes, report);
    check_calls(path, text, report);
    check_namespace(path, text, report);
    if (lines_of(text).size() > kMaxLines) {
      report.add("is longer than " + std::to_string(kMaxLines) + " lines");
    }
  }
  return report.take();
}

bool allowed_at_top(std::string_view name) {
  static const Patterns kAllowed = {
      ".*",           "gateway",         "transports",
      "metrics",      "tests",           "deploy",
      "docs",         "build",           "gateway.yaml",
      "README.md",    "ARCHITECTURE.md", "LICENSE",
      "CHANGELOG.md", "CMakeLists.txt",  "CMakePresets.json",
  };
  return matches_any(name, kAllowed);
}

}  // namespace stdgate
