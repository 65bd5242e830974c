// Chain: the filters of a backend, in the order in which a request passes them.
//
// Job: hand each request and notification down from filter to filter, each answer and fault up
// again, and end every call exactly once: with its record to the observer, and its reply to its
// client. The last filter takes each request, and brings it to what answers. A call knows how far
// it has come (Call::at): whatever ends it is seen by the filters before that place alone. A filter
// is called for what it overrides, so that a call costs no more than the filters that it really
// passes. Owner: the backend. Limit: kMaxFilters.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "gateway/base/check.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/base/wall_clock.h"
#include "gateway/call/filter.h"
#include "gateway/call/held_calls.h"
#include "gateway/call/protocol.h"
#include "gateway/config/config.h"

namespace stdgate::call {

// They outlive the chain.
struct ChainServices {
  const Clock& clock;
  const WallClock* wall_clock;  // null: CallRecord::arrived_at is not said
  Observer& observer;
  session::Callers& callers;
  const Protocol& protocol;
  CallStore& calls;
  BackendId backend;
  const config::BackendConfig& config;
  Log& log;
  const bool& traces;            // each message's way is logged
  TimerQueue* timers = nullptr;  // null: no filter holds calls
  HeldBytes* held = nullptr;     // where is counted what is kept of these; null: nowhere
};

class Chain {
 public:
  static constexpr size_t kMaxFilters = Call::kBelowAll;

  explicit Chain(const ChainServices& services);
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  // The next filter, which outlives the chain. `Some` is its own class, by which it is seen what is
  // overridden.
  // `name` is a constant.
  template <class Some>
  void add(std::string_view name, Some& filter) {
    static_assert(std::is_base_of_v<Filter, Some> && !std::is_same_v<Filter, Some>);
    STDGATE_CHECK(typeid(filter) == typeid(Some) && names_.size() < kMaxFilters);
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
    enlist<&Some::on_child_message, &Filter::on_child_message>(child_messages_, row, true);
    enlist<&Some::on_child_gone, &Filter::on_child_gone>(child_ends_, row, true);
    enlist<&Some::needed_until, &Filter::needed_until>(needs_, row, true);
    enlist<&Some::work_of, &Filter::work_of>(works_, row, true);
    enlist<&Some::gave, &Filter::gave>(givers_, row, true);
    enlist<&Some::drop_kept, &Filter::drop_kept>(keepers_, row, true);
  }

  // Of its filters, in their order.
  [[nodiscard]] std::span<const std::string_view> names() const { return names_; }

  // --- Down
  // `id` is raw JSON.
  CallPtr begin(std::string_view id, const Arrival& arrival);
  void pass(CallPtr&& call, const Request& request);
  Passage pass(const Notification& notification);
  // From the filter below the one that has taken the call: as it was, or changed.
  void go_on(CallPtr call, const Request& request);
  // The filter that has taken the call keeps it from going on, until then at most
  // (Filter::on_released). False: there is no room for it, and it is still the filter's.
  bool hold(CallPtr& call, const Request& request, TimePoint until);
  // All that this filter holds.
  void release(const Filter& filter);

  // --- Up, from where the call is
  // A child has answered.
  void on_answer(CallPtr&& call, const rpc::Envelope& message);
  // The result of another call serves this one as well.
  // `child`: see Answer.
  void on_result(CallPtr call, std::string_view payload, uint64_t child = 0);
  void on_fault(CallPtr call, const rpc::FaultReport& report);
  // See Filter. The call is null afterwards if a filter has taken it.
  void on_lost(CallPtr& call, std::string_view text, const rpc::FaultReport& report);

  // --- Ends: the gateway's own answer, instead of that of a child
  // `member`: result or error, as the client gets it.
  void answer(const Call& call, Outcome outcome, std::string_view member,
              std::optional<int64_t> error_code = {}, std::string_view detail = {});
  void answer_result(const Call& call, std::string_view result);
  void answer_error(const Call& call, const Absence& error, Outcome outcome = Outcome::error(),
                    std::string_view detail = {});
  // `detail` is for the record.
  void answer_fault(const Call& call, const rpc::FaultReport& report, Outcome outcome,
                    std::string_view detail, bool exposes_detail);
  // Without an answer, or with one that somebody else has given.
  void end(const Call& call, Outcome outcome, std::string_view detail) {
    finish(call, outcome, nullptr, detail);
  }

  // --- Children, see Filter
  // From the filter above `from` on; null: from the last one. False: nobody else hears of it.
  bool pass(ChildMessage& message, const Filter* from = nullptr);
  void on_child_gone(const ChildRef& child);
  [[nodiscard]] TimePoint needed_until(uint64_t child) const;
  [[nodiscard]] ChildWork work_of(uint64_t child) const;
  [[nodiscard]] bool gave(const Arrival& request) const;
  void drop_kept();

  // --- Held calls, which end with their clients
  // Null: there is none with this id.
  CallPtr take_held(session::Caller caller, std::string_view id);
  std::vector<CallPtr> take_held(const std::function<bool(const Call&)>& matches);
  void fail_held(const rpc::FaultReport& report);
  [[nodiscard]] size_t held() const { return held_ ? held_->size() : 0; }
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
  void rise(CallPtr& call, Answer& answer);
  void give(const Call& call, const Answer& answer);
  void answer_tail(const Call& call, Outcome outcome, std::string_view tail,
                   std::optional<int64_t> error_code, std::string_view detail);
  void finish(const Call& call, Outcome outcome, const session::Reply* reply,
              std::string_view detail);
  void record_end(const Call& call, End& end, std::string_view detail);
  void deliver(const Call& call, const session::Reply& reply);

  const ChainServices services_;
  std::vector<std::string_view> names_;
  // Those that want to see it, in the order in which they do.
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
  Rows child_messages_;
  Rows child_ends_;
  Rows needs_;
  Rows works_;
  Rows givers_;
  Rows keepers_;
  std::optional<HeldCalls> held_;  // nothing: there is no timer
  std::string text_;               // scratch: of an answer
};

}  // namespace stdgate::call
