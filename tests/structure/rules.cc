#include "tests/structure/rules.h"

#include <fnmatch.h>

#include <algorithm>
#include <regex>

namespace stdgate {
namespace {

// Paths are patterns, in which '*' stands for any characters, slashes included.
using Patterns = std::vector<std::string_view>;

// A file belongs to the first layer whose pattern it matches. It may include what the layer names,
// and its own layer.
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
  static const Patterns kConfig = kRpc + Patterns{"gateway/config/*"};
  static const Patterns kSession = kConfig + Patterns{"gateway/session/*"};
  static const Patterns kPool = kSession + Patterns{"gateway/observer.h", "gateway/pool/*"};
  static const Patterns kAll = {"gateway/*", "transports/*", "metrics/*"};
  static const std::vector<Layer> kTable = {
      {"gateway/base/*", {}},
      {"gateway/rpc/*", kRpc},
      {"gateway/observer.*", kRpc},
      {"gateway/config/*", kConfig},
      {"gateway/session/*", kSession},
      {"gateway/pool/*", kPool},
      {"gateway/mcp/*", kPool},
      {"gateway/lsp/*", kPool},
      {"gateway/command_*", kConfig},
      {"gateway/demo/*", kRpc},
      // Used by the composition root alone, and yet they see no edge.
      {"gateway/shutdown.*", kPool},
      {"gateway/state_report.*", kPool},
      {"gateway/session_id.*", {}},
      // The composition root.
      {"gateway/main.cc", kAll},
      {"gateway/program.*", kAll},
      {"transports/net/*", {"gateway/base/*"}},
      {"transports/stdio/*", kPool + Patterns{"transports/net/*"}},
      {"transports/http/*", kPool + Patterns{"gateway/mcp/*", "transports/net/*"}},
      {"transports/websocket/*", kPool + Patterns{"transports/net/*", "transports/http/*"}},
      {"metrics/*", kPool},
  };
  return kTable;
}

// The only files that may include a library's headers.
struct Library {
  std::string_view headers;
  Patterns users;
};

const std::vector<Library>& libraries() {
  static const std::vector<Library> kTable = {
      {"uv.h", {"transports/net/*", "transports/stdio/*", "gateway/main.cc"}},
      {"llhttp.h", {"transports/http/*"}},
      {"wslay/*", {}},  // the peer in tests
      {"nettle/*", {"transports/*"}},
      {"prometheus/*", {"metrics/*"}},
      {"spdlog/*", {"metrics/*"}},
      {"yaml-cpp/*", {"gateway/config/*.cc", "gateway/config/section_reader.h"}},
      {"CLI/*", {"gateway/command_line.cc"}},
      {"simdjson.h", {"gateway/rpc/*.cc", "gateway/demo/*.cc", "transports/websocket/*.cc"}},
      {"sys/socket.h", {"transports/*"}},
      {"spawn.h", {"transports/*"}},
  };
  return kTable;
}

// The core is given time, chance and its environment; it takes none itself.
struct BannedCall {
  const char* expression;
  Patterns files;
  Patterns except;
};

const std::vector<BannedCall>& banned_calls() {
  static const std::vector<BannedCall> kTable = {
      // The demo server is a process of its own and has nobody to give it the time.
      {R"((steady|system|high_resolution)_clock::now)",
       {"gateway/*"},
       {"gateway/main.cc", "gateway/program.cc", "gateway/demo/*"}},
      {R"(\bclock_gettime\b)",
       {"gateway/*"},
       {"gateway/main.cc", "gateway/program.cc", "gateway/demo/*"}},
      {R"(\bgetenv\b)", {"gateway/*"}, {"gateway/main.cc", "gateway/program.cc"}},
      {R"(\brand\s*\()", {"gateway/*"}, {"gateway/main.cc", "gateway/program.cc"}},
      {R"(\brandom_device\b)", {"gateway/*"}, {"gateway/main.cc", "gateway/program.cc"}},
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

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

struct Include {
  bool ours = false;  // in quotes
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

// What one check() of a file reports to.
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

}  // namespace

std::vector<std::string> violations_of_file(std::string_view path, std::string_view text) {
  Report report(path);
  check_name(path, report);
  check_header(path, text, report);
  if (is_source(path)) {
    const std::vector<Include> includes = includes_of(text);
    check_layer(path, includes, report);
    check_libraries(path, includes, report);
    check_calls(path, text, report);
    if (lines_of(text).size() > kMaxLines) {
      report.add("is longer than " + std::to_string(kMaxLines) + " lines");
    }
  }
  return report.take();
}

bool allowed_at_top(std::string_view name) {
  static const Patterns kAllowed = {
      ".*",      "gateway",      "transports",     "metrics",   "tests",
      "deploy",  "build",        "gateway.yaml",   "README.md", "ARCHITECTURE.md",
      "LICENSE", "CHANGELOG.md", "CMakeLists.txt",
  };
  return matches_any(name, kAllowed);
}

}  // namespace stdgate
