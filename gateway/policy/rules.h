// Rules: what a principal may do with one backend; and the patterns of names in them.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/config_ranges.h"
#include "gateway/policy/client.h"

namespace stdgate::policy {

// The name of a role that stands for any client, with or without roles.
inline constexpr std::string_view kEverybody = "*";

// `named`, and all roles that include one of them, directly or by others.
std::vector<std::string> with_including(std::vector<std::string> named,
                                        const std::vector<config::RoleConfig>& roles);

// Kinds of elements that a protocol has and rules name.
enum class ElementKind : uint8_t { none, tool, resource, prompt };

// The subject of a message.
struct Subject {
  std::string_view method;  // decoded
  ElementKind element = ElementKind::none;
  std::string_view name{};                // the element's, decoded; a resource's URI
  bool is_plain = true;                   // false: the name is missing or ambiguous
  ElementKind lists = ElementKind::none;  // the kind whose list it asks for
};

enum class Verdict : uint8_t { allowed, denied, needs_scope };

// What the rules say about one operation.
struct Ruling {
  Verdict verdict = Verdict::denied;
  std::span<const std::string> scopes{};  // needs_scope: all scopes of the operation
};

// A bit for each rule.
using RuleSet = std::bitset<config::kMaxRules>;

// Rules: what a principal may do with one backend, as configured (config::RuleConfig).
//
// Pure: a principal and the subject of a message go in, a ruling comes out. The first rule that
// covers both decides; once there are rules, a subject that none covers is denied. Compiled once,
// at start: each rule knows all roles that it holds for, including roles that include the named
// ones. Owner: the CallRules of a backend. Limits: kMaxRules and the configuration's. Allocates
// nothing when it judges.
class Rules {
 public:
  Rules(const config::BackendConfig& backend, const std::vector<config::RoleConfig>& roles);

  // Whether any client may be denied anything.
  [[nodiscard]] bool any() const { return !methods_.empty() || !rules_.empty(); }
  // Whether `method` is one of the backend's allowlist, or it has none.
  [[nodiscard]] bool takes_method(std::string_view method) const;
  // Whether a rule covers this client; true without rules.
  [[nodiscard]] bool is_about(const Principal* principal) const {
    return rules_.empty() || rules_of(principal).any();
  }
  // Whether the agent of this client may ask or tell it this: by the first rule that is about both,
  // where any rule has `from_agent`.
  [[nodiscard]] bool lets_agent(const Principal* principal, std::string_view method) const;
  // null: an anonymous client, which has no roles.
  [[nodiscard]] Ruling judge(const Principal* principal, const Subject& subject) const;

  // For lists, whose elements are judged later: the rules that hold for a principal, and whether
  // one of them covers `subject`. Elements that need a scope are shown.
  [[nodiscard]] RuleSet rules_of(const Principal* principal) const;
  [[nodiscard]] bool shows(const RuleSet& rules, const Subject& subject) const;

  // Whether both allow the same.
  friend bool operator==(const Rules&, const Rules&) = default;

 private:
  struct Rule {
    friend bool operator==(const Rule&, const Rule&) = default;

    config::RuleConfig config;
    bool is_for_everybody = false;
    bool is_about_everything = false;
    std::vector<std::string> roles;  // that it holds for

    [[nodiscard]] bool holds_for(const Principal* principal) const;
    [[nodiscard]] bool is_about(const Subject& subject) const;
    [[nodiscard]] bool is_about_agent(std::string_view method) const;
    [[nodiscard]] bool has_scopes(const Principal* principal) const;
    // Whether it asks for a list with elements that the rule names.
    [[nodiscard]] bool is_list_of_named(const Subject& subject) const;
    [[nodiscard]] const std::vector<std::string>& names(ElementKind kind) const;
  };

  const std::vector<std::string> methods_;
  std::vector<Rule> rules_;
  bool judges_agent_ = false;  // a rule has `from_agent`
};

// Whether a name fits a pattern: `*` stands for any characters, or for none, and every other
// character for itself. Takes time in proportion to both lengths, multiplied, at most. Allocates
// nothing.
bool matches(std::string_view pattern, std::string_view name);
bool matches_any(const std::vector<std::string>& patterns, std::string_view name);

// Whether all readers take `name` for the same name: it has no control characters and a sensible
// length.
bool is_plain_name(std::string_view name);
// Whether it is also a URI in normal form: no segment ".", ".." or empty, no backslash, no letter,
// digit, point or slash spelled with %, and a scheme in lower case (RFC 3986 section 6.2.2).
bool is_plain_uri(std::string_view uri);

inline constexpr size_t kMaxPlainName = 8192;

}  // namespace stdgate::policy
