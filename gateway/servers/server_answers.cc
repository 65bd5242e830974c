#include "gateway/servers/server_answers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <unordered_set>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/servers/server_messages.h"
#include "gateway/servers/tool_search.h"

namespace stdgate::servers {

namespace {

constexpr std::string_view kUncached =
    R"("resultType":"complete","ttlMs":0,"cacheScope":"private")";
// Members of the list's result say who is missing from it.
constexpr std::string_view kMissingKey = "stdgate/missing";

std::string hex_of(uint64_t number) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return {digits.data(), end};
}

bool is_modern(const call::CallContext& context) {
  return context.peer_kind == PeerKind::stateless;
}

// "<offset>.<digest of the list>"
std::optional<size_t> offset_of(std::string_view cursor, uint64_t digest) {
  size_t offset = 0;
  const auto [end, error] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), offset);
  const std::string rest(end, cursor.data() + cursor.size());
  if (error != std::errc() || rest != "." + hex_of(digest)) return std::nullopt;
  return offset;
}

void append_meta(const std::string& missing, std::string& out) {
  if (missing.empty()) return;
  out.append(R"(,"_meta":{")").append(kMissingKey).append("\":").append(missing).append("}");
}

}  // namespace

MemberView& ServerAnswers::view_at(size_t member, const call::CallContext& context) {
  MemberView* const own = own_view_(member, context);
  return own != nullptr ? *own : members_[member]->view_of(context);
}

bool ServerAnswers::prepare(ListKind kind, const call::CallContext& context, bool waits_anew) {
  bool is_settled = true;
  for (const size_t i : members_.order()) {
    Member* const member = members_[i].get();
    // A session greets its own child once.
    const bool is_greeting = kind == ListKind::greeting;
    MemberView& view = is_greeting ? member->view_of(context) : view_at(i, context);
    member->want(view, kind, context.arrived, waits_anew);
    is_settled = member->is_settled(view, kind, context.arrived) && is_settled;
  }
  return is_settled;
}

bool ServerAnswers::prepare_list(ListKind kind, const call::CallContext& context, bool is_first) {
  if (prepare(kind, context, is_first)) return true;
  for (const size_t i : members_.order()) {
    const bool is_open = !members_[i]->is_settled(view_at(i, context), kind, context.arrived);
    if (is_open && counts(i, kind, context)) return false;
  }
  return true;
}

bool ServerAnswers::counts(size_t member, ListKind kind, const call::CallContext& context) const {
  if (kind != ListKind::tools || !config_.expose.is_search) return true;
  const Member& one = *members_[member];
  // Whether the server is there at all for such a client is what all of them say.
  if (is_modern(context) && one.may_refuse_modern()) return true;
  return one.config().is_required ||
         std::ranges::any_of(config_.expose.search.pin, [&one](const std::string& pin) {
           return may_be_of(one.config().prefix, pin);
         });
}

TimePoint ServerAnswers::waited_until(ListKind kind, const call::CallContext& context) {
  TimePoint until = TimePoint::max();
  for (const size_t i : members_.order()) {
    Member* const member = members_[i].get();
    MemberView& view = view_at(i, context);
    if (!member->is_settled(view, kind, context.arrived))
      until = std::min(until, member->waited_until(view, kind, context.arrived));
  }
  return until;
}

// A session's own child takes a while to tell what it offers. Until then the session has the shared
// view.
const ElementList& ServerAnswers::elements_of(MemberView& view, size_t member, ListKind kind,
                                              const call::CallContext& context) {
  const bool is_known = view.list(kind).state != MemberList::State::unknown;
  return *(is_known ? view : members_[member]->view_of(context)).list(kind).elements;
}

template <class Visitor>
void ServerAnswers::for_each(ListKind kind, const call::CallContext& context, Visitor&& visit) {
  std::unordered_set<std::string_view> shown;
  for (const size_t i : members_.order()) {
    Member& member = *members_[i];
    MemberView& view = view_at(i, context);
    if (view.is_refused) continue;
    const Sight sight = member.sight_of(context.principal);
    for (const Element& element : view.list(kind).elements->all()) {
      if (!sight.shows(kind, element.own)) continue;
      // Of two with the same name the first one is meant, in lists and calls alike.
      if (shown.insert(element.shown).second) visit(Found{&member, i, &element});
    }
  }
}

Found ServerAnswers::find(ListKind kind, std::string_view shown, const call::CallContext& context) {
  const bool has_prefix = kind == ListKind::tools || kind == ListKind::prompts;
  for (const size_t i : members_.order()) {
    Member& member = *members_[i];
    if (has_prefix && !may_be_of(member.config().prefix, shown)) continue;
    MemberView& view = view_at(i, context);
    if (view.is_refused) continue;
    const Element* const element = elements_of(view, i, kind, context).find(shown);
    if (element == nullptr) continue;
    if (member.sight_of(context.principal).shows(kind, element->own)) return {&member, i, element};
  }
  return {};
}

Member* ServerAnswers::missing_required(ListKind kind, const call::CallContext& context) {
  for (const size_t i : members_.order()) {
    Member& member = *members_[i];
    MemberView& view = view_at(i, context);
    if (!member.config().is_required || !member.is_missing(view, kind)) continue;
    member.note_missed(view, kind);
    return &member;
  }
  return nullptr;
}

bool ServerAnswers::is_refused(const call::CallContext& context) {
  return std::ranges::all_of(members_.order(),
                             [&](size_t i) { return members_[i]->view_of(context).is_refused; });
}

// --- What it can do ------------------------------------------------------------------------------

// An unknown member is taken to have every capability. An empty list does no harm, but clients
// never ask for a list that was not promised.
std::string ServerAnswers::capabilities(const call::CallContext& context) {
  bool has_unknown = false;
  std::vector<std::string_view> known;
  for (const size_t i : members_.order()) {
    MemberView& view = members_[i]->view_of(context);
    if (view.is_refused) continue;
    const std::string& greeting = view.list(ListKind::greeting).greeting;
    if (greeting.empty()) {
      has_unknown = true;
    } else {
      known.push_back(rpc::member_or_empty(greeting, "capabilities"));
    }
  }
  const auto offers = [&](std::string_view key) {
    return has_unknown || std::ranges::any_of(known, [key](std::string_view capabilities) {
             return !rpc::member_or_empty(capabilities, key).empty();
           });
  };
  const bool has_updates =
      has_unknown || std::ranges::any_of(known, [](std::string_view capabilities) {
        return rpc::member_or_empty(rpc::member_or_empty(capabilities, "resources"), "subscribe") ==
               "true";
      });
  std::string out = "{";
  const auto add = [&out](std::string_view key, std::string_view value) {
    if (out.size() > 1) out += ',';
    out.append("\"").append(key).append("\":").append(value);
  };
  constexpr std::string_view kChanging = R"({"listChanged":true})";
  if (offers("tools") || config_.expose.is_search) add("tools", kChanging);
  if (offers("prompts")) add("prompts", kChanging);
  if (offers("resources")) {
    add("resources", has_updates ? R"({"subscribe":true,"listChanged":true})" : kChanging);
  }
  for (const std::string_view key : {"completions", "logging"}) {
    if (offers(key)) add(key, "{}");
  }
  // A capability with settings of its own has the settings of the first member that has it.
  std::string extensions = "{}";
  std::string scratch;
  std::string_view tasks;
  for (const std::string_view capabilities : known) {
    if (tasks.empty()) tasks = rpc::member_or_empty(capabilities, "tasks");
    rpc::for_each_member(rpc::member_or_empty(capabilities, "extensions"),
                         [&](std::string_view spelled, std::string_view value) {
                           const std::string_view key = rpc::decode_string(spelled, scratch);
                           if (rpc::is_absent(rpc::find_member(extensions, key))) {
                             extensions = with_member(extensions, key, value);
                           }
                         });
  }
  if (!tasks.empty() && !is_modern(context)) {
    // Tasks of all members cannot be listed together.
    add("tasks", without_members(tasks, [](std::string_view key) { return key == "list"; }));
  }
  if (extensions.size() > 2) add("extensions", extensions);
  return out + "}";
}

std::string ServerAnswers::greeting(std::string_view params, const call::CallContext& context) {
  std::string out = R"({"protocolVersion":")";
  out.append(mcp::agreed_mcp_revision(params)).append(R"(","capabilities":)");
  out.append(capabilities(context)).append(R"(,"serverInfo":{"name":)");
  out.append(json_text(config_.name)).append(R"(,"version":)").append(json_text(version_));
  out += '}';
  if (!config_.instructions.empty()) {
    out.append(R"(,"instructions":)").append(json_text(config_.instructions));
  }
  return out + "}";
}

std::string ServerAnswers::discovery(const call::CallContext& context) {
  std::string out = R"({"supportedVersions":[")";
  out.append(mcp::kModernRevision).append(R"("],"capabilities":)").append(capabilities(context));
  if (!config_.instructions.empty()) {
    out.append(R"(,"instructions":)").append(json_text(config_.instructions));
  }
  out.append(",").append(kUncached).append(R"(,"_meta":{")").append(mcp::kServerInfoKey);
  out.append(R"(":{"name":)").append(json_text(config_.name)).append(R"(,"version":)");
  return out.append(json_text(version_)).append("}}}");
}

// --- Lists ---------------------------------------------------------------------------------------

bool ServerAnswers::is_pinned(std::string_view name) const {
  const auto& pins = config_.expose.search.pin;
  return std::ranges::find(pins, name) != pins.end();
}

std::vector<std::string> ServerAnswers::shown_texts(ListKind kind,
                                                    const call::CallContext& context) {
  const bool is_searched = kind == ListKind::tools && config_.expose.is_search;
  std::vector<std::string> texts;
  if (is_searched) {
    texts.emplace_back(find_tool_text());
    texts.emplace_back(call_tool_text());
  }
  for_each(kind, context, [&](const Found& found) {
    if (!is_searched || is_pinned(found.element->shown)) texts.push_back(found.element->text);
  });
  return texts;
}

tl::expected<std::string, const char*> ServerAnswers::list(ListKind kind, std::string_view params,
                                                           const call::CallContext& context) {
  const std::vector<std::string> texts = shown_texts(kind, context);
  uint64_t digest = 0;
  for (const std::string& text : texts) digest = digest * 31 + std::hash<std::string>()(text);
  size_t at = 0;
  // Some clients write null for none.
  if (const auto cursor = rpc::find_member(params, "cursor"); cursor && *cursor != "null") {
    const auto offset = offset_of(rpc::string_content(*cursor), digest);
    if (!offset || *offset > texts.size()) {
      return tl::unexpected<const char*>("the list has changed since; begin it anew");
    }
    at = *offset;
  }
  std::string out = "{\"";
  out.append(shape_of(kind).member).append("\":[");
  const size_t begin = out.size();
  const size_t first = at;
  for (; at < texts.size() && at - first < kMaxPage && out.size() < kMaxPageBytes; ++at) {
    if (out.size() > begin) out += ',';
    out += texts[at];
  }
  out += ']';
  if (at < texts.size()) {
    out.append(R"(,"nextCursor":")").append(std::to_string(at)).append(".");
    out.append(hex_of(digest)).append("\"");
  }
  if (is_modern(context)) out.append(",").append(kUncached);
  append_meta(note_missing(kind, context, false), out);
  return out + "}";
}

std::string ServerAnswers::note_missing(ListKind kind, const call::CallContext& context,
                                        bool for_all) {
  std::string missing;
  for (const size_t i : members_.order()) {
    Member& member = *members_[i];
    MemberView& view = view_at(i, context);
    if ((!for_all && !counts(i, kind, context)) || !member.is_missing(view, kind)) continue;
    missing.append(missing.empty() ? "[" : ",").append(json_text(member.name()));
    member.note_missed(view, kind);
  }
  return missing.empty() ? missing : missing + "]";
}

// --- What is shown of it ----------------------------------------------------------------------

void ServerAnswers::describe(pool::BackendStatus& status) const {
  bool is_any_ready = false;
  for (const size_t i : members_.order()) {
    const auto& member = members_[i];
    pool::MemberStatus& one = status.members.emplace_back();
    one.backend = member->name();
    const pool::BackendStatus of_backend =
        member->upstream() == nullptr ? pool::BackendStatus() : member->upstream()->status();
    const MemberState& state = member->state();
    // Others may use the backend meanwhile, and show that it works.
    const bool is_down = state.is_down() && of_backend.state != pool::BackendState::ready;
    one.is_up = member->upstream() != nullptr && !member->has_failed() && !is_down &&
                (of_backend.ready || state.is_up());
    one.ended = member->ended();
    one.is_starting = !one.is_up && member->is_starting();
    one.reason = state.failure().empty() ? of_backend.reason : state.failure();
    if (one.is_starting) one.reason = "it is still starting";
    is_any_ready = is_any_ready || of_backend.ready;
    if (member->config().is_required && (!of_backend.ready || is_down)) {
      status.reason = "its member " + member->name() + " is down: " + one.reason;
    }
    if (MemberView* const view = member->common_view()) {
      for (const Element& tool : view->list(ListKind::tools).elements->all()) {
        one.tools.push_back(tool.shown);
      }
      one.prompts = view->list(ListKind::prompts).elements->all().size();
      one.resources = view->list(ListKind::resources).elements->all().size();
    }
  }
  if (status.reason.empty() && !is_any_ready) status.reason = "none of its members can be used";
  status.ready = status.reason.empty();
  status.state = status.ready ? pool::BackendState::ready : pool::BackendState::failing;
}

// --- Search --------------------------------------------------------------------------------------

std::optional<std::string> ServerAnswers::search(std::string_view params,
                                                 const call::CallContext& context) {
  constexpr size_t kUsual = 5;
  constexpr size_t kMost = 50;
  const std::string_view arguments = rpc::member_or_empty(params, "arguments");
  const std::string_view query = rpc::member_or_empty(arguments, "query");
  if (!query.starts_with('"')) return std::nullopt;
  size_t limit = kUsual;
  const std::string_view wished = rpc::member_or_empty(arguments, "limit");
  std::from_chars(wished.data(), wished.data() + wished.size(), limit);
  limit = std::clamp<size_t>(limit, 1, kMost);
  std::vector<const ElementList*> lists;
  lists.reserve(members_.order().size());
  for (const size_t i : members_.order()) {
    lists.push_back(&elements_of(view_at(i, context), i, ListKind::tools, context));
  }
  index_.cover(lists);
  held_.set(index_.bytes());
  const Sight sight = rules_ ? Sight::by(*rules_, context.principal) : Sight();
  std::string scratch;
  std::string found;
  for (const ToolSearch::Tool* const one :
       index_.find(rpc::decode_string(rpc::string_content(query), scratch))) {
    const Found tool = find(ListKind::tools, one->name, context);
    if (tool.element == nullptr || !sight.shows(ListKind::tools, one->name)) continue;
    if (ToolSearch::version_of(tool.element->text) != one->version) continue;
    found.append(found.empty() ? "" : ",").append(tool.element->text);
    if (--limit == 0) break;
  }
  const std::string tools = R"({"tools":[)" + found + "]}";
  const std::string missing = note_missing(ListKind::tools, context, true);
  std::string out = R"({"content":[{"type":"text","text":)" + json_text(tools);
  if (!missing.empty()) {
    out.append(R"(},{"type":"text","text":)");
    out += json_text("These servers were not searched, as they are down or starting: " + missing);
  }
  out.append(R"(}],"structuredContent":)").append(tools);
  if (is_modern(context)) out.append(R"(,"resultType":"complete")");
  append_meta(missing, out);
  return out + "}";
}

}  // namespace stdgate::servers
