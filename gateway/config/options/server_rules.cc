// Rules between the keys of virtual servers, and the meaning of their short forms.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "gateway/config/config.h"
#include "gateway/config/options/option_rules.h"

namespace stdgate::config {
namespace {

std::string name_in_quotes(const std::string& text) { return "'" + text + "'"; }

void complete_member(bool has_prefix, MemberConfig& out) {
  if (!has_prefix) out.prefix = out.backend + "_";
}

// Which member is wrong is said in the words of the error: the item may be a text.
class ServerCheck {
 public:
  ServerCheck(const Section& server, const Config& config, const ServerConfig& self)
      : section_(server), config_(config), self_(self) {}

  void run() {
    if (section_.failed("members")) return;
    for (const MemberConfig& member : self_.members) {
      check_backend(member);
      if (!member.prefix.empty() && !is_shown_name(member.prefix)) {
        fail(member,
             "its prefix '" + member.prefix + "' must be at most 64 letters, digits, '_' and '-'");
      }
      check_names(member);
      check_arguments(member);
    }
    check_pins();
  }

 private:
  void fail(const MemberConfig& member, const std::string& what) {
    section_.fail("members", name_in_quotes(member.backend) + ": " + what);
  }
  void check_backend(const MemberConfig& member) {
    if (member.backend.empty()) return;  // missing, which has been said
    if (!members_.insert(member.backend).second) return fail(member, "is a member already");
    const auto backend = std::ranges::find(config_.backends, member.backend, &BackendConfig::name);
    if (backend != config_.backends.end()) {
      if (backend->protocol == Protocol::mcp) return;
      return fail(member, "only backends of protocol mcp can be members");
    }
    const bool is_server = std::ranges::find(config_.servers, member.backend,
                                             &ServerConfig::name) != config_.servers.end();
    fail(member, is_server ? "is a server itself, and servers have no servers as members"
                           : "there is no such backend; name one of those in backends");
  }
  // Of names that are known before any member has been asked.
  void check_names(const MemberConfig& member) {
    for (const auto& [own, name] : member.tools.rename) {
      const std::string shown = member.prefix + name;
      if (!is_shown_name(shown)) {
        fail(member, std::string("'").append(shown).append("' (").append(own).append(
                         ", renamed) is no name for a tool: at most 64 letters, digits, '_' and "
                         "'-', with the prefix"));
        continue;
      }
      const auto [other, is_new] = shown_.emplace(shown, member.backend + "'s " + own);
      if (!is_new) {
        std::string clash = "'" + shown + "' would be " + other->second;
        fail(member, clash.append(" and ").append(member.backend).append("'s ").append(own));
      }
    }
  }
  void check_arguments(const MemberConfig& member) {
    for (const auto& [tool, arguments] : member.tools.fix) {
      const auto defaults = member.tools.defaults.find(tool);
      if (defaults == member.tools.defaults.end()) continue;
      for (const auto& [argument, value] : arguments) {
        if (!defaults->second.contains(argument)) continue;
        fail(member, "the argument " + name_in_quotes(argument) + " of " + name_in_quotes(tool) +
                         " has a default that is never used, as it is fixed");
      }
    }
  }
  void check_pins() {
    const auto has_prefix = [this](const std::string& name) {
      return std::ranges::any_of(self_.members, [&name](const MemberConfig& member) {
        return name.starts_with(member.prefix);
      });
    };
    for (const std::string& pin : self_.expose.search.pin) {
      if (!has_prefix(pin)) {
        section_.fail("expose", name_in_quotes(pin) + " begins with the prefix of no member");
      }
    }
  }

  const Section& section_;
  const Config& config_;
  const ServerConfig& self_;
  std::set<std::string> members_;
  std::map<std::string, std::string> shown_;  // name to whose it is
};

}  // namespace

BackendConfig as_backend(const ServerConfig& server) {
  BackendConfig backend;
  backend.name = server.name;
  backend.is_default = server.is_default;
  backend.is_required = server.is_required;
  backend.timeout = server.timeout;
  backend.methods = server.methods;
  backend.rules = server.rules;
  backend.calls_per_principal = server.calls_per_principal;
  backend.calls = server.calls;
  backend.revive = true;
  backend.revision = Revision::automatic;
  return backend;
}

std::vector<BackendConfig> all_that_is_served(const Config& config) {
  std::vector<BackendConfig> all = config.backends;
  for (const ServerConfig& server : config.servers) all.push_back(as_backend(server));
  return all;
}

std::span<const Named<ExposeConfig>> words_of(const ExposeConfig& /*type*/) {
  static const std::array kWords{Named<ExposeConfig>{"all", ExposeConfig()}};
  return kWords;
}

void begin_section(ExposeConfig& out) { out.is_search = true; }

void read_short(const Value& value, MemberConfig& out) {
  if (auto text = value.text()) out.backend = *std::move(text);
  complete_member(false, out);
}

void complete_item(const Section& member, MemberConfig& out) {
  complete_member(member.has("prefix"), out);
}

void yield_defaults(const Section& root, Config& out) {
  const bool is_any = std::ranges::any_of(out.servers, &ServerConfig::is_default);
  const Section* const backends = root.part("backends");
  if (!is_any || backends == nullptr || out.backends.size() != 1) return;
  const Section* const only = backends->part(out.backends[0].name);
  if (only != nullptr && !only->has("default")) out.backends[0].is_default = false;
}

void complete_servers(const Section& servers, Config& out) {
  const auto find_default = [&out](const ServerConfig& self) -> const std::string* {
    for (const BackendConfig& backend : out.backends) {
      if (backend.is_default) return &backend.name;
    }
    for (const ServerConfig& server : out.servers) {
      if (server.is_default && &server < &self) return &server.name;
    }
    return nullptr;
  };
  for (const ServerConfig& server : out.servers) {
    const Section* const section = servers.part(server.name);
    if (section == nullptr) continue;
    if (std::ranges::find(out.backends, server.name, &BackendConfig::name) != out.backends.end()) {
      servers.fail_at_key(server.name, "there is a backend '" + server.name +
                                           "'; give the server another name, as both are paths");
    }
    const std::string* const other = server.is_default ? find_default(server) : nullptr;
    if (other != nullptr) {
      section->fail("default",
                    "only one backend or server can be the default; '" + *other + "' is");
    }
    ServerCheck(*section, out, server).run();
  }
}

}  // namespace stdgate::config
