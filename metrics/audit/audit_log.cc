#include "metrics/audit/audit_log.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/base/encodings.h"
#include "gateway/policy/rules.h"
#include "gateway/rpc/json_text.h"
#include "metrics/logs/redaction.h"

namespace stdgate::audit {

namespace {

constexpr size_t kEnough = 64 << 10;  // bytes that are written without waiting

std::string_view kind_name(policy::Principal::Kind kind) {
  switch (kind) {
    case policy::Principal::Kind::api_key:
      return "api_key";
    case policy::Principal::Kind::token:
      return "token";
    case policy::Principal::Kind::certificate:
      return "certificate";
    case policy::Principal::Kind::signature:
      break;
  }
  return "signature";
}

// `key` is a constant. Whatever `text` is, it stays one string of one line.
void append_text(std::string& out, std::string_view key, std::string_view text, size_t limit) {
  if (text.empty()) return;
  out.append(",\"").append(key).append("\":");
  rpc::append_json_string(out, cut_utf8(text, limit));
}

// Appends the texts for which there is room; without texts, no member.
void append_texts(std::string& out, std::string_view key, std::span<const std::string> texts,
                  size_t limit) {
  if (texts.empty()) return;
  out.append(",\"").append(key).append("\":[");
  const size_t begin = out.size();
  for (const std::string& text : texts) {
    if (out.size() - begin + text.size() > limit) break;
    if (out.size() > begin) out += ',';
    rpc::append_json_string(out, text);
  }
  out += ']';
}

void append_number(std::string& out, std::string_view key, uint64_t number) {
  out.append(",\"").append(key).append("\":").append(std::to_string(number));
}

void append_milliseconds(std::string& out, std::string_view key, Duration duration) {
  std::array<char, 32> text{};
  const std::chrono::duration<double, std::milli> milliseconds = duration;
  std::snprintf(text.data(), text.size(), "%.3f", milliseconds.count());
  out.append(",\"").append(key).append("\":").append(text.data());
}

// RFC 3339, in UTC.
void append_time(std::string& out, WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::milliseconds>(time - day));
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), R"(,"time":"%04d-%02u-%02uT%02d:%02d:%02d.%03dZ")",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()),
                static_cast<int>(clock.subseconds().count()));
  out += text.data();
}

}  // namespace

AuditLog::AuditLog(const config::AuditConfig& config, std::vector<std::string> redact,
                   AuditFile& file, const AuditServices& services)
    : config_(config),
      redact_(std::move(redact)),
      file_(file),
      services_(services),
      end_(file.found()),
      flush_timer_(services.timers, [this] { on_timer(); }),
      left_out_timer_(services.timers, [this] {
        begin_line("refusals_left_out");
        append_number(line_, "count", refusals_.take_suppressed());
        end_line();
      }) {
  if (file.lacks_line_end()) unsent_.push_back('\n');
  if (file.torn() > 0) {
    services_.log.write(LogLevel::warn, "audit ended within a line",
                        {{"file", file.path()},
                         {"bytes", static_cast<uint64_t>(file.torn())},
                         {"after_sequence", end_.sequence}});
  }
  begin_line("started", file.torn());
  end_line();
}

AuditLog::~AuditLog() { flush(); }

void AuditLog::close() {
  begin_line("stopped");
  end_line();
  if (flush()) file_.sync();
  services_.log.write(LogLevel::info, "audit closed",
                      {{"file", file_.path()},
                       {"sequence", end_.sequence},
                       {"digest", view_of(end_.digest)},
                       {"unwritten_bytes", static_cast<uint64_t>(unsent_.size())}});
}

// --- Lines ---------------------------------------------------------------------------------------

void AuditLog::begin_line(std::string_view event, size_t torn) {
  line_.clear();
  append_line_head(line_, end_, torn);
  append_time(line_, services_.wall_clock.at(services_.clock.now()));
  append_text(line_, "event", event, kMaxName);
}

bool AuditLog::end_line() {
  line_ += '}';
  STDGATE_CHECK(line_.size() <= kMaxLine);
  if (unsent_.size() + line_.size() > kMaxUnsent) {
    ++counts_.lost;
    ++unreported_lost_;
    return false;
  }
  take_line();
  return true;
}

void AuditLog::take_line() {
  end_ = {end_.sequence + 1, hasher_.of(line_)};
  line_ += '\n';
  unsent_.append(line_);
  ++counts_.lines;
  if (counts_.is_failing) return;  // the timer is armed
  if (config_.durable || unsent_.size() >= kEnough) {
    flush();
  } else if (!flush_timer_.armed()) {
    schedule(kDelay);
  }
}

void AuditLog::append_client(std::string& out, const AuditedClient& client) {
  if (client.principal != nullptr) {
    append_text(out, "principal", client.principal->name, kMaxName);
    append_text(out, "principal_kind", kind_name(client.principal->kind), kMaxName);
    append_text(out, "issuer", client.principal->issuer, kMaxName);
  }
  append_text(out, "address", client.address.to_string(), kMaxName);
}

void AuditLog::append_arguments(std::string& out, std::string_view params) {
  if (params.empty()) return;
  switch (config_.arguments) {
    case config::AuditArguments::digest: {
      const DigestText digest = hasher_.of(params);
      out.append(R"(,"arguments":"sha256:)").append(view_of(digest)).append("\"");
      return;
    }
    case config::AuditArguments::redacted:
      // The mark of a cut comes on top of the limit.
      append_text(out, "arguments", logs::redact(params, redact_, kMaxArguments), kMaxLine);
      return;
    case config::AuditArguments::full:
      append_text(out, "arguments", logs::redact(params, {}, kMaxArguments), kMaxLine);
      return;
  }
}

// --- Events --------------------------------------------------------------------------------------

bool AuditLog::covers(std::string_view method) const {
  return policy::matches_any(config_.calls, method);
}

void AuditLog::describe_call(const AuditedCall& call, bool is_covered, std::string& notes) {
  notes.clear();
  append_client(notes, call.client);
  if (!call.element.empty()) append_text(notes, call.element, call.name, kMaxPath);
  append_text(notes, "acp_session", call.of_session, kMaxName);
  if (is_covered) append_arguments(notes, call.params);
}

bool AuditLog::may_note_refusal() {
  if (refusals_.allow(services_.clock.now())) return true;
  if (!left_out_timer_.armed()) {
    left_out_timer_.arm(services_.clock.now() + std::chrono::seconds(1));
  }
  return false;
}

void AuditLog::write_call(std::string_view event, std::string_view backend, const CallRecord& call,
                          std::string_view notes) {
  begin_line(event);
  append_text(line_, "backend", backend, kMaxName);
  append_text(line_, "transport", transport_name(call.transport), kMaxName);
  append_text(line_, "method", call.method_name, kMaxName);
  append_text(line_, "outcome", call.outcome.name(), kMaxName);
  // The detail of an error is left out: it may be the words of a server.
  if (call.outcome == Outcome::ok()) append_text(line_, "detail", call.detail, kMaxName);
  append_milliseconds(line_, "duration_ms", call.total);
  append_number(line_, "connection", call.connection);
  append_text(line_, "session", call.session.view(), kMaxName);
  if (call.trace != nullptr) append_text(line_, "trace_id", TraceIdText(*call.trace).view(), 32);
  line_ += notes;
}

bool AuditLog::record_call(std::string_view backend, const CallRecord& call, bool is_covered,
                           std::string_view notes) {
  if (call.outcome == Outcome::of(rpc::Fault::unrecorded)) {
    ++refused_;
    return true;
  }
  // Refusals cost a client nothing, so they must not fill the disk.
  const bool is_refusal = is_refusal_of_client(call.outcome);
  if (!is_covered && !is_refusal) return true;
  if (is_refusal && !may_note_refusal()) return true;
  write_call("call", backend, call, notes);
  const bool is_kept = end_line();
  if (!is_covered || is_refusal) return is_kept || !is_covered;
  return config_.durable ? flush_durably() : is_kept;
}

void AuditLog::record_notification(std::string_view backend, const CallRecord& notification,
                                   bool is_covered, std::string_view notes) {
  const bool is_refusal = is_refusal_of_client(notification.outcome);
  if ((is_refusal || !is_covered) && !may_note_refusal()) return;
  write_call("notification", backend, notification, notes);
  end_line();
}

void AuditLog::on_child_message(const AuditedChildMessage& message) {
  const bool is_denied = message.outcome == Outcome::of(rpc::Fault::denied).name();
  if (is_denied && !may_note_refusal()) return;
  begin_line(message.asks ? "asked" : "told");
  append_text(line_, "backend", message.backend, kMaxName);
  append_text(line_, "method", message.method, kMaxName);
  append_text(line_, "outcome", message.outcome, kMaxName);
  if (message.asks) append_milliseconds(line_, "duration_ms", message.open);
  append_text(line_, "session", message.session.view(), kMaxName);
  append_client(line_, message.client);
  append_text(line_, "acp_session", message.of_session, kMaxName);
  append_text(line_, "title", message.title, kMaxPath);
  append_text(line_, "option", message.option, kMaxName);
  end_line();
}

void AuditLog::write_session(std::string_view event, const AuditedSession& session) {
  begin_line(event);
  append_text(line_, "backend", session.backend, kMaxName);
  append_text(line_, "session", session.session.view(), kMaxName);
  append_client(line_, session.client);
  append_text(line_, "client", session.label, kMaxName);
}

void AuditLog::on_session_opened(const AuditedSession& session) {
  write_session("session_opened", session);
  end_line();
}

void AuditLog::on_session_ended(const AuditedSession& session) {
  write_session("session_ended", session);
  append_milliseconds(line_, "age_ms", session.age);
  end_line();
}

void AuditLog::on_reloaded(const AuditedReload& reload) {
  begin_line("reloaded");
  append_text(line_, "cause", reload.cause, kMaxName);
  append_text(line_, "outcome", reload.is_good ? "ok" : "failed", kMaxName);
  append_texts(line_, "changed", reload.changed, kMaxKeys);
  append_texts(line_, "needs_restart", reload.needs_restart, kMaxKeys);
  end_line();
}

void AuditLog::on_refused(const AuditedRefusal& refusal) {
  if (!may_note_refusal()) return;
  begin_line(refusal.reason == Refusal::unauthorized ? "login_failed" : "refused");
  append_text(line_, "http_method", refusal.method, kMaxName);
  append_text(line_, "path", refusal.path, kMaxPath);
  append_number(line_, "status", static_cast<uint64_t>(refusal.status));
  append_text(line_, "reason", refusal_name(refusal.reason), kMaxName);
  append_number(line_, "connection", refusal.connection);
  append_client(line_, refusal.client);
  end_line();
}

void AuditLog::on_handshake_refused(const AuditedHandshake& handshake) {
  if (!may_note_refusal()) return;
  begin_line("login_failed");
  append_text(line_, "listener", handshake.listener, kMaxName);
  append_text(line_, "reason", handshake_failure_name(handshake.reason), kMaxName);
  append_text(line_, "detail", handshake.detail, kMaxName);
  append_client(line_, {nullptr, handshake.address});
  end_line();
}

// --- The file ------------------------------------------------------------------------------------

bool AuditLog::flush() {
  if (!unsent_.empty()) {
    unsent_.consume(file_.append(unsent_.view()));
    if (!unsent_.empty()) {
      set_failing(true, "written");
      return false;
    }
    unsent_.release_memory(kEnough);
  }
  return true;
}

bool AuditLog::flush_durably() {
  if (counts_.is_failing || !flush()) return false;
  if (file_.sync()) return true;
  set_failing(true, "synced");
  return false;
}

void AuditLog::set_failing(bool failing, std::string_view what) {
  if (failing) ++counts_.failures;
  if (failing && !counts_.is_failing) {
    const std::string error = std::strerror(file_.error());
    services_.log.write(
        LogLevel::error, "audit cannot be written",
        {{"file", file_.path()}, {"error", std::string_view(error)}, {"step", what}});
  }
  counts_.is_failing = failing;
  if (failing) schedule(kRetry);
}

void AuditLog::schedule(Duration delay) { flush_timer_.arm(services_.clock.now() + delay); }

void AuditLog::on_timer() {
  if (!flush()) return;
  if (counts_.is_failing) {
    if (!file_.sync()) return set_failing(true, "synced");
    set_failing(false);
    services_.log.write(LogLevel::info, "audit is written again", {{"file", file_.path()}});
    begin_line("written_again");
    append_number(line_, "refused_calls", std::exchange(refused_, 0));
    append_number(line_, "lost_lines", std::exchange(unreported_lost_, 0));
    end_line();
  }
  try_reopen();
}

void AuditLog::reopen() {
  reopen_asked_ = true;
  if (!counts_.is_failing && flush()) try_reopen();
}

// A line that the old file has in part must end there.
void AuditLog::try_reopen() {
  if (!std::exchange(reopen_asked_, false) || !file_.was_moved()) return;
  auto fresh = AuditFile::open(file_.path());
  if (!fresh) {
    services_.log.write(
        LogLevel::error, "audit cannot be reopened",
        {{"error", std::string_view(fresh.error())}, {"advice", "it goes on in the old file"}});
    return;
  }
  file_.sync();
  if (fresh->lacks_line_end()) unsent_.push_back('\n');
  file_ = std::move(*fresh);
  services_.log.write(LogLevel::info, "audit reopened",
                      {{"file", file_.path()}, {"after_sequence", end_.sequence}});
  begin_line("continued");
  end_line();
}

}  // namespace stdgate::audit
