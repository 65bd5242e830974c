#include "gateway/program.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <random>
#include <utility>

#include "gateway/lsp/lsp_dialect.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/mcp/mcp_sessions.h"
#include "gateway/pool/backend_set.h"
#include "gateway/pool/jsonrpc_dialect.h"
#include "gateway/pool/launch_spec.h"
#include "gateway/session_id.h"
#include "gateway/shutdown.h"
#include "gateway/state_report.h"
#include "metrics/access_log.h"
#include "metrics/exposition.h"
#include "metrics/log_writer.h"
#include "metrics/metrics_observer.h"
#include "metrics/observers.h"
#include "metrics/payload_log.h"
#include "transports/http/admin_endpoint.h"
#include "transports/http/backend_paths.h"
#include "transports/http/mcp_endpoint.h"
#include "transports/http/rpc_endpoint.h"
#include "transports/http/server.h"
#include "transports/net/signals.h"
#include "transports/stdio/child_process.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate {

namespace {

constexpr size_t kSpareOrigins = 16;

// Each connection has at most one origin, and so has each MCP session.
size_t most_origins(const Config& config) {
  size_t count = config.limits.connections + kSpareOrigins;
  for (const BackendConfig& backend : config.backends) {
    if (backend.protocol == Protocol::mcp) count += backend.pool.sessions;
  }
  return count;
}

// The log of this loop: trouble is written at the end of the turn, the rest soon.
class TurnLog final : public Log, public LineSink, private Flushable {
 public:
  TurnLog(Loop& loop, LogWriter& writer)
      : loop_(loop), writer_(writer), timer_(loop.timers(), [this] { flush(); }) {}
  ~TurnLog() override { loop_.forget(*this); }

  [[nodiscard]] bool enabled(LogLevel level) const override { return writer_.enabled(level); }
  void write(LogLevel level, std::string_view event,
             std::initializer_list<LogField> fields) override {
    if (!writer_.enabled(level)) return;
    writer_.write(level, event, fields);
    schedule(level);
  }
  [[nodiscard]] LogFormat format() const override { return writer_.format(); }
  void write_rendered(LogLevel level, std::string_view event, std::string_view fields) override {
    writer_.write_rendered(level, event, fields);
    schedule(level);
  }

 private:
  // A line for each call must not cost a system call: lines that report no trouble wait for others.
  static constexpr Duration kDelay = std::chrono::milliseconds(20);
  static constexpr size_t kEnough = 32 << 10;
  static constexpr Duration kRetry = std::chrono::milliseconds(50);

  void schedule(LogLevel level) {
    if (level >= LogLevel::warn || writer_.unsent_bytes() >= kEnough) {
      loop_.flush_later(*this);
    } else if (!timer_.armed()) {
      timer_.arm(loop_.now() + kDelay);
    }
  }

  void flush() override {
    writer_.flush();
    if (writer_.unsent_bytes() > 0) timer_.arm(loop_.now() + kRetry);
  }

  Loop& loop_;
  LogWriter& writer_;
  Timer timer_;
};

// Ten thousand connections need as many descriptors; the usual soft limit is a tenth of that.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

class Program final : private AdminSource {
 public:
  Program(const Config& config, const std::map<std::string, std::string>& environment,
          const std::string& guard_binary)
      : config_(config),
        writer_(2, config.log.level, config.log.format, &loop_),
        log_(loop_, writer_),
        counts_(config.metrics),
        calls_(log_),
        payloads_(log_, config_.log),
        exposition_({&counts_.store()}, STDGATE_VERSION, [this] { return read_usage(); }),
        random_(std::random_device{}()),
        processes_(loop_, log_, guard_binary),
        origins_(most_origins(config)),
        core_{loop_, loop_.timers(), log_, observers_, processes_, random_, loop_.storages()},
        rules_{config.allowed_origins, config.allowed_hosts},
        clients_({loop_, log_, observers_, origins_, backends_, config_.limits, config_.timeouts},
                 client_routes_),
        admin_({loop_, log_, unobserved_, origins_, backends_, config_.limits, config_.timeouts},
               admin_routes_),
        signals_(loop_, [this](int signal) { on_signal(signal); }),
        shutdown_(loop_, loop_.timers(), log_, backends_,
                  {[this] { drain_clients(); }, [this] { clients_.close_all(); },
                   [this] { return clients_.connections() == 0; }},
                  config.timeouts.drain, [this] { stop(); }) {
    // Nobody could read them without the listener.
    if (!config.admin.empty()) observers_.add(counts_);
    if (config.log.calls && log_.enabled(AccessLog::kHighestLevel))
      observers_.add_for_calls(calls_);
    if (config.log.payloads && log_.enabled(PayloadLog::kLevel)) {
      observers_.add_for_messages(payloads_);
    }
    add_backends(environment);
    add_rpc_routes(client_routes_, backends_, rules_, config_.limits);
    add_websocket_routes(client_routes_, backends_, rules_);
    add_mcp();
    client_routes_.add_index("stdgate " STDGATE_VERSION);
    client_routes_.share_with(rules_);
    add_admin_routes(admin_routes_, *this);
    admin_routes_.add_index("stdgate " STDGATE_VERSION " admin");
  }

  int run() {
    started_at_ = loop_.now();
    // Before anybody can see that it runs, and stop it.
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) signals_.watch(signal);
    if (!listen()) return kCouldNotStart;
    backends_.start();
    loop_.run();
    writer_.flush_blocking();
    if (shutdown_.was_hurried()) return 128 + last_signal_;
    return shutdown_.cut_calls_off() ? kDrainTimedOut : kCleanExit;
  }

 private:
  void add_backends(const std::map<std::string, std::string>& environment) {
    const std::string own_path = std::filesystem::read_symlink(kOwnBinary);
    BackendId id = 0;
    for (const BackendConfig& backend : config_.backends) {
      BackendOptions options{backend, config_.limits,
                             make_launch_spec(backend, environment, own_path),
                             config_.metrics.methods};
      std::unique_ptr<Dialect> dialect;
      switch (backend.protocol) {
        case Protocol::jsonrpc:
          dialect = std::make_unique<JsonRpcDialect>(backend.cancel_method);
          break;
        case Protocol::lsp:
          dialect = std::make_unique<LspDialect>(std::to_string(getpid()));
          break;
        case Protocol::mcp:
          dialect = std::make_unique<McpDialect>(STDGATE_VERSION);
          break;
      }
      backends_.add(
          std::make_unique<Backend>(id++, std::move(options), std::move(dialect), origins_, core_));
    }
  }

  void add_mcp() {
    for_each_backend_path(backends_, [this](const std::string& prefix, Backend& backend) {
      if (backend.protocol() != Protocol::mcp) return;
      auto& sessions = mcp_sessions_[backend.id()];
      if (sessions == nullptr) {
        const McpSessionServices services{backend, origins_,       loop_.timers(),
                                          loop_,   config_.limits, config_.timeouts.keep_alive};
        sessions =
            std::make_unique<McpSessions>(services, backend.idle_timeout(), random_session_id);
      }
      add_mcp_routes(client_routes_, prefix, *sessions, rules_);
    });
  }

  void drain_clients() {
    for (const auto& [id, sessions] : mcp_sessions_) sessions->drain();
    clients_.drain([] {});
  }

  // Opens all listeners and says on stdout what is served, as URLs to be pasted.
  bool listen() {
    for (const std::string& text : config_.listen) {
      const auto address = open(clients_, text);
      if (!address) return false;
      std::printf("listening on %s\n", address->c_str());
      for (const auto& backend : backends_.all()) {
        const std::string prefix = backend->is_default() ? "" : "/" + backend->name();
        if (backend->protocol() == Protocol::mcp) {
          print_url(backend->name(), "MCP", *address, prefix + "/mcp");
        }
        const bool has_rpc = backend->protocol() != Protocol::lsp;
        if (has_rpc) print_url(backend->name(), "POST", *address, prefix + "/rpc");
        print_url(has_rpc ? "" : backend->name(), "GET", web_socket(*address), prefix + "/ws");
      }
    }
    if (!config_.admin.empty()) {
      const auto address = open(admin_, config_.admin);
      if (!address) return false;
      std::printf("admin on %s\n", address->c_str());
      for (const char* path : {"metrics", "healthz", "readyz", "debug/state"}) {
        print_url(path, "GET", *address, std::string("/") + path);
      }
    }
    std::fflush(stdout);
    return true;
  }

  static std::string web_socket(const std::string& address) {
    return address.starts_with("http") ? "ws" + address.substr(4) : address;
  }

  // Nothing can be pasted for a Unix socket but the path on it (curl --unix-socket).
  static void print_url(const std::string& name, const char* method, const std::string& address,
                        const std::string& path) {
    const bool is_url = address.find("://") != std::string::npos;
    std::printf("  %-12s %-4s %s%s\n", name.c_str(), method, is_url ? address.c_str() : "",
                path.c_str());
  }

  // The URL (or unix:PATH) that is served now.
  tl::expected<std::string, std::string> open(Server& server, const std::string& text) {
    const auto bound = Address::parse(text).and_then(
        [&server](const Address& address) { return server.listen(address); });
    if (!bound) {
      std::fprintf(stderr, "stdgate: cannot listen on %s\n", bound.error().c_str());
      return tl::unexpected(bound.error());
    }
    const bool is_tcp = bound->kind == Address::Kind::tcp;
    return (is_tcp ? "http://" : "") + bound->to_string();
  }

  void on_signal(int signal) {
    last_signal_ = signal;
    shutdown_.request();
  }

  void stop() {
    admin_.close_all();
    loop_.stop();
  }

  ScrapeReadings read_usage() {
    ScrapeReadings readings;
    for (const auto& backend : backends_.all()) {
      const ProcessUsage usage = processes_.usage(backend->name());
      readings.children.push_back({backend->name(), usage.cpu_seconds, usage.resident_bytes});
    }
    readings.loop_lag = loop_.lag();
    return readings;
  }

  // AdminSource
  std::string metrics_text() override { return exposition_.text(); }
  std::string state_json() override {
    return state_report(
        {STDGATE_VERSION, loop_.now() - started_at_, clients_.connections(), shutdown_.requested()},
        backends_);
  }
  Readiness readiness() override {
    Readiness readiness;
    readiness.ready = !shutdown_.requested();
    if (shutdown_.requested()) readiness.reason = "shutting down";
    for (const auto& backend : backends_.all()) {
      const BackendStatus status = backend->status();
      readiness.ready = readiness.ready && status.ready;
      readiness.backends.push_back({status.name, status.ready, status.reason});
    }
    return readiness;
  }

  // In the order in which they need each other; destroyed the other way round.
  const Config config_;
  Loop loop_;
  LogWriter writer_;
  TurnLog log_;
  MetricsObserver counts_;
  AccessLog calls_;
  PayloadLog payloads_;
  Observers observers_;
  Observer unobserved_;
  MetricsExposition exposition_;
  Random random_;
  ChildProcesses processes_;
  Origins origins_;
  CoreServices core_;
  BackendSet backends_;
  std::map<BackendId, std::unique_ptr<McpSessions>> mcp_sessions_;
  OriginRules rules_;
  Router client_routes_;
  Router admin_routes_;
  Server clients_;
  Server admin_;
  Signals signals_;
  Shutdown shutdown_;
  TimePoint started_at_{};
  int last_signal_ = 0;
};

}  // namespace

int serve(const Config& config, const std::map<std::string, std::string>& environment,
          const std::string& guard_binary) {
  raise_descriptor_limit();
  return Program(config, environment, guard_binary).run();
}

}  // namespace stdgate
