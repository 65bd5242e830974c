#include "gateway/app/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "gateway/app/client_snippets.h"
#include "gateway/app/config_findings.h"
#include "gateway/app/operator_page.h"
#include "gateway/app/reloads.h"
#include "gateway/app/worker.h"
#include "gateway/base/visible_text.h"
#include "gateway/config/value_names.h"
#include "metrics/audit/audit_file.h"
#include "metrics/logs/start_error.h"
#include "transports/http/admin_endpoint.h"
#include "transports/http/banner.h"
#include "transports/http/landing_page.h"
#include "transports/net/service_notifier.h"
#include "transports/net/signals.h"
#include "transports/stdio/guard_binary.h"
#include "transports/stdio/orphan_reaper.h"
#include "transports/stdio/stranger_watch.h"

namespace stdgate::app {

namespace {

// Ten thousand connections need as many descriptors; the usual soft limit is a tenth of that.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// The terminal that the gateway was started from, if any. When it is closed, SIGHUP comes too.
class StartTerminal {
 public:
  [[nodiscard]] bool is_gone() const { return descriptor_ && ::isatty(*descriptor_) == 0; }

 private:
  static std::optional<int> find() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      if (::isatty(descriptor) == 1) return descriptor;
    }
    return std::nullopt;
  }

  const std::optional<int> descriptor_ = find();
};

class Process final : private http::AdminSource {
 public:
  Process(const config::Config& config, const std::map<std::string, std::string>& environment,
          ConfigSource read_again, stdio::GuardBinary guard_binary,
          std::optional<audit::AuditFile> audit_file, net::PassedSockets& sockets)
      : config_(config),
        environment_(environment),
        read_again_(std::move(read_again)),
        guard_binary_(std::move(guard_binary)),
        audit_file_(std::move(audit_file)),
        sockets_(sockets),
        worker_(config_,
                {environment_, identity_, guard_binary_.path(), 0, orphans_,
                 audit_file_ ? &*audit_file_ : nullptr},
                [this] { admin_.close_all(); }),
        strangers_(worker_.loop(), orphans_),
        exposition_({&worker_.counts()}, identity_.version, [this] { return read_usage(); }),
        admin_routes_(worker_.generation().policy()),
        admin_(worker_.admin_services(), admin_routes_),
        service_manager_(worker_.loop(), environment_),
        reloads_(worker_.log()),
        signals_(worker_.loop(), [this](int signal) { on_signal(signal); }) {
    http::add_admin_routes(admin_routes_, *this);
    http::add_front_page(admin_routes_, "stdgate " STDGATE_VERSION " admin", operator_page());
  }

  int run() {
    // Before the listening sockets show that it runs.
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) signals_.watch(signal);
    if (!listen()) return kCouldNotStart;
    snippets_ = snippets_for(served_backends(), asks_for_keys());
    announce();
    log_confinement();
    for (const config::ConfigError& finding : exposed_files(config_)) {
      worker_.log().write(LogLevel::warn, "secret is exposed",
                          {{"advice", std::string_view(finding.message)}});
    }
    worker_.start();
    tell_ready();
    worker_.run();
    if (worker_.shutdown().was_hurried()) return 128 + last_signal_;
    return worker_.shutdown().cut_calls_off() ? kDrainTimedOut : kCleanExit;
  }

 private:
  void log_confinement() {
    const pool::Confinement& confinement = worker_.confinement();
    std::string capabilities;
    for (const std::string_view name : confinement.capabilities) {
      capabilities.append(capabilities.empty() ? "" : ",").append(name);
    }
    worker_.log().write(confinement.children_apart ? LogLevel::info : LogLevel::warn, "confinement",
                        {{"landlock_abi", static_cast<uint64_t>(confinement.landlock_abi)},
                         {"children_apart", confinement.children_apart},
                         {"signals_scoped", confinement.signals_scoped},
                         {"abstract_sockets_scoped", confinement.abstract_sockets_scoped},
                         {"gateway_dumpable", confinement.gateway_dumpable},
                         {"children_keep_capabilities", capabilities}});
    if (confinement.runs_as_root && std::ranges::any_of(config_.backends, runs_as_gateway)) {
      worker_.log().write(
          LogLevel::warn, "running as root",
          {{"advice", "start stdgate as a user of its own, or set user: for every backend"}});
    }
  }
  static bool runs_as_gateway(const config::BackendConfig& backend) { return backend.user.empty(); }

  bool listen() {
    for (const config::ListenerConfig& listener : config_.listen) {
      if (!open(listener.address, config_.tls_of(listener), listening_.clients,
                [&](const Address& wanted, net::StreamLayer* layer) {
                  return worker_.listen(wanted, {layer, config_.is_anonymous(listener)},
                                        sockets_.find(wanted));
                })) {
        return false;
      }
    }
    const config::ListenerConfig& admin = config_.admin;
    const auto listen_for_admin = [this](const Address& wanted, net::StreamLayer* layer) {
      return admin_.listen(wanted, {layer}, sockets_.find(wanted));
    };
    if (!admin.address.empty() && !open(admin.address, admin.tls.is_used() ? &admin.tls : nullptr,
                                        listening_.admin, listen_for_admin)) {
      return false;
    }
    const std::string unused = sockets_.unused();
    if (unused.empty()) return true;
    fail_to_listen(unused + ": passed on as a socket, but neither in listen nor admin");
    return false;
  }

  void fail_to_listen(const std::string& problem) {
    const bool is_text = config_.log.format == config::LogFormat::text;
    const std::string sentence = is_text ? "stdgate: cannot listen on " : "";
    logs::write_start_error(config_.log.format, "cannot listen",
                            sentence + visible(problem, VisibleText::line) + '\n', environment_);
  }

  // What clients are told of the backends, which they reach at the public URL, else at the first
  // address that has one. None where there is neither.
  std::vector<ServedBackend> served_backends() {
    const auto first = std::ranges::find_if(listening_.clients, [](const auto& bound) {
      return bound.address.kind == Address::Kind::tcp;
    });
    const std::string& public_url = config_.auth.public_url;
    std::vector<ServedBackend> served;
    if (first == listening_.clients.end() && public_url.empty()) return served;
    const http::BoundAddress bound =
        first == listening_.clients.end() ? http::BoundAddress{} : *first;
    for (const auto& backend : worker_.generation().backends().all()) {
      served.push_back(
          {backend->name(), std::string(config::name_of(backend->protocol())),
           http::landing_urls(*backend, http::authority_of(bound), bound.is_secure, public_url)});
    }
    return served;
  }
  bool asks_for_keys() const {
    return std::ranges::any_of(config_.listen, [this](const config::ListenerConfig& listener) {
      return !config_.is_anonymous(listener);
    });
  }

  // Says what is served and where, when all listeners are open.
  void announce() {
    const backend::Upstreams& backends = worker_.generation().backends();
    if (config_.log.format == config::LogFormat::json) {
      http::log_banner(worker_.log(), listening_, backends);
    } else {
      std::fputs(http::banner_text(listening_, backends).c_str(), stdout);
      std::fflush(stdout);
    }
  }

  // `tls`: null: plain.
  template <class Listen>
  bool open(const std::string& text, const config::TlsConfig* tls,
            std::vector<http::BoundAddress>& bound, Listen&& listen) {
    tl::expected<net::StreamLayer*, std::string> layer = nullptr;
    if (tls != nullptr) layer = worker_.tls().open(text, *tls);
    auto address = layer.and_then([&](net::StreamLayer* opened) {
      return Address::parse(text).and_then(
          [&](const Address& wanted) { return listen(wanted, opened); });
    });
    if (address) {
      bound.push_back({std::move(*address), tls != nullptr});
      return true;
    }
    fail_to_listen(address.error());
    return false;
  }

  void tell_ready() {
    const size_t backends = worker_.generation().backends().all().size();
    service_manager_.ready("serving " + std::to_string(backends) +
                           (backends == 1 ? " backend" : " backends"));
  }

  void on_signal(int signal) {
    if (signal == SIGHUP && !terminal_.is_gone()) return on_hangup();
    last_signal_ = signal;
    worker_.shut_down(signal);
    service_manager_.stopping("finishing calls under way", worker_.patience());
  }

  void on_hangup() {
    worker_.reopen_audit();  // after a log rotation
    if (read_again_ == nullptr || worker_.shutdown().requested()) return;
    service_manager_.reloading();
    const auto wanted = read_again_();
    if (wanted) {
      reloads_.note(worker_.take_over(*wanted));
    } else {
      reloads_.note_failure(visible(wanted.error(), VisibleText::line));
    }
    tell_ready();
  }

  metrics::ScrapeReadings read_usage() {
    metrics::ScrapeReadings readings = worker_.read_usage();
    const ReloadFacts& facts = reloads_.facts();
    readings.reloads = {facts.good, facts.failed, facts.last_was_good};
    return readings;
  }

  // AdminSource
  std::string metrics_text() override { return exposition_.text(); }
  std::string state_json() override {
    std::vector<ListenerFacts> listeners;
    listeners.reserve(listening_.clients.size() + listening_.admin.size());
    for (const auto& bound : listening_.clients) listeners.push_back({http::url_of(bound), false});
    for (const auto& bound : listening_.admin) listeners.push_back({http::url_of(bound), true});
    return worker_.state_json(std::move(listeners), reloads_.facts(), snippets_);
  }
  http::Readiness readiness() override {
    http::Readiness readiness;
    readiness.ready = !worker_.shutdown().requested();
    if (!readiness.ready) {
      readiness.reason = "shutting down";
    } else if (worker_.audit() != nullptr && !worker_.audit()->can_record()) {
      readiness.ready = false;
      readiness.reason = "the audit cannot be written";
    }
    for (const auto& backend : worker_.generation().backends().all()) {
      const pool::BackendStatus status = backend->status();
      readiness.ready = readiness.ready && status.ready;
      readiness.backends.push_back({status.name, status.ready, status.reason});
    }
    return readiness;
  }

  // In the order in which they need each other; destroyed the other way round.
  const config::Config& config_;
  const std::map<std::string, std::string>& environment_;
  const ConfigSource read_again_;  // null: it is not read again
  const StartTerminal terminal_;
  const stdio::GuardBinary guard_binary_;
  const GatewayIdentity identity_{STDGATE_VERSION, std::filesystem::read_symlink("/proc/self/exe")};
  stdio::OrphanReaper orphans_;
  std::optional<audit::AuditFile> audit_file_;  // nothing: there is no audit
  net::PassedSockets& sockets_;
  Worker worker_;
  stdio::StrangerWatch strangers_;
  metrics::MetricsExposition exposition_;
  http::Router admin_routes_;
  http::Server admin_;
  http::Listening listening_;
  std::vector<Snippet> snippets_;  // complete when all listeners are open
  net::ServiceNotifier service_manager_;
  Reloads reloads_;
  net::Signals signals_;
  int last_signal_ = 0;
};

}  // namespace

int serve(const config::Config& config, const std::map<std::string, std::string>& environment,
          const ServeOptions& options) {
  const auto fail = [&](const std::string& problem) {
    const std::string sentence = config.log.format == config::LogFormat::text ? "stdgate: " : "";
    logs::write_start_error(config.log.format, "cannot start",
                            sentence + visible(problem, VisibleText::line) + '\n', environment);
    return kCouldNotStart;
  };
  auto guard_binary = stdio::GuardBinary::open(options.guard_path);
  if (!guard_binary) return fail(guard_binary.error());
  std::optional<audit::AuditFile> audit_file;
  if (config.audit.is_used()) {
    auto opened = audit::AuditFile::open(config.audit.file);
    if (!opened) return fail("cannot open the audit: " + opened.error());
    audit_file = *std::move(opened);
  }
  raise_descriptor_limit();
  net::PassedSockets none;
  return Process(config, environment, options.read_again, std::move(*guard_binary),
                 std::move(audit_file), options.sockets == nullptr ? none : *options.sockets)
      .run();
}

}  // namespace stdgate::app
