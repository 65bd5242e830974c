// Observers: passes each event on to several observers. BackendNames: the names of backends by
// their ids, for observers that write them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "gateway/base/check.h"
#include "gateway/observer.h"

namespace stdgate {

// Observers: passes each event on to several observers, in the order of their add().
//
// Job: each is told what it overrides, so none misses in silence what it wants, and events that an
// observer does not override cost nothing. Owner: the worker, which also owns the observers; they
// live as long.
class Observers final : public Observer {
 public:
  // `Some` is the observer's own class, which shows what it overrides.
  template <class Some>
  void add(Some& observer);

  void on_backend(BackendId backend, std::string_view name) override;
  void on_method(BackendId backend, MethodId method, std::string_view name) override;
  void on_tool(BackendId backend, ToolId tool, std::string_view name) override;
  void on_call_started(BackendId backend) override;
  void on_call_finished(const CallRecord& call) override;
  void on_message(BackendId backend, Direction direction,
                  std::span<const std::string_view> parts) override;
  void on_notification(BackendId backend, MethodId method, Direction direction) override;
  void on_dropped(BackendId backend, DropReason reason) override;
  void on_rejected(BackendId backend, Rejection reason) override;
  void on_child_state(BackendId backend, ChildState from, ChildState to) override;
  void on_child_started(BackendId backend, StartReason reason) override;
  void on_child_ready(BackendId backend, Duration since_start) override;
  void on_child_exited(BackendId backend, ExitReason reason) override;
  void on_child_replaced(BackendId backend, ReplaceReason reason) override;
  void on_replacement_waits(BackendId backend, ReplaceReason reason) override;
  void on_breaker(BackendId backend, bool open) override;
  void on_session_places(BackendId backend, uint32_t places) override;
  void on_session_opened(BackendId backend) override;
  void on_session_state(BackendId backend, SessionState from, SessionState to) override;
  void on_session_parked(BackendId backend, ParkReason reason) override;
  void on_question_asked(BackendId backend) override;
  void on_question_ended(BackendId backend, MethodId method, QuestionEnd end,
                         Duration since_asked) override;
  void on_call_parked(BackendId backend) override;
  void on_parked_call_ended(BackendId backend, ParkedEnd end) override;
  void on_return(BackendId backend, ReturnEnd end) override;
  void on_cache_hit(BackendId backend) override;
  void on_remembered(BackendId backend) override;
  void on_check_failed(BackendId backend, CheckFailure failure) override;
  void on_pins(BackendId backend, PinState state, int64_t change) override;
  void on_session_revived(BackendId backend, RevivalOutcome outcome,
                          Duration since_request) override;
  void on_session_closed(BackendId backend, SessionState state) override;
  void on_connection_opened(ConnectionKind kind) override;
  void on_connection_closed(ConnectionKind kind) override;
  void on_bytes(ConnectionKind kind, Flow flow, size_t count) override;
  void on_refused(Refusal refusal) override;
  void on_handshake_failed(HandshakeFailure failure) override;
  void on_keys_fetched(FetchOutcome outcome) override;

 private:
  enum class Event : uint8_t {
    backend,
    method,
    tool,
    call_started,
    call_finished,
    message,
    notification,
    dropped,
    rejected,
    child_state,
    child_started,
    child_ready,
    child_exited,
    child_replaced,
    replacement_waits,
    breaker,
    session_places,
    session_opened,
    session_state,
    session_parked,
    question_asked,
    question_ended,
    call_parked,
    parked_call_ended,
    call_returned,
    cache_hit,
    remembered,
    check_failed,
    pins,
    session_revived,
    session_closed,
    connection_opened,
    connection_closed,
    bytes,
    refused,
    handshake_failed,
    keys_fetched
  };
  static constexpr size_t kEvents = static_cast<size_t>(Event::keys_fetched) + 1;
  using List = std::vector<Observer*>;

  // A function that is not overridden is a member of Observer.
  template <class Theirs, class Empty>
  void enlist(Event event, Observer& observer, Theirs /*function*/, Empty /*function*/) {
    if (!std::is_same_v<Theirs, Empty>) lists_[static_cast<size_t>(event)].push_back(&observer);
  }

  [[nodiscard]] const List& of(Event event) const { return lists_[static_cast<size_t>(event)]; }

  std::array<List, kEvents> lists_;
};

template <class Some>
void Observers::add(Some& observer) {
  static_assert(std::is_base_of_v<Observer, Some> && !std::is_same_v<Observer, Some>);
  STDGATE_CHECK(typeid(observer) == typeid(Some));
  enlist(Event::backend, observer, &Some::on_backend, &Observer::on_backend);
  enlist(Event::method, observer, &Some::on_method, &Observer::on_method);
  enlist(Event::tool, observer, &Some::on_tool, &Observer::on_tool);
  enlist(Event::call_started, observer, &Some::on_call_started, &Observer::on_call_started);
  enlist(Event::call_finished, observer, &Some::on_call_finished, &Observer::on_call_finished);
  enlist(Event::message, observer, &Some::on_message, &Observer::on_message);
  enlist(Event::notification, observer, &Some::on_notification, &Observer::on_notification);
  enlist(Event::rejected, observer, &Some::on_rejected, &Observer::on_rejected);
  enlist(Event::dropped, observer, &Some::on_dropped, &Observer::on_dropped);
  enlist(Event::child_state, observer, &Some::on_child_state, &Observer::on_child_state);
  enlist(Event::child_started, observer, &Some::on_child_started, &Observer::on_child_started);
  enlist(Event::child_ready, observer, &Some::on_child_ready, &Observer::on_child_ready);
  enlist(Event::child_exited, observer, &Some::on_child_exited, &Observer::on_child_exited);
  enlist(Event::child_replaced, observer, &Some::on_child_replaced, &Observer::on_child_replaced);
  enlist(Event::replacement_waits, observer, &Some::on_replacement_waits,
         &Observer::on_replacement_waits);
  enlist(Event::breaker, observer, &Some::on_breaker, &Observer::on_breaker);
  enlist(Event::session_places, observer, &Some::on_session_places, &Observer::on_session_places);
  enlist(Event::session_opened, observer, &Some::on_session_opened, &Observer::on_session_opened);
  enlist(Event::session_state, observer, &Some::on_session_state, &Observer::on_session_state);
  enlist(Event::session_parked, observer, &Some::on_session_parked, &Observer::on_session_parked);
  enlist(Event::question_asked, observer, &Some::on_question_asked, &Observer::on_question_asked);
  enlist(Event::question_ended, observer, &Some::on_question_ended, &Observer::on_question_ended);
  enlist(Event::call_parked, observer, &Some::on_call_parked, &Observer::on_call_parked);
  enlist(Event::parked_call_ended, observer, &Some::on_parked_call_ended,
         &Observer::on_parked_call_ended);
  enlist(Event::call_returned, observer, &Some::on_return, &Observer::on_return);
  enlist(Event::cache_hit, observer, &Some::on_cache_hit, &Observer::on_cache_hit);
  enlist(Event::remembered, observer, &Some::on_remembered, &Observer::on_remembered);
  enlist(Event::check_failed, observer, &Some::on_check_failed, &Observer::on_check_failed);
  enlist(Event::pins, observer, &Some::on_pins, &Observer::on_pins);
  enlist(Event::session_revived, observer, &Some::on_session_revived,
         &Observer::on_session_revived);
  enlist(Event::session_closed, observer, &Some::on_session_closed, &Observer::on_session_closed);
  enlist(Event::connection_opened, observer, &Some::on_connection_opened,
         &Observer::on_connection_opened);
  enlist(Event::connection_closed, observer, &Some::on_connection_closed,
         &Observer::on_connection_closed);
  enlist(Event::bytes, observer, &Some::on_bytes, &Observer::on_bytes);
  enlist(Event::refused, observer, &Some::on_refused, &Observer::on_refused);
  enlist(Event::handshake_failed, observer, &Some::on_handshake_failed,
         &Observer::on_handshake_failed);
  enlist(Event::keys_fetched, observer, &Some::on_keys_fetched, &Observer::on_keys_fetched);
}

// BackendNames: the names of backends by their ids, for observers that write them.
class BackendNames {
 public:
  void add(BackendId backend, std::string_view name) {
    if (names_.size() <= backend) names_.resize(backend + size_t{1});
    names_[backend] = name;
  }
  // Empty for an id that was never added.
  [[nodiscard]] std::string_view of(BackendId backend) const {
    return backend < names_.size() ? std::string_view(names_[backend]) : std::string_view();
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace stdgate
