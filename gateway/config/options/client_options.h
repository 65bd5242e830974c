// The keys of `calls`, of backends.<name>.calls and of backends.<name>.calls_per_principal: what
// all clients together, and what each of them, may do.
#pragma once

#include <array>

#include "gateway/config/options/option.h"
#include "gateway/config/options/option_rules.h"

namespace stdgate::config {

inline constexpr CountRange kClientLimit{0, 1000000};

template <class Limits>
inline constexpr Option<Limits> kCallRate{
    .key = "rate",
    .type = PerTime{&Limits::rate},
    .help = "calls per unit of time, on average over a long time"};
template <class Limits>
inline constexpr Option<Limits> kCallBurst{
    .key = "burst",
    .type = Count{&Limits::burst, kClientLimit},
    .help = "calls at once after a time without calls",
    .details = "0: as many as `rate` names.",
    .applies = [](const Limits& limits) { return limits.burst > 0; }};
template <class Limits>
inline constexpr Option<Limits> kCallsInFlight{
    .key = "in_flight",
    .type = Count{&Limits::in_flight, kClientLimit},
    .help = "calls that are not answered yet",
    .details = "0: no limit.",
    .applies = [](const Limits& limits) { return limits.in_flight > 0; }};

inline constexpr std::array<Option<CallLimits>, 3> kCallLimitsOptions = {
    kCallRate<CallLimits>, kCallBurst<CallLimits>, kCallsInFlight<CallLimits>};

inline constexpr std::array<Option<ClientLimits>, 4> kClientLimitsOptions = {
    kCallRate<ClientLimits>, kCallBurst<ClientLimits>, kCallsInFlight<ClientLimits>,
    Option<ClientLimits>{
        .key = "sessions",
        .type = Count{&ClientLimits::sessions, kClientLimit},
        .help = "sessions that have a child or wait for one; parked ones do not count",
        .details = "0: no limit.",
        .applies = [](const ClientLimits& limits) { return limits.sessions > 0; }}};

template <>
struct OptionsOf<CallLimits> {
  static constexpr std::span<const Option<CallLimits>> kRows = kCallLimitsOptions;
  static constexpr std::string_view kTitle = "Limits of calls";
};

template <>
struct OptionsOf<ClientLimits> {
  static constexpr std::span<const Option<ClientLimits>> kRows = kClientLimitsOptions;
  static constexpr std::string_view kTitle = "Limits of one client";
};

// The keys of backends.<name>.rules and of roles: who may use what.
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
