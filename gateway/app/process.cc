#include "gateway/app/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "gateway/app/client_snippets.h"
#include "gateway/app/config_findings.h"
#include "gateway/app/listeners.h"
#include "gateway/app/operator_page.h"
#include "gateway/app/reloads.h"
#include "gateway/app/worker.h"
#include "gateway/base/encodings.h"
#include "gateway/config/value_names.h"
#include "metrics/audit/audit_file.h"
#include "metrics/logs/log_writer.h"
#include "transports/http/admin_endpoint.h"
#include "transports/http/landing_page.h"
#include "transports/net/loop.h"
#include "transports/net/systemd.h"
#include "transports/stdio/guard_process.h"
#include "transports/stdio/orphan_reaper.h"

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
          const ServeOptions& options, stdio::GuardBinary guard_binary,
          std::optional<audit::AuditFile> audit_file, net::PassedSockets& sockets)
      : environment_(environment),
        read_again_(options.read_again),
        config_file_(options.config_file),
        files_(options.files),
        guard_binary_(std::move(guard_binary)),
        audit_file_(std::move(audit_file)),
        worker_(config,
                {environment_, identity_, guard_binary_.path(), 0, orphans_,
                 audit_file_ ? &*audit_file_ : nullptr},
                [this] { admin_.close_all(); }),
        strangers_(worker_.loop(), orphans_),
        errands_(worker_.loop()),
        exposition_({&worker_.counts()}, identity_.version, [this] { return read_usage(); }),
        admin_routes_(worker_.generation().policy()),
        admin_(worker_.admin_services(), admin_routes_),
        listeners_({worker_.loop(), worker_.loop().timers(), worker_.log(), worker_.clients(),
                    admin_, worker_.tls(), sockets}),
        service_manager_(worker_.loop(), environment_),
        reloads_(worker_.log()),
        watch_(worker_.loop(), worker_.loop().timers(), [this] { reload("watch"); }),
        signals_(worker_.loop(), [this](int signal) { on_signal(signal); }) {
    http::add_admin_routes(admin_routes_, *this);
    http::add_front_page(admin_routes_, "stdgate " STDGATE_VERSION " admin", operator_page());
  }

  int run() {
    // Signals are watched before the sockets listen, because a listening socket tells others that
    // the process runs.
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) signals_.watch(signal);
    if (const auto opened = listeners_.open(config()); !opened) {
      fail_to_listen(opened.error());
      return kCouldNotStart;
    }
    describe_to_clients();
    log_start();
    announce();
    log_confinement();
    for (const config::ConfigError& finding : exposed_files(config())) {
      worker_.log().write(LogLevel::warn, "secret is exposed",
                          {{"advice", std::string_view(finding.message)}});
    }
    log_unpinned();
    worker_.start();
    watch_files();
    tell_ready();
    worker_.run();
    if (worker_.shutdown().was_hurried()) return 128 + last_signal_;
    return worker_.shutdown().cut_calls_off() ? kDrainTimedOut : kCleanExit;
  }

 private:
  // Logs the version, its configuration and its addresses.
  void log_start() {
    const http::Listening bound = listeners_.bound();
    const auto urls_of = [](const std::vector<http::BoundAddress>& addresses) {
      std::string urls;
      for (const http::BoundAddress& one : addresses) {
        urls.append(urls.empty() ? "" : ",").append(http::url_of(one));
      }
      return urls;
    };
    const std::string clients = urls_of(bound.clients);
    const std::string admin = urls_of(bound.admin);
    const size_t backends = worker_.generation().backends().all().size();
    worker_.log().write(
        LogLevel::info, "started",
        {{"version", std::string_view(identity_.version)},
         {"pid", static_cast<int64_t>(getpid())},
         {"configuration",
          config_file_.empty() ? std::string_view("command line") : std::string_view(config_file_)},
         {"listen", std::string_view(clients)},
         {"admin", admin.empty() ? std::string_view("off") : std::string_view(admin)},
         {"backends", static_cast<uint64_t>(backends)}});
  }

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
    if (confinement.runs_as_root && std::ranges::any_of(config().backends, runs_as_gateway)) {
      worker_.log().write(
          LogLevel::warn, "running as root",
          {{"advice", "start stdgate as a user of its own, or set user: for every backend"}});
    }
  }
  void log_unpinned() {
    for (const config::ConfigError& finding : unpinned_backends(config())) {
      worker_.log().write(
          LogLevel::warn, "nothing is pinned",
          {{"key", std::string_view(finding.path)}, {"advice", std::string_view(finding.message)}});
    }
  }
  static bool runs_as_gateway(const config::BackendConfig& backend) { return backend.user.empty(); }

  [[nodiscard]] const config::Config& config() { return worker_.generation().config(); }

  void fail_to_listen(const std::string& problem) {
    const bool is_text = config().log.format == config::LogFormat::text;
    const std::string sentence = is_text ? "stdgate: cannot listen on " : "";
    logs::write_start_error(config().log.format, "cannot listen",
                            sentence + visible(problem, VisibleText::line) + '\n', environment_);
  }

  // The backends as clients are told of them: at the public URL, else at the first address that has
  // a URL. Empty without either.
  std::vector<ServedBackend> served_backends() {
    const std::vector<http::BoundAddress> clients = listeners_.bound().clients;
    const auto first = std::ranges::find_if(
        clients, [](const auto& bound) { return bound.address.kind == Address::Kind::tcp; });
    const std::string& public_url = config().auth.public_url;
    std::vector<ServedBackend> served;
    if (first == clients.end() && public_url.empty()) return served;
    const http::BoundAddress bound = first == clients.end() ? http::BoundAddress{} : *first;
    for (const auto& backend : worker_.generation().backends().all()) {
      served.push_back(
          {backend->name(), std::string(config::name_of(backend->protocol())),
           http::landing_urls(*backend, http::authority_of(bound), bound.is_secure, public_url),
           backend->is_default(), backend->members()});
    }
    return served;
  }
  void describe_to_clients() {
    const auto is_asked = [this](const config::ListenerConfig& listener) {
      return !config().is_anonymous(listener);
    };
    snippets_ = snippets_for(without_members(served_backends()),
                             std::ranges::any_of(config().listen, is_asked));
  }

  // Says what is served and where, when all listeners are open.
  void announce() {
    const backend::Upstreams& backends = worker_.generation().backends();
    if (config().log.format == config::LogFormat::json) {
      http::log_banner(worker_.log(), listeners_.bound(), backends);
    } else {
      std::fputs(http::banner_text(listeners_.bound(), backends).c_str(), stdout);
      std::fflush(stdout);
    }
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
    reload("signal");
  }

  // `cause`: see AuditedReload.
  void reload(std::string_view cause) {
    if (read_again_ == nullptr || worker_.shutdown().requested()) return;
    service_manager_.reloading();
    watch_.note_reading();
    const auto wanted = read_again_();
    const auto taken = wanted ? take_over(cause, *wanted)
                              : tl::expected<void, std::string>(tl::unexpected(wanted.error()));
    if (!taken) {
      reloads_.note_failure(visible(taken.error(), VisibleText::lines));
      if (worker_.audit() != nullptr) worker_.audit()->on_reloaded({cause});
    }
    watch_files();
    tell_ready();
  }

  // Within one turn: nothing is accepted and nothing served between its steps.
  tl::expected<void, std::string> take_over(std::string_view cause, const config::Config& wanted) {
    const config::ConfigChanges changes = config::changes_between(config(), wanted);
    if (!worker_.generation().can_name(changes.config)) {
      return tl::unexpected(std::string(
          "too many backends were added under new names since the start; restart stdgate"));
    }
    if (auto prepared = listeners_.prepare(changes.config); !prepared) {
      return tl::unexpected("cannot listen on " + prepared.error());
    }
    if (!changes.taken.empty()) worker_.take_over(changes.config);
    admin_.note_limits();
    listeners_.settle();
    describe_to_clients();
    reloads_.note(changes);
    log_unpinned();
    if (worker_.audit() != nullptr) {
      worker_.audit()->on_reloaded({cause, true, changes.taken, changes.restart});
    }
    return {};
  }

  void watch_files() {
    const bool is_wanted = config().watch && files_ != nullptr;
    watch_.follow(is_wanted ? *files_ : std::vector<std::string>());
  }

  metrics::ScrapeReadings read_usage() {
    metrics::ScrapeReadings readings = worker_.read_usage();
    const ReloadFacts& facts = reloads_.facts();
    readings.reloads = {facts.good, facts.failed, facts.last_was_good};
    return readings;
  }

  // AdminSource
  void scrape(http::ScrapeFormat format, std::function<void(const std::string&)> done) override {
    struct Errand {
      metrics::MetricsSnapshot snapshot;
      std::string text;
    };
    const auto errand = std::make_shared<Errand>(Errand{exposition_.take(), {}});
    const auto wanted = format == http::ScrapeFormat::open_metrics
                            ? metrics::MetricsFormat::open_metrics
                            : metrics::MetricsFormat::prometheus;
    errands_.start([=] { errand->text = metrics::metrics_text(errand->snapshot, wanted); },
                   [=, done = std::move(done)] { done(errand->text); });
  }
  std::string state_json() override {
    const http::Listening bound = listeners_.bound();
    std::vector<ListenerFacts> listeners;
    listeners.reserve(bound.clients.size() + bound.admin.size());
    for (const auto& one : bound.clients) listeners.push_back({http::url_of(one), false});
    for (const auto& one : bound.admin) listeners.push_back({http::url_of(one), true});
    return worker_.state_json(std::move(listeners), reloads_.facts(), snippets_);
  }
  http::Readiness readiness() override {
    std::vector<http::BackendReadiness> backends;
    for (const auto& backend : worker_.generation().backends().all()) {
      pool::BackendStatus status = backend->status();
      backends.push_back({backend->name(), status.ready, backend->is_required(),
                          pool::backend_state_name(status.state), std::move(status.reason)});
    }
    return http::judge_readiness(why_not_serving(), std::move(backends));
  }
  // The reason that keeps clients out of all backends; empty: none.
  [[nodiscard]] std::string why_not_serving() {
    if (worker_.shutdown().requested()) return "shutting down";
    const audit::AuditLog* const audit = worker_.audit();
    if (audit != nullptr && !audit->can_record()) return "the audit cannot be written";
    return worker_.why_no_client();
  }

  // Each member needs the ones before it, so they are destroyed in the reverse order.
  const std::map<std::string, std::string>& environment_;
  const ConfigSource read_again_;                // null: it is not read again
  const std::string config_file_;                // see ServeOptions
  const std::vector<std::string>* const files_;  // the same
  const StartTerminal terminal_;
  const stdio::GuardBinary guard_binary_;
  const GatewayIdentity identity_{STDGATE_VERSION, std::filesystem::read_symlink("/proc/self/exe")};
  stdio::OrphanReaper orphans_;
  std::optional<audit::AuditFile> audit_file_;  // nothing: there is no audit
  Worker worker_;
  stdio::StrangerWatch strangers_;
  net::Errands errands_;
  metrics::MetricsExposition exposition_;
  http::Router admin_routes_;
  http::Server admin_;
  Listeners listeners_;
  std::vector<Snippet> snippets_;  // complete when all listeners are open
  net::ServiceNotifier service_manager_;
  Reloads reloads_;
  ConfigWatch watch_;
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
  if (!config.state_dir.empty()) {
    const auto prepared = prepare_state_dir(config.state_dir);
    if (!prepared) return fail("cannot use state_dir: " + prepared.error());
  }
  std::optional<audit::AuditFile> audit_file;
  if (config.audit.is_used()) {
    auto opened = audit::AuditFile::open(config.audit.file);
    if (!opened) return fail("cannot open the audit: " + opened.error());
    audit_file = *std::move(opened);
  }
  raise_descriptor_limit();
  net::PassedSockets none;
  return Process(config, environment, options, std::move(*guard_binary), std::move(audit_file),
                 options.sockets == nullptr ? none : *options.sockets)
      .run();
}

}  // namespace stdgate::app
