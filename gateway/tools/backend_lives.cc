#include "gateway/tools/backend_lives.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <set>
#include <utility>

#include "gateway/base/text.h"
#include "gateway/tools/json_node.h"
#include "gateway/tools/local_files.h"
#include "gateway/tools/peer.h"
#include "transports/fetch/http_client.h"

namespace stdgate::tools {

namespace {

// Longest wait for the gateway's answer, because a list of backends is wanted at once.
constexpr Duration kPatience = std::chrono::seconds(2);
constexpr size_t kMaxLine = 200;  // of what a server has written
constexpr std::string_view kNotKnown = "the states of the backends are not known here: ";

// A list of folders follows, which is long.
std::string without_path(const std::string& cause) {
  return cause.substr(0, cause.find(" in PATH "));
}

// Lines that npm writes after every error, which do not explain it: where its log is, and that a
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
std::string last_line_of(const JsonNode& exit) {
  constexpr std::string_view kFolded = "╰─▶ ";
  std::string last;
  bool is_folded = false;
  for (const JsonNode& line : exit.list_at("stderr")) {
    const std::string written = line.text().value_or("");
    const std::string_view text = trim(written, " \t\r");
    if (text.empty() || is_closing_line(text)) continue;
    if (is_folded && written.starts_with(' ')) {
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
std::string failure_of(const JsonNode& backend) {
  std::string reason = without_path(backend.text_at("reason"));
  const std::vector<JsonNode>& exits = backend.list_at("exits");
  const auto failed =
      std::ranges::find_if(exits, [](const JsonNode& exit) { return exit.is_true("failed"); });
  if (failed == exits.end()) return reason;
  const std::string detail = failed->text_at("detail");
  const bool has_run = failed->number_at("pid") != 0;
  const bool says_more = has_run || reason.empty() || reason.starts_with("the child ");
  return says_more && !detail.empty() ? detail + last_line_of(*failed) : reason;
}

// For how long its oldest process has been starting: "starting for 12 s".
std::string start_of(const JsonNode& backend) {
  constexpr double kLongest = 1e9;
  double longest = 0;
  for (const JsonNode& child : backend.list_at("children")) {
    if (child.text_at("state") != "starting") continue;
    longest = std::clamp(child.number_at("age_seconds"), longest, kLongest);
  }
  return "starting for " + std::to_string(static_cast<uint64_t>(longest)) + " s";
}

using Names = std::set<std::string, std::less<>>;

// The members of a virtual server that are not up: "down: notes (WHY), mail; starting: issues".
// One without a reason has not been asked for anything yet. `starting_backends`: whose first
// process is not there yet.
std::string members_of(const JsonNode& backend, const Names& starting_backends) {
  std::vector<std::string> down;
  std::vector<std::string> starting;
  for (const JsonNode& member : backend.list_at("members")) {
    const JsonNode* const up = member.find("up");
    if (up == nullptr || up->scalar != "false") continue;
    std::string name = member.text_at("backend");
    const std::string why = without_path(member.text_at("reason"));
    if (member.text_at("state") == "starting" || starting_backends.contains(name)) {
      starting.push_back(name);
    } else if (!why.empty()) {
      down.push_back(name.append(" (").append(why).append(")"));
    }
  }
  std::vector<std::string> parts;
  if (!down.empty()) parts.push_back("down: " + joined(down, ", "));
  if (!starting.empty()) parts.push_back("starting: " + joined(starting, ", "));
  return joined(parts, "; ");
}

std::string life_of(const JsonNode& backend, const Names& starting_backends) {
  std::vector<std::string> parts;
  std::vector<std::string> remembered;
  for (const JsonNode& word : backend.list_at("remembered")) {
    if (auto name = word.text()) remembered.push_back(*std::move(name));
  }
  if (backend.is_true("asleep") && !remembered.empty()) {
    parts.push_back("asleep, remembered: " + joined(remembered, ", "));
  }
  if (const std::string why = backend.text_at("not_remembered"); !why.empty()) {
    parts.push_back("lists not remembered: " + why);
  }
  if (const JsonNode* const replaced = backend.find("replaced")) {
    for (size_t i = 0; i < replaced->keys.size(); ++i) {
      std::string times = replaced->items[i].literal().value_or("-");
      if (times.find_first_not_of("0123456789") != std::string::npos) continue;
      parts.push_back(times.append(" replaced for ").append(replaced->keys[i]));
    }
  }
  const std::string state = backend.text_at("state");
  if (state == "failing") {
    const std::string why = failure_of(backend);
    parts.push_back(why.empty() ? "failing" : "failing: " + why);
  }
  if (state == "starting") parts.push_back(start_of(backend));
  if (std::string members = members_of(backend, starting_backends); !members.empty()) {
    parts.push_back(std::move(members));
  }
  return joined(parts, "; ");
}

BackendLives unknown(std::string_view why) { return {{}, std::string(kNotKnown).append(why)}; }

// Whether the arguments, or the folder, say where the gateway's configuration is.
bool knows_configuration(const ToolArguments& arguments) {
  if (arguments.has("--config")) return true;
  return !arguments.has("--url") && file_exists(std::string(kUsualFile));
}

}  // namespace

BackendLives lives_in(std::string_view state) {
  const auto root = read_json(state);
  const JsonNode* const backends = root ? root->find("backends") : nullptr;
  if (backends == nullptr || backends->kind != JsonNode::Kind::array) {
    return unknown("what answers at the admin address is no stdgate");
  }
  BackendLives lives;
  Names starting;
  for (const JsonNode& backend : backends->items) {
    if (backend.text_at("state") == "starting") starting.insert(backend.text_at("name"));
  }
  for (const JsonNode& backend : backends->items) {
    std::string text = life_of(backend, starting);
    if (!text.empty()) lives.texts.emplace(backend.text_at("name"), std::move(text));
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
  const fetch::GatewayAddress admin = address_of(config->admin, false);
  options.url = admin.url;
  options.web.unix_socket = admin.unix_socket;
  options.timeout = kPatience;
  const auto answer = fetch::HttpClient(std::move(options)).send("/debug/state");
  if (!answer) return unknown("admin: " + answer.error());
  if (answer->status == 200) return lives_in(answer->body);
  return unknown("the admin address answers with status " + std::to_string(answer->status));
}

}  // namespace stdgate::tools
