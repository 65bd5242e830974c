// Chain: the filters of a backend, in the order in which a request passes them.
//
// Job: hand each request and notification down from filter to filter, and each answer and fault up
// again. End every call exactly once, with a record for the observer and a reply for the client.
// The last filter takes each request and brings it to the pool or the upstreams that answer it. A
// call knows how far it has come (Call::at): its answer or fault passes only the filters above that
// place. A filter is called only for functions that it overrides, so a call costs no more than the
// filters that look at it. Owner: FilteredUpstream. Limit: kMaxFilters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "gateway/base/check.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/call/call.h"
#include "gateway/call/filter.h"
#include "gateway/call/held_calls.h"
#include "gateway/call/protocol.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"

namespace stdgate::call {

// All of these outlive the chain.
struct ChainServices {
  const Clock& clock;
  const WallClock* wall_clock;  // null: CallRecord::arrived_at is not set
  Observer& observer;
  session::Callers& callers;
  const Protocol& protocol;
  CallStore& calls;
  BackendId backend;
  const config::BackendConfig& config;
  Log& log;
  const bool& logs_messages;     // at level debug; may change
  TimerQueue* timers = nullptr;  // null: no filter holds calls
  HeldBytes* held = nullptr;     // counts the bytes of held calls; null: not counted
};

class Chain {
 public:
  static constexpr size_t kMaxFilters = Call::kBelowAll;

  explicit Chain(const ChainServices& services);
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  // Adds the next filter, which outlives the chain. `Some` is the filter's own class, from which
  // the chain learns which functions it overrides. `name` is a constant.
  template <class Some>
  void add(std::string_view name, Some& filter);

  // Constructs a filter that nothing else uses, adds it like add(), and owns it.
  template <class Some, class... Arguments>
  void own(std::string_view name, Arguments&&... arguments) {
    auto filter = std::make_unique<Some>(std::forward<Arguments>(arguments)...);
    add(name, *filter);
    owned_.push_back(std::move(filter));
  }

  // The names of the filters, in their order.
  [[nodiscard]] std::span<const std::string_view> names() const { return names_; }

  // --- Down
  // `id` is raw JSON.
  CallPtr begin(std::string_view id, const Arrival& arrival);
  void pass(CallPtr&& call, const Request& request);
  Passage pass(const Notification& notification);
  // The filter that has taken the call passes it on, unchanged or changed, to the filters below.
  void go_on(CallPtr call, const Request& request);
  // Keeps a call that the filter has taken, at most until `until` (Filter::on_released). False:
  // there is no room for the call, and it still belongs to the filter.
  bool hold(CallPtr& call, const Request& request, TimePoint until);
  // Releases all calls that this filter holds.
  void release(const Filter& filter);
  // Keeps a call without its request, for the filter that has it now. The filter bounds these
  // calls, and hears of their ends in on_end(). `until`: see Filter::on_overdue(); max(): the call
  // may stay.
  void keep(CallPtr call, TimePoint until);
  // Gives a kept call back to its filter.
  CallPtr take_kept(const Call& call) { return std::move(held_->take(call).call); }

  // --- Up, from the place of the call
  // A child has answered.
  void on_answer(CallPtr&& call, const rpc::Envelope& message);
  // Its outcome is known.
  void on_answer(CallPtr&& call, const rpc::Envelope& message, Outcome outcome);
  // The result of another call answers this one too. `child`: see Answer.
  void on_result(CallPtr call, std::string_view payload, uint64_t child = 0);
  void on_fault(CallPtr call, const rpc::FaultReport& report);
  // See Filter::on_lost(). The call is null afterwards if a filter has taken it.
  void on_lost(CallPtr& call, std::string_view text, const rpc::FaultReport& report);

  // --- Ends by an answer of the gateway, not of a child
  // `member`: the member `result` or `error` for the client.
  void answer(const Call& call, Outcome outcome, std::string_view member,
              std::optional<int64_t> error_code = {}, std::string_view detail = {});
  void answer_result(const Call& call, std::string_view result);
  void answer_error(const Call& call, const Absence& error, Outcome outcome = Outcome::error(),
                    std::string_view detail = {});
  // `detail`: for the record.
  void answer_fault(const Call& call, const rpc::FaultReport& report, Outcome outcome,
                    std::string_view detail, bool exposes_detail);
  // Ends the call without an answer, or after an answer that was given elsewhere.
  void end(const Call& call, Outcome outcome, std::string_view detail) {
    finish(call, outcome, nullptr, detail);
  }

  // A message that is no call, or an answer, reaches nobody: counts and logs it.
  void drop(DropReason reason) const;
  [[nodiscard]] const bool& logs_messages() const { return services_.logs_messages; }

  // --- Children, see Filter
  [[nodiscard]] bool admits(const Call& call, uint64_t child) const {
    return gates_.empty() || passes_gates(call, child);
  }
  // Passes the message to the filters above `from`; null: to all. False: a filter has stopped it.
  bool pass(ChildMessage& message, const Filter* from = nullptr);
  void on_child_gone(const ChildRef& child);
  [[nodiscard]] TimePoint needed_until(uint64_t child) const;
  [[nodiscard]] ChildWork work_of(uint64_t child) const;
  [[nodiscard]] bool gave(const Arrival& request) const;
  void drop_kept();

  // --- Held calls, with and without requests, which end with their clients
  // Null: no call with this id is held.
  CallPtr take_held(session::Caller caller, std::string_view id);
  std::vector<CallPtr> take_held(const std::function<bool(const Call&)>& matches);
  void fail_held(const rpc::FaultReport& report);
  [[nodiscard]] size_t held() const { return held_ ? held_->size() : 0; }
  // Those with a request, which wait to be passed on.
  [[nodiscard]] size_t held_requests() const { return held_ ? held_->requests() : 0; }
  template <class Visitor>
  void for_each_held(Visitor&& visit) const {
    if (held_) held_->for_each(visit);
  }

 private:
  struct Row {
    Filter* filter;
    uint8_t place;
  };
  using Rows = std::vector<Row>;

  template <auto kOwn, auto kNone>
  static void enlist(Rows& rows, Row row, bool goes_up) {
    if constexpr (!std::is_same_v<decltype(kOwn), decltype(kNone)>) {
      rows.insert(goes_up ? rows.begin() : rows.end(), row);
    }
  }
  void descend(Rows::const_iterator from, CallPtr& call, const Request& request);
  void release(HeldCalls::Held held);
  [[nodiscard]] bool passes_gates(const Call& call, uint64_t child) const;
  void rise(CallPtr& call, Answer& answer);
  void give(const Call& call, const Answer& answer);
  void answer_tail(const Call& call, Outcome outcome, std::string_view tail,
                   std::optional<int64_t> error_code, std::string_view detail);
  void finish(const Call& call, Outcome outcome, const session::Reply* reply,
              std::string_view detail);
  void record_end(const Call& call, End& end, std::string_view detail);
  void deliver(const Call& call, const session::Reply& reply);

  const ChainServices services_;
  std::vector<std::unique_ptr<Filter>> owned_;
  std::vector<std::string_view> names_;
  // For each function, the filters that override it, in the order of the calls.
  Rows begins_;
  Rows requests_;
  Rows notifications_;
  Rows judged_;
  Rows answers_;
  Rows faults_;
  Rows ends_;
  Rows ended_;
  Rows lost_;
  Rows holders_;
  Rows keepers_;
  Rows gates_;
  Rows child_messages_;
  Rows child_ends_;
  Rows needs_;
  Rows works_;
  Rows givers_;
  Rows caches_;
  std::optional<HeldCalls> held_;         // nothing: no filter holds calls
  HeldCalls::Held* releasing_ = nullptr;  // whose filter has it now; null: none
  std::string text_;                      // scratch: text of an answer
};

template <class Some>
void Chain::add(std::string_view name, Some& filter) {
  static_assert(std::is_base_of_v<Filter, Some> && !std::is_same_v<Filter, Some>);
  STDGATE_CHECK(typeid(filter) == typeid(Some) && names_.size() < kMaxFilters);
  STDGATE_CHECK(std::ranges::find(names_, name) == names_.end());
  const Row row{&filter, static_cast<uint8_t>(names_.size())};
  names_.push_back(name);
  enlist<&Some::on_begin, &Filter::on_begin>(begins_, row, false);
  enlist<&Some::on_request, &Filter::on_request>(requests_, row, false);
  enlist<&Some::on_notification, &Filter::on_notification>(notifications_, row, false);
  enlist<&Some::on_notification_judged, &Filter::on_notification_judged>(judged_, row, false);
  enlist<&Some::on_answer, &Filter::on_answer>(answers_, row, true);
  enlist<&Some::on_fault, &Filter::on_fault>(faults_, row, true);
  enlist<&Some::on_end, &Filter::on_end>(ends_, row, true);
  enlist<&Some::on_ended, &Filter::on_ended>(ended_, row, true);
  enlist<&Some::on_lost, &Filter::on_lost>(lost_, row, true);
  enlist<&Some::on_released, &Filter::on_released>(holders_, row, false);
  enlist<&Some::on_overdue, &Filter::on_overdue>(keepers_, row, false);
  enlist<&Some::admits, &Filter::admits>(gates_, row, false);
  enlist<&Some::on_child_message, &Filter::on_child_message>(child_messages_, row, true);
  enlist<&Some::on_child_gone, &Filter::on_child_gone>(child_ends_, row, true);
  enlist<&Some::needed_until, &Filter::needed_until>(needs_, row, true);
  enlist<&Some::work_of, &Filter::work_of>(works_, row, true);
  enlist<&Some::gave, &Filter::gave>(givers_, row, true);
  enlist<&Some::drop_kept, &Filter::drop_kept>(caches_, row, true);
}

// --- Log lines, at level debug, about the way of a message that reaches no child; see also
// pool/message_log.h
//
// They show ids, names and sizes, and never a payload.

// An id or a method name is shown up to this many bytes.
inline constexpr size_t kMaxLogged = 128;
LogValue logged(std::string_view text);

void log_arrived(Log& log, std::string_view backend, const Call& call, std::string_view method);
void log_dropped(Log& log, std::string_view backend, DropReason reason);

}  // namespace stdgate::call
