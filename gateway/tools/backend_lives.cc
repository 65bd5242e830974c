#include "gateway/tools/backend_lives.h"

#include <simdjson.h>

#include <utility>

#include "gateway/tools/peer.h"
#include "transports/fetch/http_client.h"

namespace stdgate::tools {

namespace {

// Longest wait for the gateway's answer, because a list of backends is wanted at once.
constexpr Duration kPatience = std::chrono::seconds(2);

std::string life_of(const simdjson::dom::element& backend) {
  std::string text;
  const auto add = [&text](std::string_view word, std::string_view separator) {
    text.append(text.empty() ? "" : separator).append(word);
  };
  bool is_asleep = false;
  simdjson::dom::array remembered;
  if (backend["asleep"].get(is_asleep) == simdjson::SUCCESS && is_asleep &&
      backend["remembered"].get(remembered) == simdjson::SUCCESS && remembered.size() > 0) {
    for (const simdjson::dom::element word : remembered) {
      text.append(text.empty() ? "asleep, remembered: " : ", ").append(std::string_view(word));
    }
  }
  std::string_view why;
  if (backend["not_remembered"].get(why) == simdjson::SUCCESS) {
    add("lists not remembered: " + std::string(why), "; ");
  }
  simdjson::dom::object replaced;
  if (backend["replaced"].get(replaced) == simdjson::SUCCESS) {
    for (const auto& [reason, count] : replaced) {
      add(std::to_string(uint64_t(count)) + " replaced for " + std::string(reason), "; ");
    }
  }
  std::string_view state;
  std::string_view cause;
  if (backend["state"].get(state) == simdjson::SUCCESS && state == "failing" &&
      backend["reason"].get(cause) == simdjson::SUCCESS) {
    // A list of folders follows, which is long.
    add("failing: " + std::string(cause.substr(0, cause.find(" in PATH "))), "; ");
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> backend_lives(const ToolArguments& arguments,
                                                 const ToolSurroundings& surroundings) {
  if (arguments.has("--url")) return {};
  const auto config = gateway_config_of(arguments, surroundings);
  if (!config || config->admin.address.empty() || config->admin.tls.is_used()) return {};
  fetch::HttpOptions options;
  options.gateway = address_of(config->admin, false);
  options.timeout = kPatience;
  const auto answer = fetch::HttpClient(std::move(options)).send("/debug/state");
  if (!answer || answer->status != 200) return {};
  simdjson::dom::parser parser;
  simdjson::dom::array backends;
  if (parser.parse(simdjson::padded_string(answer->body))["backends"].get(backends) !=
      simdjson::SUCCESS) {
    return {};
  }
  std::map<std::string, std::string> lives;
  for (const simdjson::dom::element backend : backends) {
    std::string_view name;
    std::string text = life_of(backend);
    if (backend["name"].get(name) == simdjson::SUCCESS && !text.empty()) {
      lives.emplace(name, std::move(text));
    }
  }
  return lives;
}

}  // namespace stdgate::tools
