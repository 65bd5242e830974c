#include "gateway/mcp/list_requests.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {

tl::expected<void, RefusedPage> ask_for_page(const PageRequest& page, const PageServices& from,
                                             const std::function<void(call::Call&)>& prepare) {
  std::string text = list_request(page.method, page.cursor, from.dialect.stamp());
  const rpc::KnownMessage known(text);
  const rpc::Envelope& request = known.envelope();
  call::CallPtr call = from.services.calls.take();
  call->id = request.id;
  call->method_name = page.method;
  call->caller = session::Callers::kGateway;
  call->session = page.session;
  call->client_kind = PeerKind::stateless;
  call->transport = Transport::mcp;
  call->is_own = true;
  call->arrived = from.services.core.clock.now();
  call::start_clock(*call, from.services.config.timeout, from.services.config);
  call->route.child = page.child;
  call->route.is_bound = page.child != 0;
  prepare(*call);
  call::Outgoing message(request);
  // A legacy child gets it without its stamp.
  const call::PeerChanges changes = from.dialect.omissions(request);
  message.inserted = changes.view();
  auto taken = from.pool.submit(call, message);
  if (taken) return {};
  return tl::unexpected(RefusedPage{std::move(taken.error()), std::move(call)});
}

ListRequests::ListRequests(const pool::PoolServices& services, pool::Pool& pool, OnLate on_late)
    : services_(services),
      pool_(pool),
      on_late_(std::move(on_late)),
      timer_(services.core.timers, [this] { look(); }) {}

void ListRequests::add(const Key& key, call::Call& own) {
  const TimePoint due = now() + kMaxWait;
  requests_.insert_or_assign(key, Request{&own, due});
  timer_.arm_by(due);
}

void ListRequests::remove(const Key& key) { requests_.erase(key); }

// A request that waits for a child has the time that other calls have.
TimePoint ListRequests::due_of(const call::Call& own) const {
  const bool is_at_child = own.place == call::CallPlace::in_flight;
  return (is_at_child ? own.written : now()) + kMaxWait;
}

void ListRequests::look() {
  std::vector<std::pair<Key, call::Call*>> late;
  TimePoint next = TimePoint::max();
  for (auto& [key, request] : requests_) {
    if (request.due <= now()) request.due = due_of(*request.own);
    if (request.due <= now()) {
      late.emplace_back(key, request.own);
    } else {
      next = std::min(next, request.due);
    }
  }
  if (next != TimePoint::max()) timer_.arm(next);
  for (const auto& [key, own] : late) {
    // The handling of another late request may have ended this one, and begun the next one.
    const auto request = requests_.find(key);
    const bool is_there = request != requests_.end() && request->second.own == own;
    if (!is_there || request->second.due > now()) continue;
    silent_.emplace(key.second, own->child);
    const bool is_last_hope = preferred_child(key.second) == 0;
    if (is_last_hope && now() < own->written + kMaxAlone) {
      timer_.arm_by(request->second.due = now() + kMaxWait);
      continue;
    }
    requests_.erase(request);
    const call::CallPtr taken = pool_.take(*own, pool::CancelReason::deadline);
    on_late_(key, *taken);
  }
}

void ListRequests::forget_child(uint64_t child) {
  std::erase_if(silent_, [child](const auto& place) { return place.second == child; });
}

uint64_t ListRequests::preferred_child(size_t list) const {
  const auto is_silent = [&](uint64_t child) { return silent_.contains({list, child}); };
  const auto first = silent_.lower_bound({list, 0});
  if (first == silent_.end() || first->first != list) return 0;
  const pool::Child* best = nullptr;
  for (const auto& child : pool_.children()) {
    const bool may_answer = child->isolation() == config::Isolation::shared &&
                            child->keeps_bound() && !child->is_retiring() &&
                            !is_silent(child->number());
    if (may_answer && (best == nullptr || child->load() < best->load())) best = child.get();
  }
  return best == nullptr ? 0 : best->number();
}

}  // namespace stdgate::mcp
