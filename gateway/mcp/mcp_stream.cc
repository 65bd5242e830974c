#include "gateway/mcp/mcp_stream.h"

#include <array>
#include <utility>

namespace stdgate {

namespace {
// When a client whose stream has broken off should come back.
constexpr unsigned kRetryMs = 1000;
}  // namespace

std::string McpStream::event_id(uint64_t number) const {
  return facts_.id_prefix + "-" + std::to_string(number_) + "-" + std::to_string(number);
}

void McpStream::attach(EventSink& sink) {
  if (sink_ != nullptr) std::exchange(sink_, nullptr)->end_stream();
  sink_ = &sink;
}

void McpStream::begin() {
  begun_ = true;
  if (sink_ != nullptr) sink_->begin_stream();
  if (sink_ == nullptr || !facts_.has_ids || !has_priming_events(facts_.revision)) return;
  const std::string id = event_id(facts_.log.skip());
  sink_->write_event({.name = {}, .id = id, .retry_ms = kRetryMs, .data = {}});
}

void McpStream::replay_after(uint64_t number) {
  begun_ = true;
  sink_->begin_stream();
  facts_.log.replay(number_, number, [this](uint64_t kept, std::string_view text) {
    if (sink_ == nullptr) return;  // its client has left in the middle
    const std::string id = event_id(kept);
    sink_->write_event({.name = {}, .id = id, .retry_ms = 0, .data = {&text, 1}});
    delivered_ = kept;
  });
}

// Under numbers of their own, as the response has begun with one that is higher than theirs.
void McpStream::write_undelivered() {
  for (const std::string& message : facts_.log.take_after(number_, delivered_)) {
    const std::string_view text = message;
    write({&text, 1});
  }
}

void McpStream::end() {
  if (sink_ != nullptr) std::exchange(sink_, nullptr)->end_stream();
}

void McpStream::begin_messages(TimePoint now, bool batch, CodeSet codes, size_t limit) {
  posted_ = now;
  handing_over_ = true;
  if (!batch) return;
  batch_ = std::make_unique<BatchAnswer>();
  batch_->begin_messages(codes, limit);
}

void McpStream::expect() {
  ++due_;
  if (batch_ != nullptr) batch_->expect();
}

void McpStream::leave_out() {
  --due_;
  if (batch_ != nullptr) batch_->leave_out();
  finish_if_complete();
}

void McpStream::end_messages() {
  handing_over_ = false;
  if (batch_ != nullptr) batch_->end_messages();
  finish_if_complete();
}

void McpStream::answer(const Reply& reply) {
  --due_;
  const std::array parts{reply.head, reply.id, reply.tail};
  if (begun_) {
    if (batch_ != nullptr) batch_->leave_out();
    write(parts);
  } else if (batch_ != nullptr) {
    batch_->add(reply);
  } else if (sink_ != nullptr) {
    std::exchange(sink_, nullptr)->respond(parts);
  }
  finish_if_complete();
}

void McpStream::write(std::string_view event_name, std::span<const std::string_view> data) {
  if (!begun_) begin();
  write_waiting_answers();
  const uint64_t number = facts_.has_ids ? facts_.log.add(number_, data) : 0;
  if (sink_ == nullptr) return;
  const std::string id = facts_.has_ids ? event_id(number) : std::string();
  delivered_ = number;
  sink_->write_event({.name = event_name, .id = id, .retry_ms = 0, .data = data});
}

// Answers that have waited for the others go first, as the batch that they are.
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

}  // namespace stdgate
