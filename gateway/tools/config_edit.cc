#include "gateway/tools/config_edit.h"

#include <algorithm>
#include <optional>

#include "gateway/base/ascii.h"
#include "gateway/config/text_file.h"

namespace stdgate::tools {

namespace {

constexpr size_t kUsualIndent = 2;

// One line, with its end.
struct Line {
  size_t begin = 0;
  size_t end = 0;
  std::string_view text;  // without its end

  [[nodiscard]] size_t indent() const { return std::min(text.find_first_not_of(' '), text.size()); }
  // Neither empty nor a comment.
  [[nodiscard]] bool has_content() const {
    const size_t at = text.find_first_not_of(" \t");
    return at != std::string_view::npos && text[at] != '#';
  }
};

std::vector<Line> lines_in(std::string_view text) {
  std::vector<Line> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t feed = text.find('\n', begin);
    const size_t end = feed == std::string_view::npos ? text.size() : feed + 1;
    std::string_view line = text.substr(begin, end - begin);
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    lines.push_back(Line{begin, end, line});
    begin = end;
  }
  return lines;
}

// The rest of the line behind `backends:`, without a comment; nothing: the line has another key.
std::optional<std::string_view> behind_key(std::string_view line) {
  for (const std::string_view key : {"backends", "\"backends\"", "'backends'"}) {
    if (!line.starts_with(key)) continue;
    std::string_view rest = trim(line.substr(key.size()), " \t");
    if (!rest.starts_with(':')) continue;
    rest = trim(rest.substr(1), " \t");
    return rest.starts_with('#') ? std::string_view() : rest;
  }
  return std::nullopt;
}

// The place in a text where backends go, and how they look there.
struct Place {
  size_t at = 0;      // bytes before it stay
  size_t behind = 0;  // and those from here on
  size_t margin = kUsualIndent;
  bool needs_key = false;  // "backends:" has to be written too
};

tl::expected<Place, std::string> find_place(std::string_view text) {
  const std::vector<Line> lines = lines_in(text);
  const auto key = std::find_if(lines.begin(), lines.end(),
                                [](const Line& line) { return behind_key(line.text).has_value(); });
  if (key == lines.end()) return Place{text.size(), text.size(), kUsualIndent, true};
  const std::string_view rest = *behind_key(key->text);
  if (rest == "{}" || rest == "null" || rest == "~") {
    const size_t nothing = key->begin + key->text.find(rest);
    return Place{nothing, key->end, kUsualIndent, false};
  }
  if (!rest.empty()) {
    return tl::unexpected<std::string>(
        "backends stands on one line there; write each backend on lines of its own first");
  }
  Place place{key->end, key->end, kUsualIndent, false};
  bool is_first = true;
  for (auto line = key + 1; line != lines.end(); ++line) {
    if (!line->has_content()) continue;
    if (line->indent() == 0) break;
    if (is_first) place.margin = line->indent();
    is_first = false;
    place.at = place.behind = line->end;
  }
  return place;
}

std::string with_line_ends(const std::string& text, std::string_view line_end) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += line_end;
    } else {
      out += c;
    }
  }
  return out;
}

std::string edited(const std::string& text, const Place& place,
                   const std::vector<BackendLines>& backends) {
  const std::string_view line_end = text.find("\r\n") != std::string::npos ? "\r\n" : "\n";
  std::string added;
  if (place.needs_key) added += text.empty() ? "backends:\n" : "\nbackends:\n";
  if (place.behind != place.at) added += '\n';
  for (const BackendLines& backend : backends) {
    added += backend_yaml(backend, place.margin, kUsualIndent);
  }
  std::string before = text.substr(0, place.at);
  if (place.behind != place.at) {
    before.erase(before.find_last_not_of(' ') + 1);
  } else if (!before.empty() && before.back() != '\n') {
    before += line_end;
  }
  return before + with_line_ends(added, line_end) + text.substr(place.behind);
}

// Every variable has a value: which one, does not matter here.
std::optional<std::string> any_value(const std::string& /*name*/) { return "1"; }

tl::expected<config::Config, std::string> parsed(const std::string& text, std::string_view file,
                                                 const std::vector<config::Setting>& more = {}) {
  auto config = config::parse_config(text, any_value, more, config::read_text_file);
  if (config) return *std::move(config);
  std::string errors;
  for (const config::ConfigError& error : config.error()) {
    errors.append("\n  ").append(error.to_string(file));
  }
  return tl::unexpected(std::move(errors));
}

// The configuration of a file that may have no backends yet.
tl::expected<config::Config, std::string> parsed_before(const std::string& text,
                                                        std::string_view file) {
  auto config = parsed(text, file);
  if (config) return config;
  constexpr const char* kStandIn = "stand-in";
  auto other =
      parsed(text, file, {{{"backends", kStandIn, "command"}, std::vector<std::string>{"x"}}});
  if (!other) return other;
  if (other->backends.size() != 1 || other->backends[0].name != kStandIn) return config;
  other->backends.clear();
  return other;
}

bool has_backend(const config::Config& config, const std::string& name) {
  return std::any_of(
      config.backends.begin(), config.backends.end(),
      [&name](const config::BackendConfig& backend) { return backend.name == name; });
}

std::string lost_root(const std::string& backend) {
  return "backend " + backend +
         " was the only one, so it was also served at the root (/mcp, /rpc); to keep that, give it "
         "default: true";
}

// Empty: everything that was there is there still.
std::string difference(const config::Config& before, config::Config after,
                       const std::vector<BackendLines>& added, std::vector<std::string>& warnings) {
  for (const BackendLines& backend : added) {
    const auto found = std::find_if(
        after.backends.begin(), after.backends.end(),
        [&backend](const config::BackendConfig& known) { return known.name == backend.name; });
    if (found == after.backends.end()) return "a new backend is not in it";
    after.backends.erase(found);
  }
  if (after.backends.size() != before.backends.size()) return "it has other backends";
  for (size_t i = 0; i < after.backends.size(); ++i) {
    config::BackendConfig& now = after.backends[i];
    if (before.backends[i].is_default && !now.is_default) {
      warnings.push_back(lost_root(now.name));
    }
    now.is_default = before.backends[i].is_default;
    now.is_required = before.backends[i].is_required;
  }
  after.secrets = before.secrets;  // the new backends have some; values of the others compare
  return after == before ? std::string() : "something else in it would change";
}

std::string is_taken(const std::string& backend) {
  return "it has a backend " + backend + " already; choose another name, or edit it there";
}

}  // namespace

tl::expected<EditedConfig, std::string> add_backends(const std::string& text,
                                                     const std::vector<BackendLines>& backends,
                                                     std::string_view file) {
  const bool is_new = std::none_of(text.begin(), text.end(),
                                   [](char c) { return c != ' ' && c != '\n' && c != '\r'; });
  std::optional<config::Config> before;
  if (!is_new) {
    auto config = parsed_before(text, file);
    if (!config) return tl::unexpected("it has mistakes, so nothing is added:" + config.error());
    before = *std::move(config);
    for (const BackendLines& backend : backends) {
      if (has_backend(*before, backend.name)) {
        return tl::unexpected(is_taken(backend.name));
      }
    }
  }
  const auto place = find_place(text);
  if (!place) return tl::unexpected(place.error());
  EditedConfig result{edited(text, *place, backends), {}};
  auto after = parsed(result.text, file);
  if (!after) return tl::unexpected("the result would have mistakes:" + after.error());
  if (before) {
    const std::string wrong = difference(*before, *std::move(after), backends, result.warnings);
    if (!wrong.empty()) {
      return tl::unexpected("it is written in a way that cannot be added to: " + wrong);
    }
  }
  return result;
}

}  // namespace stdgate::tools
