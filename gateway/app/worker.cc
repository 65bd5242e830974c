#include "gateway/app/worker.h"

#include <unistd.h>

#include <utility>

#include "gateway/app/clients.h"
#include "gateway/app/secret_bytes.h"
#include "gateway/app/state_report.h"
#include "gateway/base/check.h"
#include "gateway/config/config_parser.h"
#include "gateway/config/secret.h"
#include "gateway/config/value_names.h"
#include "metrics/logs/log_line.h"

namespace stdgate::app {

TurnLog::TurnLog(net::Loop& loop, logs::LogWriter& writer)
    : loop_(loop), writer_(writer), timer_(loop.timers(), [this] { flush(); }) {}

TurnLog::~TurnLog() { loop_.forget(*this); }

void TurnLog::write(LogLevel level, std::string_view event,
                    std::initializer_list<LogField> fields) {
  if (!writer_.enabled(level)) return;
  writer_.write(level, event, fields);
  schedule(level);
}

void TurnLog::confirm(LogLevel level, std::string_view event,
                      std::initializer_list<LogField> fields) {
  writer_.confirm(level, event, fields);
  schedule(level);
}

void TurnLog::write_rendered(LogLevel level, std::string_view event, std::string_view fields) {
  writer_.write_rendered(level, event, fields);
  schedule(level);
}

void TurnLog::schedule(LogLevel level) {
  if (level >= LogLevel::warn || writer_.unsent_bytes() >= kEnough) {
    loop_.flush_later(*this);
  } else if (!timer_.armed()) {
    timer_.arm(loop_.now() + kDelay);
  }
}

void TurnLog::flush() {
  writer_.flush();
  if (writer_.unsent_bytes() > 0) timer_.arm(loop_.now() + kRetry);
}

namespace {

// Children may not see each other's environment, and any of them may read /debug/state: so no value
// of it is shown, whether it looks like a secret or not.
std::string shown_configuration(config::Config config) {
  for (config::BackendConfig& backend : config.backends) {
    for (auto& [name, value] : backend.env) value = config::kHidden;
  }
  return config::print_config(config);
}

}  // namespace

Worker::Worker(const config::Config& config, const WorkerServices& services,
               std::function<void()> stopped)
    : accounts_(policy::account_bounds(config.limits, memory_limit(config.limits, memory_))),
      admin_accounts_(accounts_.bounds()),
      wall_clock_(loop_),
      writer_(STDERR_FILENO, config.log.level, config.log.format, &loop_,
              logs::look_of(STDERR_FILENO, services.environment)),
      log_(loop_, writer_),
      counts_(config.metrics),
      calls_(log_),
      payloads_(log_, config.log),
      random_(std::random_device{}()),
      fetcher_(loop_),
      traces_(make_traces(config, services.identity)),
      observers_(wanted_observers(config)),
      admin_observer_(observers_),
      processes_(loop_, log_, services.orphans, services.guard_binary),
      callers_(client_places(config)),
      session_starts_(static_cast<double>(config.limits.session_starts),
                      static_cast<double>(config.limits.session_burst)),
      calls_in_all_(config.calls),
      audit_(services.audit_file == nullptr
                 ? nullptr
                 : std::make_unique<audit::AuditLog>(
                       config.audit, config.log.redact, *services.audit_file,
                       audit::AuditServices{loop_, wall_clock_, loop_.timers(), log_})),
      overload_(config.limits, {loop_, loop_.timers(), log_, loop_.storages(), accounts_, ballast_},
                memory_),
      states_(session_keys(config.sessions, fill_random), fill_random, config.replica,
              services.number),
      core_{loop_,
            loop_.timers(),
            log_,
            observers_,
            processes_,
            random_,
            loop_.storages(),
            &session_starts_,
            &wall_clock_,
            audit_.get(),
            &overload_.stages(),
            &states_,
            traces_ == nullptr ? nullptr : &traces_->exporter.config(),
            &calls_in_all_,
            &accounts_},
      session_ids_(session_keys(config.sessions, fill_random), fill_random, config.replica,
                   services.number, config.sessions.ttl, {loop_, wall_clock_}),
      identity_(services.identity),
      state_files_(config.state_dir, loop_, log_),
      memories_({loop_, loop_.timers(), &state_files_, accounts_.servers()}),
      lent_{{core_, callers_, identity_, services.environment, memories_},
            session_ids_,
            fetcher_,
            fill_random},
      generation_(config, lent_),
      configuration_(shown_configuration(config)),
      tls_(loop_, log_, observers_, wall_clock_, generation_.config(), audit_.get()),
      clients_({loop_, log_, observers_, callers_, generation_.backends(),
                generation_.config().limits, generation_.config().timeouts, accounts_, audit_.get(),
                &overload_.stages(), &generation_.config().trusted_proxies, &overload_},
               generation_.routes()),
      shutdown_(loop_, loop_.timers(), log_, generation_.backends(),
                {[this] { clients_.stop_accepting(); }, [this] { return clients_.has_requests(); },
                 [this] { drain_clients(); }, [this] { clients_.close_all(); },
                 [this] { return clients_.connections() == 0; }},
                generation_.config().timeouts.drain,
                [this, stopped = std::move(stopped)] {
                  send_last_spans([this, &stopped] {
                    stopped();
                    loop_.stop();
                  });
                }),
      started_at_(loop_.now()) {
  loop_.watch_turns([this] { generation_.end_turn(); });
  loop_.check_each_turn([this] { check_invariants(); });
}

// Without a connection and a session no client is left, so no call and no memory may be kept for
// one.
void Worker::check_invariants() {
  generation_.check_invariants();
  accounts_.check_invariants();
  if (clients_.connections() > 0 || generation_.has_sessions()) return;
  const backend::Upstreams& backends = generation_.backends();
  STDGATE_CHECK(callers_.size() == backends.own_callers());
  const bool keeps_something = backends.calls() > 0 || backends.kept_messages() > 0;
  STDGATE_CHECK(keeps_something || accounts_.held_for_clients() == 0);
}

std::string Worker::why_no_client() const { return app::why_no_client(callers_); }

size_t Worker::OwnBallast::drop_replay(const Account* client, const Enough& is_enough) {
  return worker_.generation_.drop_replay(client, is_enough);
}

size_t Worker::OwnBallast::forget_sessions(const Account* client, const Enough& is_enough) {
  return worker_.generation_.forget_sessions(client, is_enough);
}

void Worker::OwnBallast::drop_caches() {
  worker_.generation_.drop_caches();
  worker_.memories_.drop_unused();
}

Observers Worker::wanted_observers(const config::Config& config) {
  Observers wanted;
  // The counts can only be read through the admin listener.
  if (!config.admin.address.empty()) wanted.add(counts_);
  if (config.log.calls && log_.enabled(logs::AccessLog::kHighestLevel)) wanted.add(calls_);
  if (config.log.payloads && log_.enabled(logs::PayloadLog::kLevel)) wanted.add(payloads_);
  if (traces_ != nullptr) wanted.add(traces_->observer);
  return wanted;
}

std::unique_ptr<Worker::Traces> Worker::make_traces(const config::Config& config,
                                                    const GatewayIdentity& identity) {
  if (!config.traces.is_used()) return nullptr;
  const std::string instance =
      config.replica.empty() ? std::string(SpanIdText(random_()).view()) : config.replica;
  const traces::SpanSource source{config.traces.service_name, identity.version, instance};
  const traces::ExportServices services{loop_, loop_.timers(), log_, fetcher_};
  return std::make_unique<Traces>(config, source, services, random_);
}

// A second signal ends it at once.
void Worker::send_last_spans(std::function<void()> done) {
  if (traces_ == nullptr) return done();
  traces_->exporter.finish(shutdown_.was_hurried() ? Duration{0} : kTimeOfLastSpans,
                           std::move(done));
}

void Worker::run() {
  loop_.run();
  if (audit_ != nullptr) audit_->close();
  writer_.flush_blocking();
}

void Worker::drain_clients() {
  generation_.drain_sessions();
  clients_.drain([] {});
}

http::HttpServices Worker::admin_services() {
  return {loop_,
          log_,
          admin_observer_,
          callers_,
          generation_.backends(),
          generation_.config().limits,
          generation_.config().timeouts,
          admin_accounts_,
          audit_.get()};
}

void Worker::take_over(const config::Config& wanted) {
  const config::AuthConfig before = generation_.config().auth;
  // Clients of what is retired stay for a while.
  callers_.raise_capacity(client_places(generation_.config()) + client_places(wanted));
  generation_.take_over(wanted, lent_);
  note_limits();
  note_log();
  configuration_ = shown_configuration(generation_.config());
  clients_.end_credentials([&](const policy::Principal& principal) {
    return is_still_known(principal, before, generation_.config().auth);
  });
}

void Worker::note_limits() {
  const config::LimitsConfig& limits = generation_.config().limits;
  overload_.set_limits(limits);
  accounts_.set_bounds(policy::account_bounds(limits, overload_.memory_limit()));
  admin_accounts_.set_bounds(accounts_.bounds());
  session_starts_.set_rate(static_cast<double>(limits.session_starts),
                           static_cast<double>(limits.session_burst));
  tls_.set_limits(limits);
  clients_.note_limits();
}

void Worker::note_log() {
  const config::LogConfig& log = generation_.config().log;
  writer_.set_level(log.level);
  payloads_.set_config(log);
  if (audit_ != nullptr) audit_->set_redact(log.redact);
  // They may have missed some names.
  generation_.introduce_backends(calls_);
  generation_.introduce_backends(payloads_);
  observers_ = wanted_observers(generation_.config());
}

bool Worker::reopen_audit() {
  if (audit_ == nullptr) return false;
  audit_->reopen();
  return true;
}

metrics::ScrapeReadings Worker::read_usage() {
  clients_.report_written();  // else what long-lived streams have sent would be counted late
  metrics::ScrapeReadings readings;
  for (const auto& backend : generation_.backends().all()) {
    const stdio::ProcessUsage usage = processes_.usage(backend->name());
    readings.children.push_back({backend->name(), usage.cpu_seconds, usage.resident_bytes,
                                 processes_.incomplete_starts(backend->name())});
  }
  for (const config::ServerConfig& server : generation_.config().servers) {
    const backend::Upstream* const upstream = generation_.backends().find(server.name);
    if (upstream == nullptr) continue;
    for (const pool::MemberStatus& member : upstream->status().members) {
      readings.members.push_back({server.name, member.backend, member.is_up, member.ended});
    }
  }
  for (const auto& layer : tls_.all()) {
    for (const tls::CertificateFacts& facts : layer->certificates()) {
      readings.certificates.push_back({layer->listener(), facts.file, facts.not_after});
    }
  }
  for (const auth::KeyFacts& keys : generation_.key_facts()) {
    if (keys.age) readings.issuers.push_back({std::string(keys.issuer), to_seconds(*keys.age)});
  }
  readings.loop_lag = loop_.lag();
  readings.memory_pressure = overload_.stages().pressure();
  readings.held.emplace_back(std::string(), accounts_.unrouted());
  for (const auto& backend : generation_.backends().all()) {
    readings.held.emplace_back(backend->name(), accounts_.held_at(backend->id()));
  }
  readings.held_limit = accounts_.bounds().gateway;
  if (audit_ != nullptr) {
    const audit::AuditCounts counts = audit_->counts();
    readings.audit = {counts.lines, counts.failures, counts.lost, counts.is_failing};
  }
  if (traces_ != nullptr) {
    const traces::SpanCounts& counts = traces_->exporter.counts();
    auto& spans = readings.spans.emplace();
    spans.exported = counts.exported;
    spans.waiting = traces_->exporter.waiting();
    for (size_t i = 0; i < traces::kSpanLossCount; ++i) {
      spans.dropped.emplace_back(traces::span_loss_name(static_cast<traces::SpanLoss>(i)),
                                 counts.dropped[i]);
    }
  }
  return readings;
}

std::string Worker::state_json(std::vector<ListenerFacts> listeners, const ReloadFacts& reloads,
                               const std::vector<Snippet>& snippets) const {
  GatewayFacts facts{identity_.version,     loop_.now() - started_at_, clients_.connections(),
                     shutdown_.requested(), processes_.confinement(),  std::move(listeners)};
  for (const auto& layer : tls_.all()) {
    TlsFacts& tls = facts.tls.emplace_back();
    tls.listener = layer->listener();
    tls.client_certificate = config::name_of(layer->config().client_certificate);
    for (const tls::CertificateFacts& certificate : layer->certificates()) {
      tls.certificates.push_back({certificate.file, certificate.not_after});
    }
  }
  for (const auth::KeyFacts& keys : generation_.key_facts()) {
    facts.issuers.push_back({keys.issuer, keys.source, keys.keys, keys.age, keys.problem});
  }
  facts.reloads = &reloads;
  facts.handshakes = tls_.handshakes().under_way();
  facts.memory = {overload_.resident(), overload_.memory_limit(), &accounts_};
  const StateCounts counts = state_counts(counts_.store());
  facts.counts = &counts;
  facts.snippets = &snippets;
  facts.configuration = configuration_;
  return state_report(facts, generation_.backends());
}

}  // namespace stdgate::app
