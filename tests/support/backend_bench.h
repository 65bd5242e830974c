// BackendBench: a backend over fake children. The test controls its clients, its clock and its
// observer. Time stands still until advance().
#pragma once

#include <optional>
#include <string>

#include "gateway/backend/backend.h"
#include "tests/support/fake_child.h"
#include "tests/support/fake_client.h"
#include "tests/support/fake_seal.h"
#include "tests/support/fake_session.h"
#include "tests/support/manual_clock.h"
#include "tests/support/recording_log.h"
#include "tests/support/recording_observer.h"

namespace stdgate::test {

backend::BackendOptions plain_options();
// Options of a backend that gives each session a child of its own.
backend::BackendOptions session_options(uint32_t max_children);

class BackendBench {
 public:
  // The constructors start the backend.
  explicit BackendBench(backend::BackendOptions options);
  BackendBench(backend::BackendOptions options, std::unique_ptr<pool::Dialect> dialect);

  // Gives the backend a message of a client.
  backend::Admission send(FakeClient& client, std::string text, session::Tag tag = 0,
                          bool wants_events = false, const TraceContext* trace = nullptr);
  // Sends a request with this id and method "m".
  void call(FakeClient& client, const std::string& id = "1", session::Tag tag = 0);

  // Opens a session for the client. If the session is refused, the fault is returned.
  std::optional<rpc::FaultReport> open(FakeSession& session, const ClientAddress& from = {});
  backend::Admission send(FakeSession& session, std::string text, session::Tag tag = 0);
  void call(FakeSession& session, const std::string& id = "1", session::Tag tag = 0);
  void close(FakeSession& session) { backend.close_session(session.id, {}); }
  void leave(FakeClient& client) { backend.cancel_calls_of(client.caller()); }

  // Limits how often a client may start a session that has a child of its own.
  void limit_session_starts(double per_second, double burst) {
    session_starts.emplace(per_second, burst);
    services.session_starts = &*session_starts;
  }

  // Moves the clock forward. Timers fire at their times, in order.
  void advance(Duration duration);
  // Fires the timers that are due now.
  void settle() { advance(Duration{0}); }

  FakeChild& child(size_t index) { return launcher.child(index); }
  // Starts the child that was launched last.
  FakeChild& start_child();
  [[nodiscard]] pool::BackendStatus status() const { return backend.status(); }

  ManualClock clock;
  TimerQueue timers;
  RecordingLog log{LogLevel::debug};
  RecordingObserver observer;
  FakeLauncher launcher;
  Random random{7};
  StoragePool storages;
  policy::Accounts accounts{{.gateway = size_t{256} << 20, .client = size_t{64} << 20}};
  AccountRef account = accounts.of({});  // shared by all clients
  session::Callers callers{1000};
  std::optional<policy::ClientRates> session_starts;
  FakeSeal seal;
  pool::CoreServices services{clock,   timers,   log,     observer, launcher,
                              random,  storages, nullptr, nullptr,  nullptr,
                              nullptr, &seal,    nullptr, nullptr,  &accounts};
  backend::Backend backend;
};

}  // namespace stdgate::test
