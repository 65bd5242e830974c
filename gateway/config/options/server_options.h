// The keys of servers.<name>: virtual servers, their members, and what they show of these.
#pragma once

#include <array>

#include "gateway/config/options/backend_options.h"
#include "gateway/config/options/client_options.h"
#include "gateway/config/options/option.h"
#include "gateway/config/options/option_rules.h"

namespace stdgate::config {

inline constexpr auto kSelectionOptions = std::to_array<Option<SelectionConfig>>({
    {.key = "include",
     .type = list_of<&SelectionConfig::include>(kPattern, {1, kMaxPatterns}),
     .help = "patterns of those that clients see and use; the others do not exist for clients",
     .default_words = "all",
     .applies = [](const SelectionConfig& some) { return !some.include.empty(); }},
    {.key = "exclude",
     .type = list_of<&SelectionConfig::exclude>(kPattern, {1, kMaxPatterns}),
     .help = "exceptions from include: patterns of those that do not exist for clients",
     .default_words = "none",
     .applies = [](const SelectionConfig& some) { return !some.exclude.empty(); }},
});

template <>
struct OptionsOf<SelectionConfig> {
  static constexpr std::span<const Option<SelectionConfig>> kRows = kSelectionOptions;
  static constexpr std::string_view kTitle = "Selection";
};

inline constexpr auto kMemberToolsOptions = std::to_array<Option<MemberToolsConfig>>({
    {.key = "include",
     .type = list_of<&MemberToolsConfig::include>(kPattern, {1, kMaxPatterns}),
     .help = "patterns of the tools that clients see and use, by the member's own names; other "
             "tools do not exist for clients",
     .default_words = "all",
     .applies = [](const MemberToolsConfig& tools) { return !tools.include.empty(); }},
    {.key = "exclude",
     .type = list_of<&MemberToolsConfig::exclude>(kPattern, {1, kMaxPatterns}),
     .help = "exceptions from include: patterns of those that do not exist for clients",
     .default_words = "none",
     .applies = [](const MemberToolsConfig& tools) { return !tools.exclude.empty(); }},
    {.key = "rename",
     .type = TextMap{&MemberToolsConfig::rename, kMaxNamedTools},
     .help = "new names of tools, without the prefix",
     .details = "`{ read_text_file: read }`.",
     .default_words = "none"},
    {.key = "describe",
     .type = TextMap{&MemberToolsConfig::describe, kMaxNamedTools},
     .help = "new descriptions of tools, by their names after renaming, without the prefix",
     .default_words = "none"},
    {.key = "fix",
     .type = Arguments{&MemberToolsConfig::fix, kMaxNamedTools},
     .help = "values of arguments that clients neither see nor choose, by the names of tools after "
             "renaming",
     .details = "`{ write_file: { mode: create } }`.",
     .default_words = "none"},
    {.key = "defaults",
     .type = Arguments{&MemberToolsConfig::defaults, kMaxNamedTools},
     .help = "values of arguments for calls that leave them out",
     .default_words = "none"},
});

template <>
struct OptionsOf<MemberToolsConfig> {
  static constexpr std::span<const Option<MemberToolsConfig>> kRows = kMemberToolsOptions;
  static constexpr std::string_view kTitle = "Tools of a member";
};

inline constexpr auto kMemberOptions = std::to_array<Option<MemberConfig>>({
    {.key = "backend",
     .type = Text{&MemberConfig::backend},
     .help = "name of the backend, which must have protocol mcp",
     .missing = "a member is one of the backends"},
    {.key = "prefix",
     .type = Text{&MemberConfig::prefix, EmptyText::printed},
     .help = "text in front of the names of this member's tools and prompts",
     .details = "`\"\"` adds nothing, where names cannot clash.",
     .default_words = "the backend's name and `_`"},
    {.key = "required",
     .type = Switch{&MemberConfig::is_required},
     .help = "whether lists are answered with an error, and the server is not ready, while this "
             "member is down",
     .details = "If it is not required, lists leave it out and say so."},
    {.key = "wait",
     .type = Time{&MemberConfig::wait, {std::chrono::milliseconds(10), std::chrono::minutes(5)}},
     .help = "how long a list waits for this member"},
    {.key = "tools",
     .type = Part{&MemberConfig::tools},
     .help = "which tools of this member clients see, and how"},
    {.key = "prompts",
     .type = Part{&MemberConfig::prompts},
     .help = "which prompts of this member clients see, by name"},
    {.key = "resources",
     .type = Part{&MemberConfig::resources},
     .help = "which resources of this member clients see, by URI"},
});

template <>
struct OptionsOf<MemberConfig> {
  static constexpr std::span<const Option<MemberConfig>> kRows = kMemberOptions;
  static constexpr std::string_view kTitle = "Member";
};

inline constexpr auto kSearchOptions = std::to_array<Option<SearchConfig>>({
    {.key = "pin",
     .type = list_of<&SearchConfig::pin>(kShownName, {0, kMaxPins}),
     .help = "tools that are listed beside find_tool and call_tool, by the names that clients see",
     .default_words = "none"},
});

template <>
struct OptionsOf<SearchConfig> {
  static constexpr std::span<const Option<SearchConfig>> kRows = kSearchOptions;
  static constexpr std::string_view kTitle = "Search";
};

inline constexpr auto kExposeOptions = std::to_array<Option<ExposeConfig>>({
    {.key = "search",
     .type = Part{&ExposeConfig::search},
     .help = "list two tools, find_tool and call_tool, instead of all"},
});

template <>
struct OptionsOf<ExposeConfig> {
  static constexpr std::span<const Option<ExposeConfig>> kRows = kExposeOptions;
  static constexpr std::string_view kTitle = "Which tools are listed";
};

inline constexpr auto kServerOptions = std::to_array<Option<ServerConfig>>({
    {.key = "default",
     .type = Switch{&ServerConfig::is_default},
     .help = "also served at the root: /mcp and so on",
     .details = "At most one backend or server can be the default."},
    {.key = "required",
     .type = Switch{&ServerConfig::is_required},
     .help =
         "whether /readyz answers 503 while no member can be used, or a required member cannot"},
    {.key = "instructions",
     .type = Text{&ServerConfig::instructions},
     .help = "instructions that clients get for the server as a whole"},
    {.key = "members",
     .type = Items{&ServerConfig::members, {1, kMaxMembers}},
     .help = "the backends behind this server; lists have their entries in this order",
     .details = "A name alone stands for `{ backend: NAME }`.",
     .missing = "name the backends behind it, as in [files, issues]"},
    {.key = "expose",
     .type = WordOrPart<ServerConfig>{&ServerConfig::expose},
     .help = "which tools are listed"},
    {.key = "timeout",
     .type = Time{&ServerConfig::timeout, kCallTime},
     .help = "time for the handshake with a member for a session; a call has the timeout of its "
             "member"},
    {.key = "methods",
     .type = list_of<&ServerConfig::methods>(kPattern, {1, kMaxPatterns}),
     .help = "as with a backend: methods that clients may use",
     .default_words = "all",
     .applies = [](const ServerConfig& server) { return !server.methods.empty(); }},
    {.key = "rules",
     .type = Items{&ServerConfig::rules, {1, kMaxRules}},
     .help = "as with a backend: who may use what, by the names that the server shows",
     .details = "The rules of the members hold too, by their names.",
     .default_words = "everybody may use everything"},
    {.key = "calls_per_principal",
     .type = Part{&ServerConfig::calls_per_principal},
     .help = "limits of each client at this server; the limits of the members hold too"},
    {.key = "calls",
     .type = Part{&ServerConfig::calls},
     .help = "limits of all clients of this server together"},
});

template <>
struct OptionsOf<ServerConfig> {
  static constexpr std::span<const Option<ServerConfig>> kRows = kServerOptions;
  static constexpr std::string_view kTitle = "Server";
};

}  // namespace stdgate::config
