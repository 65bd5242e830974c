#include "gateway/app/permissions.h"

#include <algorithm>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/policy/rules.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::app {

namespace {

constexpr std::string_view kAnonymous = "anonymous";

using Names = std::vector<std::string>;

void add_new(Names& to, const Names& names) {
  for (const std::string& name : names) {
    if (std::ranges::find(to, name) == to.end()) to.push_back(name);
  }
}

Names split(std::string_view text) {
  Names parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

// The rights of a principal at one backend.
struct Permissions {
  const config::BackendConfig& backend;
  std::vector<const config::RuleConfig*> rules;  // the rules that hold, in order
};

Permissions permissions_at(const config::BackendConfig& backend, const config::Config& config,
                           const policy::Principal* principal) {
  const policy::RuleSet holding = policy::Rules(backend, config.roles).rules_of(principal);
  Permissions found{backend, {}};
  for (size_t i = 0; i < backend.rules.size(); ++i) {
    if (holding[i]) found.rules.push_back(&backend.rules[i]);
  }
  return found;
}

std::string join(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void append_names(std::string& line, std::string_view what, const Names& names) {
  if (names.empty()) return;
  line.append(line.empty() ? "" : "; ").append(what).append(" ").append(join(names));
}

std::string words_of(const config::RuleConfig& rule) {
  std::string line;
  append_names(line, "methods", rule.methods);
  append_names(line, "tools", rule.tools);
  append_names(line, "resources", rule.resources);
  append_names(line, "prompts", rule.prompts);
  append_names(line, "from the agent", rule.from_agent);
  if (rule.names_nothing()) line = "everything";
  if (!rule.except.empty()) line += "; but not " + join(rule.except);
  if (!rule.scopes.empty()) line += "; with the scopes " + join(rule.scopes);
  return line;
}

std::string words_of(const Permissions& permissions) {
  const config::BackendConfig& backend = permissions.backend;
  std::string text = backend.name + ":\n";
  if (!backend.methods.empty()) text += "  only methods " + join(backend.methods) + "\n";
  if (backend.rules.empty()) return text + "  everything: it has no rules\n";
  if (permissions.rules.empty()) return text + "  nothing: no rule is about this client\n";
  for (const config::RuleConfig* rule : permissions.rules) text += "  " + words_of(*rule) + "\n";
  return text;
}

void write_names(rpc::JsonWriter& json, std::string_view key, const Names& names) {
  if (names.empty()) return;
  json.begin_array(key);
  for (const std::string& name : names) json.text({}, name);
  json.end_array();
}

void write(rpc::JsonWriter& json, const Permissions& permissions) {
  const config::BackendConfig& backend = permissions.backend;
  json.begin_object(backend.name);
  write_names(json, "only_methods", backend.methods);
  json.boolean("everything", backend.rules.empty());
  json.begin_array("rules");
  for (const config::RuleConfig* rule : permissions.rules) {
    json.begin_object();
    json.boolean("everything", rule->names_nothing());
    write_names(json, "methods", rule->methods);
    write_names(json, "tools", rule->tools);
    write_names(json, "resources", rule->resources);
    write_names(json, "prompts", rule->prompts);
    write_names(json, "from_agent", rule->from_agent);
    write_names(json, "except", rule->except);
    write_names(json, "scopes", rule->scopes);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

// Who asks. `principal`: null: an anonymous client.
struct Asker {
  const policy::Principal* principal;
  Names expired;  // when keys of that name did
};

Asker asker_of(const policy::Principal* principal, const config::Config& config,
               std::chrono::sys_seconds now) {
  Asker asker{principal, {}};
  if (principal == nullptr) return asker;
  for (const config::ApiKeyConfig& key : config.auth.api_keys) {
    if (key.name == principal->name && key.is_expired(now)) asker.expired.push_back(key.expires);
  }
  return asker;
}

std::string title_of(const Asker& asker) {
  if (asker.principal == nullptr) return "anonymous clients\n";
  const Names& roles = asker.principal->roles;
  std::string text = asker.principal->name;
  text += roles.empty() ? ", without roles\n" : ", roles " + join(roles) + "\n";
  for (const std::string& time : asker.expired) {
    text.append("an API key of this name expired at ").append(time);
    text.append(": it is refused, and its roles do not count\n");
  }
  return text;
}

std::string json_of(const Asker& asker, const std::vector<Permissions>& all) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_object();
  if (asker.principal != nullptr) {
    json.text("principal", asker.principal->name);
    write_names(json, "roles", asker.principal->roles);
    write_names(json, "expired_keys", asker.expired);
  }
  json.begin_object("backends");
  for (const Permissions& permissions : all) write(json, permissions);
  json.end_object();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace

tl::expected<std::optional<policy::Principal>, std::string> principal_of(
    const config::Config& config, std::string_view who, std::chrono::sys_seconds now) {
  if (who == kAnonymous) return std::nullopt;
  Names names = split(who);
  if (std::ranges::any_of(names, [](const std::string& name) { return name.empty(); })) {
    return tl::unexpected<std::string>("--as: expected a name, and roles behind commas: ci,writer");
  }
  policy::Principal principal;
  principal.name = names.front();
  names.erase(names.begin());
  principal.roles = std::move(names);
  for (const config::ApiKeyConfig& key : config.auth.api_keys) {
    if (key.name == principal.name && !key.is_expired(now)) add_new(principal.roles, key.roles);
  }
  for (const auto& [pattern, roles] : config.auth.mtls.roles) {
    if (policy::matches(pattern, principal.name)) add_new(principal.roles, roles);
  }
  return principal;
}

tl::expected<std::string, std::string> permissions_text(const config::Config& config,
                                                        const PermissionsQuestion& question,
                                                        std::chrono::sys_seconds now) {
  const auto principal = principal_of(config, question.who, now);
  if (!principal) return tl::unexpected(principal.error());
  const Asker asker = asker_of(*principal ? &**principal : nullptr, config, now);
  std::vector<Permissions> all;
  const std::vector<config::BackendConfig> served = config::all_that_is_served(config);
  for (const config::BackendConfig& backend : served) {
    if (question.only.empty() || question.only == backend.name) {
      all.push_back(permissions_at(backend, config, asker.principal));
    }
  }
  if (all.empty()) {
    return tl::unexpected("--backend: there is no backend " + std::string(question.only));
  }
  if (question.as_json) return json_of(asker, all);
  std::string text = title_of(asker);
  for (const Permissions& permissions : all) text += words_of(permissions);
  return text;
}

}  // namespace stdgate::app
