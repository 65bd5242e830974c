// Worker: one event loop and what runs on it; its log.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/app/generation.h"
#include "gateway/app/listeners.h"
#include "gateway/app/overload_watch.h"
#include "gateway/app/sealed_texts.h"
#include "gateway/app/shutdown.h"
#include "gateway/app/state_files.h"
#include "gateway/app/state_report.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/config/config_changes.h"
#include "gateway/session/sinks.h"
#include "metrics/audit/audit_file.h"
#include "metrics/audit/audit_log.h"
#include "metrics/logs/access_log.h"
#include "metrics/logs/log_writer.h"
#include "metrics/observers.h"
#include "metrics/prometheus/exposition.h"
#include "metrics/prometheus/metrics_store.h"
#include "metrics/traces/trace_exporter.h"
#include "transports/fetch/curl_fetcher.h"
#include "transports/http/server.h"
#include "transports/net/loop.h"
#include "transports/stdio/child_process.h"

namespace stdgate::app {

// TurnLog: the log of one loop. Warnings and errors are written at the end of the turn, other lines
// within kDelay, so that a line for each call does not cost a system call for each.
//
// Owner: the worker. `writer` outlives it.
class TurnLog final : public ConfirmingLog, public logs::LineSink, private net::Flushable {
 public:
  TurnLog(net::Loop& loop, logs::LogWriter& writer);
  ~TurnLog() override;
  TurnLog(const TurnLog&) = delete;
  TurnLog& operator=(const TurnLog&) = delete;

  [[nodiscard]] bool enabled(LogLevel level) const override { return writer_.enabled(level); }
  void write(LogLevel level, std::string_view event,
             std::initializer_list<LogField> fields) override;
  void confirm(LogLevel level, std::string_view event,
               std::initializer_list<LogField> fields) override;
  [[nodiscard]] config::LogFormat format() const override { return writer_.format(); }
  void write_rendered(LogLevel level, std::string_view event, std::string_view fields) override;

 private:
  static constexpr Duration kDelay = std::chrono::milliseconds(20);
  static constexpr size_t kEnough = 32 << 10;  // bytes that are written without waiting
  static constexpr Duration kRetry = std::chrono::milliseconds(50);

  void schedule(LogLevel level);
  void flush() override;

  net::Loop& loop_;
  logs::LogWriter& writer_;
  Timer timer_;
};

// Lent by the process to all its workers; outlives them.
struct WorkerServices {
  const std::map<std::string, std::string>& environment;
  const GatewayIdentity& identity;
  const std::string& guard_binary;
  unsigned number = 0;                     // of the worker, from 0; session ids name it
  stdio::OrphanReaper& orphans;            // thread-safe; the one of the process
  audit::AuditFile* audit_file = nullptr;  // of one worker only; null: no audit
};

// Counts only refusals of the admin pages: connections and bytes are counted for clients only.
class AdminObserver final : public Observer {
 public:
  explicit AdminObserver(Observer& observer) : observer_(observer) {}
  void on_refused(Refusal refusal) override { observer_.on_refused(refusal); }

 private:
  Observer& observer_;
};

// Worker: one event loop and everything that runs on it: its log, its counters, its children, a
// generation of backends and routes, the server of its clients.
//
// Owner: the process. One thread: everything is called on it, including construction, run() and the
// end, because guards of children end with the thread that started them. Several workers of one
// process, each in its own thread, share what WorkerServices lend them, and otherwise only what
// their configurations name.
class Worker {
 public:
  // `stopped` is called once, on the loop, when a shutdown has ended and the loop stops.
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
  // How long a shutdown may take from the first request on.
  [[nodiscard]] Duration patience() const {
    return shutdown_.patience() + (traces_ == nullptr ? Duration{0} : kTimeOfLastSpans);
  }
  // Takes over another configuration while it serves, except for its listeners. Ends the streams
  // and connections of clients whose credentials are no longer accepted.
  void take_over(const config::Config& wanted);
  // Log rotation. False: there is no audit.
  bool reopen_audit();
  // Null: none.
  [[nodiscard]] audit::AuditLog* audit() { return audit_.get(); }
  [[nodiscard]] const audit::AuditLog* audit() const { return audit_.get(); }

  [[nodiscard]] net::Loop& loop() { return loop_; }
  [[nodiscard]] http::Server& clients() { return clients_; }
  [[nodiscard]] TurnLog& log() { return log_; }
  [[nodiscard]] Generation& generation() { return generation_; }
  // Counts its own server and the admin pages' one.
  [[nodiscard]] TlsListeners& tls() { return tls_; }
  // See clients.h.
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

  // Null: none.
  std::unique_ptr<Traces> make_traces(const config::Config& config,
                                      const GatewayIdentity& identity);
  // Adds its own observers that the configuration asks for.
  Observers wanted_observers(const config::Config& config);
  // The facts of a configuration that has been taken over.
  void note_limits();
  void note_log();
  void drain_clients();
  void check_invariants();
  void send_last_spans(std::function<void()> done);

  // Each member needs the ones before it, so they are destroyed in the reverse order.
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
  const std::unique_ptr<Traces> traces_;  // null: no traces
  Observers observers_;
  AdminObserver admin_observer_;
  stdio::ChildProcesses processes_;
  session::Callers callers_;
  policy::ClientRates session_starts_;
  policy::CallQuota calls_in_all_;
  const std::unique_ptr<audit::AuditLog> audit_;  // null: no audit
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
