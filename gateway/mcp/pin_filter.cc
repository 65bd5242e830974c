#include "gateway/mcp/pin_filter.h"

#include <algorithm>
#include <utility>

#include "gateway/call/name_table.h"
#include "gateway/rpc/json_cursor.h"
#include "gateway/rpc/json_cut.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::mcp {

namespace {

constexpr size_t kMaxKeptList = 256 << 10;

std::optional<size_t> list_of(policy::ElementKind kind) {
  switch (kind) {
    case policy::ElementKind::tool:
      return static_cast<size_t>(PinnedKind::tool);
    case policy::ElementKind::prompt:
      return static_cast<size_t>(PinnedKind::prompt);
    default:
      return std::nullopt;
  }
}

template <class Keeps>
class PinnedElements final : public rpc::ElementFilter {
 public:
  explicit PinnedElements(Keeps keeps) : keeps_(std::move(keeps)) {}
  bool keeps(std::string_view element) override { return keeps_(element); }

 private:
  const Keeps keeps_;
};

std::span<const PinnedList> all_lists() { return kPinnedLists; }

}  // namespace

PinFilter::PinFilter(const pool::FilterServices& services, std::string stamp, ToolLock lock)
    : ListedFilter(services, std::move(stamp),
                   [] {
                     static constexpr std::array<ListFacts, kPinnedKinds> kLists = {
                         {{kPinnedLists[0].method, kPinnedLists[0].change},
                          {kPinnedLists[1].method, kPinnedLists[1].change},
                          {kPinnedLists[2].method, kPinnedLists[2].change}}};
                     return std::span<const ListFacts>(kLists);
                   }()),
      lock_(std::move(lock)),
      asked_(services.services.calls.reserve<Asked>()) {}

PinFilter::~PinFilter() {
  for (size_t list = 0; list < kPinnedKinds; ++list) count(list, Counts());
}

// --- Down -----------------------------------------------------------------------------------

void PinFilter::on_request(call::CallPtr& call, const call::Request& request) {
  if (std::ranges::find(kPinnedLists, request.method, &PinnedList::method) != kPinnedLists.end()) {
    asked_.of(call->slots).has_cursor =
        !is_absent(rpc::find_member(request.message.params, "cursor"));
    return;
  }
  if (!enforces()) return;
  const auto used = services_.dialect.used_element(request.message, request.method);
  if (used && !list_of(used->kind)) return;
  if (!used || request.message.has_lookalikes) {
    return chain_.on_fault(
        std::move(call),
        rpc::faults::because(rpc::Fault::invalid_request,
                             used ? "a member resembles one of the envelope" : used.error()));
  }
  const size_t list = *list_of(used->kind);
  const std::string_view name = rpc::decode_string(used->name, scratch_);
  if (!lock_.has(static_cast<PinnedKind>(list), name)) {
    return refuse(std::move(call), request.method, used->kind, name, "it is not pinned");
  }
  review(call, request, list);
}

void PinFilter::judge(call::CallPtr& call, const call::Request& request) {
  const auto used = services_.dialect.used_element(request.message, request.method);
  const auto list = used ? list_of(used->kind) : std::nullopt;
  if (!list) return;
  const std::string_view name = rpc::decode_string(used->name, scratch_);
  if (!is_turned(*list, name)) return;
  refuse(std::move(call), request.method, used->kind, name, "it is not as it was pinned");
}

void PinFilter::refuse(call::CallPtr call, std::string_view method, policy::ElementKind kind,
                       std::string_view name, std::string_view why) {
  services_.core.observer.on_rejected(services_.backend, Rejection::unpinned);
  const call::CallPtr refused = std::move(call);
  chain_.answer_error(
      *refused,
      services_.dialect.absence(method, kind, name.substr(0, call::NameTable::kMaxName),
                                refused->client_era.value_or(Era::legacy)),
      Outcome::of(rpc::Fault::denied), why);
}

call::Passage PinFilter::on_notification(const call::Notification& notification) {
  if (!enforces()) return call::Passage::open;
  const auto used = services_.dialect.used_element(notification.message, notification.method);
  if (used && !list_of(used->kind)) return call::Passage::open;
  const bool is_pinned = used && !notification.message.has_lookalikes && [&] {
    const size_t list = *list_of(used->kind);
    const std::string_view name = rpc::decode_string(used->name, scratch_);
    return lock_.has(static_cast<PinnedKind>(list), name) &&
           is_known(scope_of(notification.context.session), list) && !is_turned(list, name);
  }();
  if (is_pinned) return call::Passage::open;
  services_.core.observer.on_rejected(services_.backend, Rejection::unpinned);
  return call::Passage::denied;
}

// --- Up -------------------------------------------------------------------------------------

bool PinFilter::is_turned(size_t list, std::string_view name) const {
  return std::ranges::any_of(shown_[list], [name](const auto& one) {
    return one.second.turned.contains(name) || one.second.asked.contains(name);
  });
}

bool PinFilter::note(size_t list, std::string_view element, Shown* shown, Counts& counts) {
  const PinnedList& facts = kPinnedLists[list];
  const auto member = rpc::find_clear_member(element, facts.name);
  const std::string name(
      rpc::decode_string(rpc::string_content(member.value_or(std::string_view())), scratch_));
  const PinState state = member ? lock_.state_of(facts.kind, name, element) : PinState::fresh;
  ++counts[static_cast<size_t>(state)];
  if (state == PinState::pinned) {
    if (shown != nullptr && is_turned(list, name)) shown->has_turned_back = true;
    return true;
  }
  if (state == PinState::changed && shown != nullptr) shown->asked.insert(name);
  tell(list, name, state);
  return !enforces();
}

void PinFilter::tell(size_t list, std::string_view name, PinState state) {
  std::string key = std::to_string(list) + pin_state_name(state).data();
  key.append(name.substr(0, call::NameTable::kMaxName));
  if (told_.size() >= kMaxTold || !told_.insert(std::move(key)).second) return;
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

void PinFilter::learn(const Page& page) {
  std::map<uint64_t, Shown>& children = shown_[page.list];
  Shown& shown = children[page.child];
  if (page.is_asked && page.is_first) shown.asked.clear();
  Counts counts{};
  rpc::JsonCursor cursor(rpc::member_or_empty(page.payload, all_lists()[page.list].member));
  if (cursor.take('[') && !cursor.take(']')) {
    do {
      note(page.list, cursor.take_value(), &shown, counts);
    } while (cursor.take(','));
  }
  if (!page.is_asked || !page.is_last) return;
  shown.turned = std::exchange(shown.asked, {});
  shown.is_whole = true;
  if (page.is_first) count(page.list, counts);
}

// The numbers of a list that came in one page are those that are told.
void PinFilter::count(size_t list, const Counts& counts) {
  for (size_t state = 0; state < kPinStateCount; ++state) {
    const auto change =
        static_cast<int64_t>(counts[state]) - static_cast<int64_t>(counts_[list][state]);
    if (change == 0) continue;
    services_.core.observer.on_pins(services_.backend, static_cast<PinState>(state), change);
  }
  counts_[list] = counts;
}

void PinFilter::see(call::CallPtr& call, call::Answer& answer) {
  if (answer.message.kind != rpc::MessageKind::result) return;
  const auto* const facts = std::ranges::find(kPinnedLists, call->method_name, &PinnedList::method);
  if (facts == kPinnedLists.end()) return see_child(*call, answer.child);
  if (enforces()) {
    const auto elements = rpc::find_clear_member(answer.payload, facts->member);
    if (!elements && !is_absent(elements)) {
      return chain_.on_fault(std::move(call),
                             rpc::faults::child_failed("readers could see different lists",
                                                       "the server has given two"));
    }
  }
  const auto list = static_cast<size_t>(facts->kind);
  Shown shown;
  Counts counts{};
  PinnedElements elements(
      [&](std::string_view element) { return note(list, element, &shown, counts); });
  cut_.clear();
  if (cut_.capacity() > kMaxKeptList) std::string().swap(cut_);
  const bool is_cut = rpc::cut_elements(answer.payload, facts->member, elements, {}, cut_);
  // What a child that runs shows counts for calls until it has been asked itself.
  if (!shown.asked.empty() && answer.child != 0) {
    shown_[list][answer.child].turned.merge(shown.asked);
    forget(scope_of(call->session), list);
  }
  if (shown.has_turned_back) forget(scope_of(call->session), list);
  const Asked* const asked = asked_.find(call->slots);
  const bool is_whole = rpc::member_or_empty(answer.payload, "nextCursor").empty() &&
                        asked != nullptr && !asked->has_cursor;
  if (is_whole) count(list, counts);
  if (is_cut) answer.payload = cut_;
}

// A child that has not been asked for its tools, as it has been started since: it is asked before
// the next call.
void PinFilter::see_child(const call::Call& call, uint64_t child) {
  const bool is_shared = !call.alone && scope_of(call.session) == 0;
  if (!enforces() || !is_shared || pool_.find_child(child) == nullptr) return;
  constexpr size_t kToolKind = static_cast<size_t>(PinnedKind::tool);
  const auto shown = shown_[kToolKind].find(child);
  if (shown == shown_[kToolKind].end() || !shown->second.is_whole) forget(0, kToolKind, child);
}

void PinFilter::forget_child(const call::ChildRef& child) {
  for (auto& children : shown_) children.erase(child.number);
}

}  // namespace stdgate::mcp
