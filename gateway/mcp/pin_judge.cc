#include "gateway/mcp/pin_judge.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "gateway/call/name_filter.h"
#include "gateway/call/rule_filter.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::mcp {

namespace {

constexpr size_t kMaxKeptList = 256 << 10;

std::optional<size_t> list_of(policy::ElementKind kind) {
  switch (kind) {
    case policy::ElementKind::tool:
      return static_cast<size_t>(McpListKind::tools);
    case policy::ElementKind::prompt:
      return static_cast<size_t>(McpListKind::prompts);
    default:
      return std::nullopt;
  }
}

policy::ElementKind kind_of(size_t list) {
  return list == static_cast<size_t>(McpListKind::tools) ? policy::ElementKind::tool
                                                         : policy::ElementKind::prompt;
}

constexpr std::string_view kFresh = "it is not pinned";
constexpr std::string_view kTurned = "it is not as it was pinned";
constexpr std::string_view kMissing = "it is pinned, and the server does not list it";

template <class Keeps>
class PinnedElements final : public rpc::ElementFilter {
 public:
  explicit PinnedElements(Keeps keeps) : keeps_(std::move(keeps)) {}
  bool keeps(std::string_view element) override { return keeps_(element); }

 private:
  const Keeps keeps_;
};

}  // namespace

PinJudge::PinJudge(const pool::FilterServices& services, ListedFilter& lists, ToolLock lock)
    : services_(services.services),
      chain_(services.services.chain),
      lists_(lists),
      lock_(std::move(lock)),
      states_(services.services.calls.reserve<State>()) {}

PinJudge::~PinJudge() {
  for (size_t list = 0; list < kPinnedLists.size(); ++list) count(list, Counts());
}

// --- Down -----------------------------------------------------------------------------------

std::optional<size_t> PinJudge::on_request(call::CallPtr& call, const call::Request& request) {
  if (std::ranges::find(kPinnedLists, request.method, &McpListing::method) != kPinnedLists.end()) {
    states_.of(call->slots).has_cursor =
        !is_absent(rpc::find_member(request.message.params, "cursor"));
    return std::nullopt;
  }
  const auto used = services_.dialect.used_element(request.message, request.method);
  // Another method may be the one that some readers see.
  if (used && !list_of(used->kind) && !request.message.has_lookalikes) {
    return std::nullopt;
  }
  if (!used || request.message.has_lookalikes) {
    if (!enforces()) return std::nullopt;
    chain_.on_fault(
        std::move(call),
        rpc::faults::because(rpc::Fault::invalid_request,
                             used ? "a member resembles one of the envelope" : used.error()));
    return std::nullopt;
  }
  const size_t list = *list_of(used->kind);
  const std::string_view name = rpc::decode_string(used->name, scratch_);
  const ToolLock::Definitions& pins = lock_.of(kPinnedLists[list].kind);
  const auto pin = pins.find(name);
  const bool is_fresh = pin == pins.end();
  if (is_fresh && enforces()) {
    refuse(std::move(call), request.method, used->kind, name, kFresh);
    return std::nullopt;
  }
  State& state = states_.of(call->slots);
  state.list = list;
  state.is_fresh = is_fresh;
  if (!is_fresh) state.name = &pin->first;
  return enforces() ? std::optional(list) : std::nullopt;
}

void PinJudge::refuse(call::CallPtr call, std::string_view method, policy::ElementKind kind,
                      std::string_view name, std::string_view why) {
  services_.core.observer.on_rejected(services_.backend, Rejection::unpinned);
  const call::CallPtr refused = std::move(call);
  chain_.answer_error(
      *refused,
      services_.dialect.absence(method, kind, name.substr(0, call::NameTable::kMaxName),
                                refused->client_kind.value_or(PeerKind::stateful)),
      Outcome::of(rpc::Fault::denied), why);
}

// A call without an answer is none that MCP knows, and could not wait.
call::Passage PinJudge::on_notification(const call::Notification& notification) {
  if (!enforces()) return call::Passage::open;
  const auto used = services_.dialect.used_element(notification.message, notification.method);
  const bool is_other = used && !list_of(used->kind) && !notification.message.has_lookalikes;
  if (is_other) return call::Passage::open;
  services_.core.observer.on_rejected(services_.backend, Rejection::unpinned);
  return call::Passage::denied;
}

bool PinJudge::forbids(const call::Call& call) const {
  const State& state = *states_.find(call.slots);
  return is_turned(state.list, *state.name) || is_missing(call);
}

void PinJudge::refuse(call::CallPtr call) {
  const State& state = *states_.find(call->slots);
  const std::string_view method = call->method_name;
  const std::string_view why = is_turned(state.list, *state.name) ? kTurned : kMissing;
  refuse(std::move(call), method, kind_of(state.list), *state.name, why);
}

void PinJudge::judge(call::CallPtr& call, const call::Request& /*request*/) {
  if (!forbids(*call)) return;
  const State& state = *states_.find(call->slots);
  const ListScope scope = lists_.scope_of(*call);
  if (is_turned(state.list, *state.name) || !is_old(scope, state.list)) {
    return refuse(std::move(call));
  }
  // Servers may not tell that they list it by now. They are asked once in a while.
  for (const auto& [child, shown] : shown_[state.list]) {
    if (lists_.scope_of_child(child) == scope) lists_.distrust(scope, state.list, child);
  }
}

bool PinJudge::is_old(ListScope scope, size_t list) const {
  const TimePoint since = services_.core.clock.now() - ListedFilter::kAskAgain;
  return std::ranges::none_of(shown_[list], [&](const auto& one) {
    return one.second.asked && *one.second.asked > since &&
           lists_.scope_of_child(one.first) == scope;
  });
}

bool PinJudge::suits(const call::Call& call, uint64_t child) const {
  const State& state = *states_.find(call.slots);
  if (is_turned(state.list, *state.name)) return false;
  const auto shown = shown_[state.list].find(child);
  return shown == shown_[state.list].end() || !shown->second.missing.contains(state.name);
}

// --- Up -------------------------------------------------------------------------------------

bool PinJudge::is_turned(size_t list, std::string_view name) const {
  return std::ranges::any_of(shown_[list], [name](const auto& one) {
    const Shown& shown = one.second;
    return shown.turned.contains(name) ||
           std::ranges::any_of(shown.coming, [name](const auto& coming) {
             return coming.second.turned.contains(name);
           });
  });
}

bool PinJudge::is_missing(const call::Call& call) const {
  const State& state = *states_.find(call.slots);
  const auto& children = shown_[state.list];
  const auto lacks = [&](const auto& one) { return one.second.missing.contains(state.name); };
  if (std::ranges::none_of(children, lacks)) return false;
  const ListScope scope = lists_.scope_of(call);
  bool is_any = false;
  for (const auto& one : children) {
    if (!one.second.asked || lists_.scope_of_child(one.first) != scope) continue;
    if (!lacks(one)) return false;
    is_any = true;
  }
  return is_any;
}

PinJudge::Pinned PinJudge::missing_in(size_t list, const Seen& seen) const {
  Pinned missing;
  for (const auto& [name, definition] : lock_.of(kPinnedLists[list].kind)) {
    if (!seen.good.contains(&name)) missing.insert(&name);
  }
  return missing;
}

// With `warn` the records of the call say what was found.
void PinJudge::on_end(const call::Call& call, call::End& end) {
  if (enforces() || end.record == nullptr || !end.record->detail.empty()) return;
  const State* const state = states_.find(call.slots);
  if (state == nullptr) return;
  if (state->is_fresh) {
    end.record->detail = kFresh;
  } else if (state->name != nullptr && is_turned(state->list, *state->name)) {
    end.record->detail = kTurned;
  }
}

bool PinJudge::note(size_t list, std::string_view element, Seen& seen) {
  const McpListing& facts = kPinnedLists[list];
  const auto member = rpc::find_clear_member(element, facts.name);
  const std::string name(
      rpc::decode_string(rpc::string_content(member.value_or(std::string_view())), scratch_));
  const PinState state = member ? lock_.state_of(facts.kind, name, element) : PinState::fresh;
  ++seen.counts[static_cast<size_t>(state)];
  if (state == PinState::pinned) {
    seen.good.insert(&lock_.of(facts.kind).find(name)->first);
    return true;
  }
  if (state == PinState::changed) seen.turned.insert(name);
  if (!member) note_unclear(list, element, seen);
  tell(list, name, state);
  return !enforces();
}

void PinJudge::note_unclear(size_t list, std::string_view element, Seen& seen) {
  const McpListing& facts = kPinnedLists[list];
  rpc::for_each_member(element, [&](std::string_view key, std::string_view value) {
    if (!rpc::json_string_resembles(key, facts.name)) return;
    const std::string name(rpc::decode_string(rpc::string_content(value), scratch_));
    if (lock_.has(facts.kind, name)) seen.turned.insert(name);
  });
}

// Where nothing of a list is pinned, a line about each element would say no more.
void PinJudge::tell_unpinned(size_t list) {
  if (!told_.insert(list).second) return;
  services_.core.log.write(LogLevel::warn, "a server has a list of which nothing is pinned",
                           {{"backend", services_.config.name},
                            {"list", kPinnedLists[list].method},
                            {"hidden", enforces()},
                            {"hint", "stdgate pin pins what is listed"}});
}

void PinJudge::tell(size_t list, std::string_view name, PinState state) {
  if (lock_.of(kPinnedLists[list].kind).empty()) return tell_unpinned(list);
  const std::string key = std::to_string(list) + pin_state_name(state).data() + std::string(name);
  if (told_.size() >= kMaxTold || !told_.insert(std::hash<std::string>()(key)).second) return;
  services_.core.log.write(LogLevel::warn,
                           state == PinState::fresh
                               ? "a server offers what is not pinned"
                               : "a server offers something else than what is pinned",
                           {{"backend", services_.config.name},
                            {"list", kPinnedLists[list].method},
                            {"name", name.substr(0, call::NameTable::kMaxName)},
                            {"hidden", enforces()},
                            {"hint", "stdgate pin --diff shows it"}});
}

void PinJudge::learn(const ListPage& page) {
  Shown& shown = shown_[page.list][page.child];
  Seen& seen = shown.coming[page.scope];
  if (page.is_first) seen = {};
  rpc::JsonCursor cursor(rpc::member_or_empty(page.payload, kPinnedLists[page.list].member));
  if (cursor.take('[') && !cursor.take(']')) {
    do {
      note(page.list, cursor.take_value(), seen);
    } while (cursor.take(','));
  }
  if (!page.is_last) return;
  count(page.list, seen.counts);
  shown.turned = std::move(seen.turned);
  shown.missing = missing_in(page.list, seen);
  shown.asked = services_.core.clock.now();
  shown.coming.erase(page.scope);
}

// Reports the numbers of the last list that is known as a whole.
void PinJudge::count(size_t list, const Counts& counts) {
  for (size_t state = 0; state < kPinStateCount; ++state) {
    const auto change =
        static_cast<int64_t>(counts[state]) - static_cast<int64_t>(counts_[list][state]);
    if (change == 0) continue;
    services_.core.observer.on_pins(services_.backend, static_cast<PinState>(state), change);
  }
  counts_[list] = counts;
}

void PinJudge::see(call::CallPtr& call, call::Answer& answer) {
  const auto* const facts = std::ranges::find(kPinnedLists, call->method_name, &McpListing::method);
  if (facts == kPinnedLists.end()) return;
  const auto list = static_cast<size_t>(facts - kPinnedLists.begin());
  if (enforces() && !call::has_clear_list(answer, facts->member)) {
    return lists_.refuse_list(call, list, answer.child);
  }
  if (answer.message.kind != rpc::MessageKind::result) return;
  Seen seen;
  PinnedElements elements([&](std::string_view element) { return note(list, element, seen); });
  cut_.clear();
  if (cut_.capacity() > kMaxKeptList) std::string().swap(cut_);
  const bool is_cut = rpc::cut_elements(answer.payload, facts->member, elements, {}, cut_);
  const State* const asked = states_.find(call->slots);
  const bool is_whole = rpc::member_or_empty(answer.payload, "nextCursor").empty() &&
                        asked != nullptr && !asked->has_cursor;
  if (lists_.scope_of_child(answer.child)) note_shown(*call, list, answer.child, seen, is_whole);
  if (is_whole) count(list, seen.counts);
  if (is_cut) answer.payload = cut_;
}

// Until the gateway has asked the child itself, calls are judged by what clients saw of its list.
void PinJudge::note_shown(const call::Call& call, size_t list, uint64_t child, Seen& seen,
                          bool is_whole) {
  const auto found = shown_[list].find(child);
  if (found == shown_[list].end() && seen.turned.empty()) return;
  Shown& known = shown_[list][child];
  bool is_news = !seen.turned.empty();
  for (const std::string* const name : seen.good) {
    is_news = known.turned.erase(*name) > 0 || known.missing.contains(name) || is_news;
  }
  // The list may be another one for this client. The gateway asks for its own.
  is_news =
      is_news || (enforces() && is_whole && known.asked && missing_in(list, seen) != known.missing);
  known.turned.merge(seen.turned);
  if (!is_news) return;
  lists_.distrust(lists_.scope_of(call), list, child);
  lists_.look_again();
}

// Calls of what it had turned are refused, and would never ask it.
void PinJudge::on_changed(size_t list, uint64_t child) {
  const auto shown = shown_[list].find(child);
  if (shown == shown_[list].end()) return;
  shown->second.missing.clear();
  shown->second.asked.reset();
  if (!shown->second.turned.empty()) lists_.ask_child(list, child);
}

void PinJudge::forget_child(uint64_t child) {
  for (auto& children : shown_) children.erase(child);
}

}  // namespace stdgate::mcp
