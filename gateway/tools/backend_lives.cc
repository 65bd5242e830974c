#include "gateway/tools/backend_lives.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

#include "gateway/base/ascii.h"
#include "gateway/tools/peer.h"
#include "transports/fetch/http_client.h"

namespace stdgate::tools {

namespace {

// Longest wait for the gateway's answer, because a list of backends is wanted at once.
constexpr Duration kPatience = std::chrono::seconds(2);
constexpr size_t kMaxLine = 200;  // of what a server has written
constexpr std::string_view kNotKnown = "the states of the backends are not known here: ";

std::string_view text_at(const simdjson::dom::element& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

simdjson::dom::array list_at(const simdjson::dom::element& object, std::string_view key) {
  simdjson::dom::array list;
  return object[key].get(list) == simdjson::SUCCESS ? list : simdjson::dom::array();
}

bool has_list(const simdjson::dom::element& object, std::string_view key) {
  return object[key].is_array() && list_at(object, key).size() > 0;
}

// A list of folders follows, which is long.
std::string_view without_path(std::string_view cause) {
  return cause.substr(0, cause.find(" in PATH "));
}

// What npm writes behind an error, which says nothing about it: where its log is, and that a
// package need not come from the registry.
bool is_closing_line(std::string_view line) {
  constexpr std::array<std::string_view, 6> kClosing = {
      "A complete log of this run",  "Log files were not written",
      "You can rerun the command",   "Note that you can also install from a",
      "tarball, folder, http url, ", "notice"};
  for (const std::string_view prefix : {"npm error", "npm ERR!", "npm"}) {
    if (!line.starts_with(prefix)) continue;
    std::string_view said = trim(line.substr(prefix.size()));
    if (said.starts_with("404")) said = trim(said.substr(3));
    return said.empty() || std::ranges::any_of(kClosing, [said](std::string_view closing) {
             return said.starts_with(closing);
           });
  }
  return line.starts_with("A complete log of this run");
}

// The last line that says something. uv folds what it says: that line with what belongs to it.
std::string last_line_of(const simdjson::dom::element& exit) {
  constexpr std::string_view kFolded = "╰─▶ ";
  if (!has_list(exit, "stderr")) return {};
  std::string last;
  bool is_folded = false;
  for (const simdjson::dom::element line : list_at(exit, "stderr")) {
    std::string_view text;
    if (line.get(text) != simdjson::SUCCESS) continue;
    const bool is_indented = text.starts_with(' ');
    text = trim(text, " \t\r");
    if (text.empty() || is_closing_line(text)) continue;
    if (is_folded && is_indented) {
      last.append(" ").append(text);
      continue;
    }
    is_folded = text.starts_with(kFolded);
    last = is_folded ? text.substr(kFolded.size()) : text;
  }
  return last.empty() ? std::string() : ": " + last.substr(0, kMaxLine);
}

// The reason says more than a process that never ran, and less than one that did: of that, what it
// has written last.
std::string failure_of(const simdjson::dom::element& backend) {
  const std::string_view reason = without_path(text_at(backend, "reason"));
  if (!has_list(backend, "exits")) return std::string(reason);
  for (const simdjson::dom::element exit : list_at(backend, "exits")) {
    bool has_failed = false;
    uint64_t pid = 0;
    if (exit["failed"].get(has_failed) != simdjson::SUCCESS || !has_failed) continue;
    const std::string_view detail = text_at(exit, "detail");
    const bool has_run = exit["pid"].get(pid) == simdjson::SUCCESS && pid != 0;
    const bool says_more = has_run || reason.empty() || reason.starts_with("the child ");
    if (says_more && !detail.empty()) return std::string(detail) + last_line_of(exit);
    break;
  }
  return std::string(reason);
}

// For how long its oldest process has been starting: "starting for 12 s".
std::string start_of(const simdjson::dom::element& backend) {
  double longest = 0;
  if (has_list(backend, "children")) {
    for (const simdjson::dom::element child : list_at(backend, "children")) {
      double age = 0;
      if (text_at(child, "state") != "starting") continue;
      if (child["age_seconds"].get(age) == simdjson::SUCCESS) longest = std::max(longest, age);
    }
  }
  constexpr double kLongest = 1e9;
  return "starting for " +
         std::to_string(static_cast<uint64_t>(std::clamp(longest, 0.0, kLongest))) + " s";
}

using Names = std::set<std::string, std::less<>>;

// The members of a virtual server that are not up: "down: notes (WHY), mail; starting: issues".
// One without a reason has not been asked for anything yet. `starting_backends`: whose first
// process is not there yet.
std::string members_of(const simdjson::dom::element& backend, const Names& starting_backends) {
  std::string down;
  std::string starting;
  if (!has_list(backend, "members")) return {};
  for (const simdjson::dom::element member : list_at(backend, "members")) {
    bool is_up = false;
    if (member["up"].get(is_up) != simdjson::SUCCESS || is_up) continue;
    const std::string name(text_at(member, "backend"));
    const std::string why(without_path(text_at(member, "reason")));
    if (text_at(member, "state") == "starting" || starting_backends.contains(name)) {
      starting += (starting.empty() ? "starting: " : ", ") + name;
    } else if (!why.empty()) {
      down.append(down.empty() ? "down: " : ", ").append(name).append(" (").append(why) += ')';
    }
  }
  if (down.empty() || starting.empty()) return down + starting;
  return down + "; " + starting;
}

std::string life_of(const simdjson::dom::element& backend, const Names& starting_backends) {
  std::string text;
  const auto add = [&text](std::string_view word, std::string_view separator) {
    if (!word.empty()) text.append(text.empty() ? "" : separator).append(word);
  };
  bool is_asleep = false;
  if (backend["asleep"].get(is_asleep) == simdjson::SUCCESS && is_asleep &&
      has_list(backend, "remembered")) {
    for (const simdjson::dom::element word : list_at(backend, "remembered")) {
      std::string_view name;
      if (word.get(name) != simdjson::SUCCESS) continue;
      text.append(text.empty() ? "asleep, remembered: " : ", ").append(name);
    }
  }
  if (const std::string_view why = text_at(backend, "not_remembered"); !why.empty()) {
    add("lists not remembered: " + std::string(why), "; ");
  }
  simdjson::dom::object replaced;
  if (backend["replaced"].get(replaced) == simdjson::SUCCESS) {
    for (const auto& [reason, count] : replaced) {
      uint64_t times = 0;
      if (count.get(times) != simdjson::SUCCESS) continue;
      add(std::to_string(times) + " replaced for " + std::string(reason), "; ");
    }
  }
  const std::string_view state = text_at(backend, "state");
  if (state == "failing") {
    const std::string why = failure_of(backend);
    add(why.empty() ? "failing" : "failing: " + why, "; ");
  }
  if (state == "starting") add(start_of(backend), "; ");
  add(members_of(backend, starting_backends), "; ");
  return text;
}

BackendLives unknown(std::string_view why) { return {{}, std::string(kNotKnown).append(why)}; }

// Whether the arguments, or the folder, say where the gateway's configuration is.
bool knows_configuration(const ToolArguments& arguments) {
  if (arguments.has("--config")) return true;
  std::error_code unreadable;
  return !arguments.has("--url") && std::filesystem::exists(kUsualFile, unreadable);
}

}  // namespace

BackendLives lives_in(std::string_view state) {
  simdjson::dom::parser parser;
  simdjson::dom::array backends;
  if (parser.parse(simdjson::padded_string(state))["backends"].get(backends) != simdjson::SUCCESS) {
    return unknown("what answers at the admin address is no stdgate");
  }
  BackendLives lives;
  Names starting;
  for (const simdjson::dom::element backend : backends) {
    if (text_at(backend, "state") == "starting") starting.emplace(text_at(backend, "name"));
  }
  for (const simdjson::dom::element backend : backends) {
    std::string text = life_of(backend, starting);
    if (!text.empty()) lives.texts.emplace(text_at(backend, "name"), std::move(text));
  }
  return lives;
}

BackendLives backend_lives(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  if (arguments.has_command) return {};
  constexpr std::string_view kName =
      "--config FILE names the gateway's configuration, which has its admin address";
  if (!knows_configuration(arguments)) return unknown(kName);
  const auto config = gateway_config_of(arguments, surroundings);
  if (!config) return unknown(kName);
  if (config->admin.address.empty()) return unknown("the gateway has no admin address (admin)");
  if (config->admin.tls.is_used()) {
    return unknown("the admin address is served by TLS; its page shows them");
  }
  fetch::HttpOptions options;
  options.gateway = address_of(config->admin, false);
  options.timeout = kPatience;
  const auto answer = fetch::HttpClient(std::move(options)).send("/debug/state");
  if (!answer) return unknown("admin: " + answer.error());
  if (answer->status == 200) return lives_in(answer->body);
  return unknown("the admin address answers with status " + std::to_string(answer->status));
}

}  // namespace stdgate::tools
