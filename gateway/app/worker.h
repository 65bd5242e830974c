// Worker: one event loop and all that runs on it: its log, its counters, its children, a generation
// of backends and routes, the server of its clients.
//
// Owner: the process. One thread; everything is called on it, construction, run() and the end too,
// as guards of children end with the thread that started them. Several workers in one process, each
// in a thread of its own, share what WorkerServices lend them, and otherwise only what their
// configurations name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "gateway/app/generation.h"
#include "gateway/app/overload_watch.h"
#include "gateway/app/sealed_session_ids.h"
#include "gateway/app/sealed_states.h"
#include "gateway/app/shutdown.h"
#include "gateway/app/state_files.h"
#include "gateway/app/state_report.h"
#include "gateway/app/system_memory.h"
#include "gateway/app/tls_listeners.h"
#include "gateway/app/turn_log.h"
#include "gateway/config/config_changes.h"
#include "metrics/audit/audit_file.h"
#include "metrics/audit/audit_log.h"
#include "metrics/logs/access_log.h"
#include "metrics/logs/payload_log.h"
#include "metrics/observers.h"
#include "metrics/prometheus/exposition.h"
#include "metrics/prometheus/metrics_observer.h"
#include "metrics/traces/trace_exporter.h"
#include "metrics/traces/trace_observer.h"
#include "transports/fetch/curl_fetcher.h"
#include "transports/http/server.h"
#include "transports/net/system_wall_clock.h"
#include "transports/stdio/child_process.h"

namespace stdgate::app {

// What the process lends to each of its workers; outlives them.
struct WorkerServices {
  const std::map<std::string, std::string>& environment;
  const GatewayIdentity& identity;
  const std::string& guard_binary;
  unsigned number = 0;                     // of the worker, from 0; session ids name it
  stdio::OrphanReaper& orphans;            // thread-safe; the one of the process
  audit::AuditFile* audit_file = nullptr;  // of one worker; null: there is no audit
};

// Counts only refusals of the admin pages: connections and bytes are counted for clients only.
class AdminObserver final : public Observer {
 public:
  explicit AdminObserver(Observer& observer) : observer_(observer) {}
  void on_refused(Refusal refusal) override { observer_.on_refused(refusal); }

 private:
  Observer& observer_;
};

class Worker {
 public:
  // `stopped` is called once, on the loop, when a shutdown has come to its end and the loop stops.
  Worker(const config::Config& config, const WorkerServices& services,
         std::function<void()> stopped);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Starts the children of pool.min and pool.warm.
  void start() { generation_.backends().start(); }
  // Returns after a shutdown.
  void run();
  // See Shutdown::request().
  void shut_down(int signal) { shutdown_.request(signal); }
  // How long that may take from the first request on.
  [[nodiscard]] Duration patience() const {
    return shutdown_.patience() + (traces_ == nullptr ? Duration{0} : kTimeOfLastSpans);
  }
  // Takes over another configuration while it serves, but for its listeners. What lasts of clients
  // whose credentials are not good any more ends.
  void take_over(const config::Config& wanted);
  // Log rotation. False: there is no audit.
  bool reopen_audit();
  // Null: there is none.
  [[nodiscard]] audit::AuditLog* audit() { return audit_.get(); }
  [[nodiscard]] const audit::AuditLog* audit() const { return audit_.get(); }

  [[nodiscard]] net::Loop& loop() { return loop_; }
  [[nodiscard]] http::Server& clients() { return clients_; }
  [[nodiscard]] TurnLog& log() { return log_; }
  [[nodiscard]] Generation& generation() { return generation_; }
  // Of its own server and of that of the admin pages.
  [[nodiscard]] TlsListeners& tls() { return tls_; }
  // See client_places.h.
  [[nodiscard]] std::string why_no_client() const;
  [[nodiscard]] const Shutdown& shutdown() const { return shutdown_; }
  [[nodiscard]] const pool::Confinement& confinement() const { return processes_.confinement(); }
  [[nodiscard]] const metrics::MetricsStore& counts() const { return counts_.store(); }
  // For the server of the admin pages, which runs on this worker's loop.
  [[nodiscard]] http::HttpServices admin_services();

  [[nodiscard]] metrics::ScrapeReadings read_usage();
  // The JSON of /debug/state.
  [[nodiscard]] std::string state_json(std::vector<ListenerFacts> listeners,
                                       const ReloadFacts& reloads,
                                       const std::vector<Snippet>& snippets) const;

 private:
  // Of sessions, clients and credentials; none before the worker is complete.
  class OwnBallast final : public Ballast {
   public:
    explicit OwnBallast(Worker& worker) : worker_(worker) {}
    size_t drop_replay(const Account* client, const Enough& is_enough) override;
    size_t forget_sessions(const Account* client, const Enough& is_enough) override;
    void drop_caches() override;

   private:
    Worker& worker_;
  };

  struct Traces {
    Traces(const config::Config& config, const traces::SpanSource& source,
           const traces::ExportServices& services, Random& random)
        : exporter(config.traces, source, services), observer(random, exporter) {}

    traces::TraceExporter exporter;
    traces::TraceObserver observer;
  };

  // At shutdown the spans that wait are sent within this time.
  static constexpr Duration kTimeOfLastSpans = std::chrono::seconds(2);

  // Null: there are none.
  std::unique_ptr<Traces> make_traces(const config::Config& config,
                                      const GatewayIdentity& identity);
  // Those of its own observers that the configuration asks for.
  Observers wanted_observers(const config::Config& config);
  // Of a configuration that has been taken over.
  void note_limits();
  void note_log();
  void drain_clients();
  void check_invariants();
  void send_last_spans(std::function<void()> done);

  // In the order in which they need each other; destroyed the other way round.
  SystemMemory memory_;
  policy::Accounts accounts_;
  policy::Accounts admin_accounts_;  // of the admin pages, which go on when clients have used all
  net::Loop loop_;
  net::SystemWallClock wall_clock_;
  logs::LogWriter writer_;
  TurnLog log_;
  metrics::MetricsObserver counts_;
  logs::AccessLog calls_;
  logs::PayloadLog payloads_;
  Random random_;
  fetch::CurlFetcher fetcher_;
  const std::unique_ptr<Traces> traces_;  // null: there are none
  Observers observers_;
  AdminObserver admin_observer_;
  stdio::ChildProcesses processes_;
  session::Callers callers_;
  policy::ClientRates session_starts_;
  policy::CallQuota calls_in_all_;
  const std::unique_ptr<audit::AuditLog> audit_;  // null: there is none
  OwnBallast ballast_{*this};
  OverloadWatch overload_;
  SealedStates states_;
  const pool::CoreServices core_;
  SealedSessionIds session_ids_;
  const GatewayIdentity& identity_;
  StateFiles state_files_;
  mcp::ServerMemories memories_;
  const GenerationServices lent_;
  Generation generation_;
  std::string configuration_;  // in use, as YAML without its secrets
  TlsListeners tls_;
  http::Server clients_;
  Shutdown shutdown_;
  const TimePoint started_at_;
};

}  // namespace stdgate::app
