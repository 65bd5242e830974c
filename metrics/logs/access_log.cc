#include "metrics/logs/access_log.h"

#include <string>

#include "gateway/base/encodings.h"
#include "metrics/logs/log_style.h"
#include "metrics/logs/redaction.h"

namespace stdgate::logs {

namespace {

constexpr std::string_view kEvent = "call";
// For all keys, words and numbers: more than they take.
constexpr size_t kRoomForTheRest = 1024;

LogLevel level_of(Outcome outcome) {
  // Each client that speaks both eras asks so when it begins.
  if (outcome == Outcome::other_era()) return LogLevel::debug;
  return outcome.is_fault() ? AccessLog::kHighestLevel : LogLevel::info;
}

// Texts that may be long are cut here; all others are cut like any text of the log.
struct Texts {
  std::string_view backend;
  std::string_view method;
  std::string_view tool;
  std::string_view id;
  std::string_view client;
  std::string_view principal;
  std::string_view detail;

  [[nodiscard]] size_t room() const {
    size_t room = kRoomForTheRest;
    for (const std::string_view text : {backend, method, tool, id, client, principal, detail}) {
      room += log_style::room_for({}, text);
    }
    return room;
  }
};

template <class Style>
char* write_fields(char* to, const Texts& texts, const CallRecord& call, std::string& scratch) {
  using log_style::write_field;
  to = write_field<Style>(to, "backend", texts.backend, scratch);
  to = write_field<Style>(to, "method", texts.method, scratch);
  if (!texts.tool.empty()) to = write_field<Style>(to, "tool", texts.tool, scratch);
  to = log_style::write_word_field<Style>(to, "outcome", call.outcome.name());
  to = log_style::write_word_field<Style>(to, "transport", transport_name(call.transport));
  if (call.client_kind == PeerKind::stateless)
    to = log_style::write_word_field<Style>(to, "era", "modern");
  if (!call.revision.empty()) {
    to = log_style::write_word_field<Style>(to, "revision", call.revision);
  }
  to = write_field<Style>(to, "duration_ms", call.total);
  to = write_field<Style>(to, "queue_ms", call.queued);
  to = write_field<Style>(to, "child_ms", call.child);
  to = write_field<Style>(to, "id", texts.id, scratch);
  to = write_field<Style>(to, "connection", call.connection);
  if (!call.session.is_none()) {
    to = log_style::write_word_field<Style>(to, "session", call.session.view());
  }
  if (!texts.client.empty()) to = write_field<Style>(to, "client", texts.client, scratch);
  if (!texts.principal.empty()) {
    to = write_field<Style>(to, "principal", texts.principal, scratch);
  }
  if (call.child_number != 0) {
    to = write_field<Style>(to, "child", call.child_number);
    to = write_field<Style>(to, "pid", int64_t{call.child_pid});
  }
  to = write_field<Style>(to, "bytes_in", uint64_t{call.bytes_in});
  to = write_field<Style>(to, "bytes_out", uint64_t{call.bytes_out});
  if (call.trace != nullptr) {
    to = log_style::write_word_field<Style>(to, "trace_id", TraceIdText(*call.trace).view());
  }
  if (!texts.detail.empty()) to = write_field<Style>(to, "detail", texts.detail, scratch);
  return to;
}

}  // namespace

std::string_view AccessLog::text_of(const ClientAddress& client) {
  if (client != client_) {
    client_ = client;
    client_text_ = client.to_string();
  }
  return client_text_;
}

void AccessLog::on_call_finished(const CallRecord& call) {
  const LogLevel level = level_of(call.outcome);
  if (!log_.enabled(level)) return;
  const Texts texts = {
      .backend = backends_.of(call.backend),
      .method = call.method_name,
      .tool = cut_utf8(call.tool_name, kMaxTool),
      // A refused call may have no id that could be read; it was answered with null.
      .id = call.id.empty() ? "null" : cut_utf8(call.id, kMaxId),
      .client = text_of(call.client),
      .principal = call.principal,
      .detail = call.detail,
  };
  fields_.clear();
  char* const begin = fields_.reserve(texts.room());
  const char* const end = log_.format() == config::LogFormat::json
                              ? write_fields<log_style::Json>(begin, texts, call, scratch_)
                              : write_fields<log_style::Text>(begin, texts, call, scratch_);
  log_.write_rendered(level, kEvent, {begin, end});
}

void PayloadLog::on_message(BackendId backend, Direction direction,
                            std::span<const std::string_view> parts) {
  if (!log_.enabled(kLevel)) return;
  std::string text;
  for (const std::string_view part : parts) text += part;
  const std::string shown = redact(text, config_.redact, config_.payload_limit);
  log_.write(kLevel, "message",
             {{"backend", backends_.of(backend)},
              // A client's message may be refused before any child gets it.
              {"direction", direction == Direction::to_child ? "from_client" : "to_client"},
              {"text", std::string_view(shown)}});
}

}  // namespace stdgate::logs
