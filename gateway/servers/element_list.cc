#include "gateway/servers/element_list.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/policy/rules.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/servers/server_messages.h"
#include "gateway/servers/tool_search.h"

namespace stdgate::servers {

namespace {

constexpr ListFacts facts_of(mcp::McpListKind kind) {
  const mcp::McpListing& listing = mcp::listing_of(kind);
  return {listing.method, listing.list.bit};
}
constexpr std::array<ListFacts, kListKinds> kFacts = {
    facts_of(mcp::McpListKind::tools), facts_of(mcp::McpListKind::prompts),
    facts_of(mcp::McpListKind::resources), facts_of(mcp::McpListKind::templates),
    ListFacts{"initialize", 0}};

template <class Selection>
bool is_selected(const Selection& selection, std::string_view name) {
  return (selection.include.empty() || policy::matches_any(selection.include, name)) &&
         !policy::matches_any(selection.exclude, name);
}

bool is_selected(ListKind kind, const config::MemberConfig& member, std::string_view name) {
  if (kind == ListKind::tools) return is_selected(member.tools, name);
  if (kind == ListKind::prompts) return is_selected(member.prompts, name);
  return selects_uri(member.resources, name);
}

}  // namespace

bool selects_uri(const config::SelectionConfig& selection, std::string_view uri) {
  const auto& include = selection.include;
  if (include.empty() && selection.exclude.empty()) return true;
  if (policy::is_plain_uri(uri)) return is_selected(selection, uri);
  return selection.exclude.empty() && std::ranges::find(include, "*") != include.end();
}

bool excludes_uri(const config::SelectionConfig& selection, std::string_view uri) {
  return !selection.exclude.empty() &&
         (!policy::is_plain_uri(uri) || policy::matches_any(selection.exclude, uri));
}

const ListFacts& facts_of(ListKind kind) { return kFacts[static_cast<size_t>(kind)]; }

const call::ListShape& shape_of(ListKind kind) {
  const call::ListShape* const shape = mcp::list_shape(facts_of(kind).method);
  STDGATE_CHECK(shape != nullptr);
  return *shape;
}

const std::shared_ptr<const ElementList>& ElementList::none() {
  static const auto kNone = std::make_shared<const ElementList>();
  return kNone;
}

void ElementList::add_page(ListKind kind, std::string_view result,
                           const config::MemberConfig& member, std::vector<Finding>& findings) {
  const std::string_view array = rpc::member_or_empty(result, shape_of(kind).member);
  for_each_element(array, [&](std::string_view element) {
    if (elements_.size() < kMaxElements && bytes_ + element.size() <= kMaxBytes) {
      add(kind, element, member, findings);
    } else if (findings.empty() || findings.back().element != "*") {
      findings.push_back({"*", "the list is too long; what follows is left out"});
    }
  });
}

void ElementList::add(ListKind kind, std::string_view element, const config::MemberConfig& member,
                      std::vector<Finding>& findings) {
  const auto named = rpc::find_clear_member(element, shape_of(kind).name);
  if (!named || !named->starts_with('"')) {
    findings.push_back({"", "left out: it has no name that all readers take for the same"});
    return;
  }
  std::string scratch;
  Element shown{std::string(rpc::decode_string(rpc::string_content(*named), scratch)), {}, {}};
  if (!is_selected(kind, member, shown.own)) return;
  if (kind == ListKind::tools) {
    if (const auto good = check_tool(element); !good) {
      findings.push_back({shown.own, std::string("left out: ") + good.error()});
      return;
    }
    const std::string name(renamed(member.tools, shown.own));
    shown.shown = shown_tool_name(member.prefix, name);
    if (shown.shown != member.prefix + name) {
      findings.push_back({shown.own, "is shown as " + shown.shown +
                                         ", as names have at most 64 letters, digits, '_' and '-'; "
                                         "name it by tools.rename"});
    }
    if (const std::string missing = missing_argument(element, name, member.tools);
        !missing.empty()) {
      findings.push_back({shown.own, "has no argument '" + missing +
                                         "', which tools.fix or tools.defaults gives a value"});
    }
    shown.text = tool_as_shown(element, shown.shown, name, member.tools);
    note_uris(element);
  } else if (kind == ListKind::prompts) {
    shown.shown = member.prefix + shown.own;
    shown.text = prompt_as_shown(element, shown.shown);
  } else {
    shown.shown = shown.own;
    shown.text = element;
  }
  const auto [place, is_new] = places_.emplace(shown.shown, elements_.size());
  if (!is_new) {
    findings.push_back({shown.own, "left out: " + shown.shown + " is shown already, for " +
                                       elements_[place->second].own});
    return;
  }
  bytes_ += shown.text.size() + shown.own.size() + 2 * shown.shown.size();
  digest_ = digest_ * 31 + std::hash<std::string>()(shown.text);
  elements_.push_back(std::move(shown));
}

// MCP Apps: `_meta.ui.resourceUri`, or `_meta["ui/resourceUri"]` in older servers.
void ElementList::note_uris(std::string_view element) {
  const std::string_view meta = rpc::member_or_empty(element, "_meta");
  if (meta.empty()) return;
  std::string scratch;
  for (const std::string_view uri :
       {rpc::member_or_empty(rpc::member_or_empty(meta, "ui"), "resourceUri"),
        rpc::member_or_empty(meta, "ui/resourceUri")}) {
    if (!uri.starts_with('"')) continue;
    uris_.emplace(rpc::decode_string(rpc::string_content(uri), scratch), true);
  }
}

bool greeting_lacks(std::string_view greeting, ListKind kind) {
  const std::string_view capabilities = rpc::member_or_empty(greeting, "capabilities");
  const std::string_view method = facts_of(kind).method;
  return kind != ListKind::greeting && !capabilities.empty() &&
         rpc::member_or_empty(capabilities, method.substr(0, method.find('/'))).empty();
}

const Element* ElementList::find(std::string_view shown) const {
  const auto found = places_.find(shown);
  return found == places_.end() ? nullptr : &elements_[found->second];
}

bool ElementList::names_uri(std::string_view uri) const { return uris_.contains(std::string(uri)); }

Sight Sight::by(const policy::Rules& rules, const policy::Principal* principal) {
  Sight sight;
  if (!rules.any()) return sight;
  sight.rules_ = &rules;
  sight.set_ = rules.rules_of(principal);
  return sight;
}

bool Sight::shows(ListKind kind, std::string_view own) const {
  if (rules_ == nullptr) return true;
  const call::ListShape& shape = shape_of(kind);
  const bool is_plain = shape.kind == policy::ElementKind::resource ? policy::is_plain_uri(own)
                                                                    : policy::is_plain_name(own);
  if (!rules_->takes_method(shape.use)) return false;
  return rules_->shows(set_, {shape.use, shape.kind, own, is_plain});
}

void MemberState::begin() {
  is_down_ = has_told_start_ = false;
  retry_wait_ = {};
  retry_due_ = {};
}

void MemberState::note_answer() {
  retry_wait_ = {};
  retry_due_ = {};
  set(true, {});
}

// Questions for several lists fail together.
void MemberState::note_failure(const std::string& cause) {
  if (clock_.now() >= retry_due_) {
    retry_wait_ = std::clamp(2 * retry_wait_, kRetry, kMaxRetry);
    retry_due_ = clock_.now() + retry_wait_;
  }
  set(false, cause);
}

void MemberState::note_start() {
  if (std::exchange(has_told_start_, true)) return;
  log_.write(LogLevel::info, "lists do without a member that is starting",
             {{"server", server_}, {"backend", member_}});
}

void MemberState::set(bool is_up, const std::string& cause) {
  failure_ = cause;
  is_down_ = !is_up;
  const bool was_down = is_up_.has_value() && !*is_up_;
  if (is_up_ == is_up) return;
  is_up_ = is_up;
  if (is_up && !was_down) return;  // the first time
  if (is_up) {
    log_.write(LogLevel::info, "member is back", {{"server", server_}, {"backend", member_}});
  } else {
    log_.write(LogLevel::warn, "member is down",
               {{"server", server_}, {"backend", member_}, {"cause", failure_}});
  }
}

}  // namespace stdgate::servers
