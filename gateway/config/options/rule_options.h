// The keys of backends.<name>.rules and of roles: who may use what.
#pragma once

#include <array>

#include "gateway/config/options/option.h"
#include "gateway/config/options/text_rules.h"

namespace stdgate::config {

inline constexpr auto kRuleOptions = std::to_array<Option<RuleConfig>>({
    {.key = "allow",
     .type = list_of<&RuleConfig::allow>(kRole, {1, kMaxPatterns}),
     .help = "roles that the rule is for, or \"*\" for all clients, anonymous ones too",
     .missing = "a rule says whom it allows something; [\"*\"] is everybody"},
    {.key = "methods",
     .type = list_of<&RuleConfig::methods>(kPattern, {1, kMaxPatterns}),
     .help = "methods that the rule covers, like tools/list or resources/*",
     .details = "In all patterns `*` stands for any characters. A rule without `methods`, `tools`, "
                "`resources`, `prompts` and `from_agent` covers everything.",
     .default_words = "none",
     .applies = [](const RuleConfig& rule) { return !rule.methods.empty(); }},
    {.key = "tools",
     .type = list_of<&RuleConfig::tools>(kPattern, {1, kMaxPatterns}),
     .help = "tools that the rule covers, by name; the rule covers their list too",
     .default_words = "none",
     .applies = [](const RuleConfig& rule) { return !rule.tools.empty(); }},
    {.key = "resources",
     .type = list_of<&RuleConfig::resources>(kPattern, {1, kMaxPatterns}),
     .help = "resources that the rule covers, by URI; the rule covers their lists too",
     .details = "A template is judged by its text, as if it were a URI.",
     .default_words = "none",
     .applies = [](const RuleConfig& rule) { return !rule.resources.empty(); }},
    {.key = "prompts",
     .type = list_of<&RuleConfig::prompts>(kPattern, {1, kMaxPatterns}),
     .help = "prompts that the rule covers, by name; the rule covers their list too",
     .default_words = "none",
     .applies = [](const RuleConfig& rule) { return !rule.prompts.empty(); }},
    {.key = "from_agent",
     .type = list_of<&RuleConfig::from_agent>(kPattern, {1, kMaxPatterns}),
     .help = "methods of requests and notifications from an agent to its client, like session/* or "
             "fs/read_text_file",
     .details = "Once a rule of the backend has `from_agent`, the rules apply to what the agent "
                "sends too.",
     .default_words = "none",
     .applies = [](const RuleConfig& rule) { return !rule.from_agent.empty(); }},
    {.key = "except",
     .type = list_of<&RuleConfig::except>(kPattern, {1, kMaxPatterns}),
     .help = "methods, tools, resources and prompts that the rule does not cover",
     .default_words = "none",
     .applies = [](const RuleConfig& rule) { return !rule.except.empty(); }},
    {.key = "scopes",
     .type = list_of<&RuleConfig::scopes>(kScope, {1, kMaxPatterns}),
     .help =
         "scopes that the client's token must have; a client without them is told which it needs",
     .default_words = "none",
     .applies = [](const RuleConfig& rule) { return !rule.scopes.empty(); }},
});

template <>
struct OptionsOf<RuleConfig> {
  static constexpr std::span<const Option<RuleConfig>> kRows = kRuleOptions;
  static constexpr std::string_view kTitle = "Rule";
};

inline constexpr auto kRoleOptions = std::to_array<Option<RoleConfig>>({
    {.key = "includes",
     .type = list_of<&RoleConfig::includes>(kRole, {1, kMaxPatterns}),
     .help = "roles whose rules apply to this role too",
     .missing = "a role is named here to include others"},
});

template <>
struct OptionsOf<RoleConfig> {
  static constexpr std::span<const Option<RoleConfig>> kRows = kRoleOptions;
  static constexpr std::string_view kTitle = "Role";
};

}  // namespace stdgate::config
