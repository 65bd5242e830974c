#include "gateway/mcp/mcp_stream.h"

#include <array>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::mcp {

namespace {
// When a client should come back after the gateway has ended its stream early.
constexpr unsigned kRetryMs = 1000;
}  // namespace

std::string McpStream::event_id(const McpEventLog& events, uint64_t number) const {
  return events.id_prefix + "-" + std::to_string(number_) + "-" + std::to_string(number);
}

void McpStream::attach(session::EventSink& sink) {
  if (sink_ != nullptr) std::exchange(sink_, nullptr)->end_stream();
  sink_ = &sink;
}

void McpStream::begin() {
  begun_ = true;
  if (sink_ != nullptr) sink_->begin_stream();
  // Some clients take the field `retry` for an error, so it is written only where it is needed.
  write_place(0);
}

// Writes an event without data, whose id the client may come back with.
void McpStream::write_place(unsigned retry_ms) {
  McpEventLog* const events = owner_.events();
  if (sink_ == nullptr || events == nullptr || !has_priming_events(owner_.revision())) return;
  const std::string id = event_id(*events, events->log.skip());
  sink_->write_event({.name = {}, .id = id, .retry_ms = retry_ms, .data = {}});
}

void McpStream::replay_after(uint64_t number) {
  begun_ = true;
  sink_->begin_stream();
  McpEventLog* const events = owner_.events();
  STDGATE_CHECK(events != nullptr);
  events->log.replay(
      number_, number, [&](uint64_t kept, const session::ReplayLog::Text& kept_text) {
        if (sink_ == nullptr) return;  // the client left during the replay
        const SharedOffer offer(events->storages, kept_text.shared());
        const std::string_view text = kept_text.view();
        const std::string id = event_id(*events, kept);
        sink_->write_event({.name = {}, .id = id, .retry_ms = 0, .data = {&text, 1}});
        delivered_ = kept;
      });
}

// The events get new numbers, because the response has begun with a higher number than theirs.
void McpStream::write_undelivered() {
  McpEventLog* const events = owner_.events();
  if (events == nullptr) return;
  for (const session::ReplayLog::Text& message : events->log.take_after(number_, delivered_)) {
    const SharedOffer offer(events->storages, message.shared());
    const std::string_view text = message.view();
    write({&text, 1});
  }
}

void McpStream::end_for_now() {
  if (begun_) write_place(kRetryMs);
  end();
}

void McpStream::end() {
  if (sink_ != nullptr) std::exchange(sink_, nullptr)->end_stream();
}

void McpStream::begin_messages(TimePoint now, bool batch, rpc::CodeSet codes, size_t limit,
                               const Payer& payer) {
  posted_ = now;
  handing_over_ = true;
  if (!batch) return;
  batch_ = std::make_unique<session::BatchAnswer>();
  batch_->begin_messages(codes, limit);
  batch_->set_payer(payer);
}

void McpStream::expect() {
  ++due_;
  if (batch_ != nullptr) batch_->expect();
}

void McpStream::leave_out() {
  STDGATE_CHECK(due_ > 0);
  --due_;
  if (batch_ != nullptr) batch_->leave_out();
  finish_if_complete();
}

void McpStream::end_messages() {
  handing_over_ = false;
  if (batch_ != nullptr) batch_->end_messages();
  finish_if_complete();
}

void McpStream::answer(const session::Reply& reply) {
  STDGATE_CHECK(due_ > 0);
  --due_;
  const std::array parts{reply.head, reply.id, reply.tail};
  if (begun_) {
    if (batch_ != nullptr) batch_->leave_out();
    write(parts);
  } else if (batch_ != nullptr) {
    batch_->add(reply);
  } else if (sink_ != nullptr && !reply.scope.empty()) {
    std::exchange(sink_, nullptr)->respond_scope(parts, reply.scope);
  } else if (sink_ != nullptr) {
    std::exchange(sink_, nullptr)->respond(parts);
  }
  finish_if_complete();
}

void McpStream::write(std::string_view event_name, std::span<const std::string_view> data) {
  if (!begun_) begin();
  write_waiting_answers();
  McpEventLog* const events = owner_.events();
  const uint64_t number = events != nullptr ? events->log.add(number_, data) : 0;
  if (sink_ == nullptr) return;
  const std::string id = events != nullptr ? event_id(*events, number) : std::string();
  delivered_ = number;
  sink_->write_event({.name = event_name, .id = id, .retry_ms = 0, .data = data});
}

// Writes the collected answers of the batch first, as an array of their own.
void McpStream::write_waiting_answers() {
  if (batch_ == nullptr || batch_->empty()) return;
  const auto answers = std::move(batch_);
  const std::string_view text = answers->close();
  write({&text, 1});
}

void McpStream::finish_if_complete() {
  if (due_ > 0 || handing_over_ || finished_) return;
  finished_ = true;
  if (begun_) write_waiting_answers();
  if (sink_ == nullptr) return;
  if (begun_ || batch_ == nullptr || batch_->empty()) return end();
  const std::string_view text = batch_->close();
  std::exchange(sink_, nullptr)->respond({&text, 1});
}

}  // namespace stdgate::mcp
