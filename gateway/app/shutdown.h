// Shutdown: the steps from "please stop" to a stopped loop, in order and each with its time.
//
//   1. last calls  listeners are closed. Requests that come on open connections within kLastCalls
//                  are served, as they may have been sent before; the connection is closed with
//                  the answer. The rest of a request that has begun by then is waited for up to
//                  kReadCalls.
//   2. drain       no new calls, idle connections closed; calls under way are finished, up to
//                  timeouts.drain from the request on. The remaining calls get a fault.
//   3. end         children are asked to go: end of input, SIGTERM, SIGKILL, each after `grace`.
//   4. stop        connections are closed, the loop is stopped.
// A second request skips to the end: children are killed, connections closed. After the end, a
// request only reaches the owner, which may still have work to finish. A repeated signal within
// kSameRequest is no second request: timeout(1), and some supervisors, signal the process and then
// its group. Owner: the worker. Polls every kPoll whether a step is done: finer polling would gain
// nothing.
#pragma once

#include <functional>

#include "gateway/backend/upstream.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"

namespace stdgate::app {

// The servers, as Shutdown needs them. The core does not know them.
struct ClientSide {
  std::function<void()> stop_accepting;  // stop listening, close with the next answer
  std::function<bool()> has_requests;    // some have come, but not reached the core
  std::function<void()> drain;           // close what is idle
  std::function<void()> close_all;       // close every connection now
  std::function<bool()> is_idle;         // there is no connection left
};

class Shutdown {
 public:
  static constexpr Duration kPoll = std::chrono::milliseconds(5);
  static constexpr Duration kSameRequest = std::chrono::milliseconds(500);
  // Longer than the way between a load balancer and the gateway. A connection that carries a
  // request in this time ends with its answer. So only connections that were idle for this long end
  // in silence.
  static constexpr Duration kLastCalls = std::chrono::milliseconds(250);
  // True from the first request on. A busy gateway may not have read earlier requests by
  // kLastCalls; a client that sends slowly does not delay the end.
  static constexpr Duration kReadCalls = std::chrono::seconds(2);

  // `drain_timeout` may change. `stopped` is called at the end, and again if a later request asks
  // not to wait for the rest.
  Shutdown(const Clock& clock, TimerQueue& timers, Log& log, backend::Upstreams& backends,
           ClientSide clients, const Duration& drain_timeout, std::function<void()> stopped);

  // A request by this signal. The first one begins the shutdown; another one ends it at once.
  void request(int signal);

  // How long the shutdown may take from the first request on.
  [[nodiscard]] Duration patience() const;
  [[nodiscard]] bool requested() const { return step_ != Step::running; }
  [[nodiscard]] bool was_hurried() const { return hurried_; }
  // Whether calls were cut off because timeouts.drain had passed.
  [[nodiscard]] bool cut_calls_off() const { return cut_off_; }

 private:
  enum class Step : uint8_t { running, last_calls, draining, ending, stopped };

  void advance();
  [[nodiscard]] bool are_last_calls_in() const;
  void drain();
  void end_children();
  [[nodiscard]] Duration time_of_children() const;
  void stop();

  const Clock& clock_;
  Log& log_;
  backend::Upstreams& backends_;
  const ClientSide clients_;
  const Duration& drain_timeout_;
  const std::function<void()> stopped_;
  Timer poll_;
  Step step_ = Step::running;
  TimePoint deadline_{};  // of the last calls and the drain together, then of each step
  int first_signal_ = 0;
  TimePoint first_at_{};
  bool hurried_ = false;
  bool cut_off_ = false;
};

}  // namespace stdgate::app
