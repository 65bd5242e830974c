// ClientPulse: whether a WebSocket client is alive, and whether its messages come in time.
//
// A value without a clock or a timer. A client that is silent for timeouts.ping is to be pinged,
// and then has timeouts.pong to send anything. A message has to arrive at limits.min_rate, and be
// complete within timeouts.request, like the body of a request. Owner: a WebSocket connection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/policy/rates.h"

namespace stdgate::websocket {

class ClientPulse {
 public:
  // --- Silence
  // Bytes have come, or reading was paused, so that none could come.
  void note_heard(TimePoint now) {
    heard_ = now;
    pinged_.reset();
  }
  void note_ping(TimePoint now) { pinged_ = now; }
  [[nodiscard]] bool awaits_pong() const { return pinged_.has_value(); }
  // When the client is to be pinged, or given up.
  [[nodiscard]] TimePoint silence_due(const config::TimeoutsConfig& timeouts) const {
    return pinged_ ? *pinged_ + timeouts.pong : heard_ + timeouts.ping;
  }

  // --- Messages
  // After each step while a message is incomplete and is being read.
  void note_part(TimePoint now, uint64_t bytes_read) {
    if (receiving_) return;
    receiving_ = now;
    rate_.begin(now, bytes_read);
  }
  // A message is complete, or no part of one has come.
  void note_message() { receiving_.reset(); }
  // When the last byte of an incomplete message came; nothing: there is no such message.
  [[nodiscard]] std::optional<TimePoint> receiving_since() const {
    return receiving_ ? std::optional(heard_) : std::nullopt;
  }
  [[nodiscard]] TimePoint message_due(const config::TimeoutsConfig& timeouts) const {
    if (!receiving_) return TimePoint::max();
    return std::min(rate_.due(timeouts.body), *receiving_ + timeouts.request);
  }
  bool is_message_late(TimePoint now, const config::TimeoutsConfig& timeouts, size_t min_rate,
                       uint64_t bytes_read) {
    return receiving_ &&
           (now >= *receiving_ + timeouts.request ||
            rate_.is_slow(now, timeouts.body, min_rate, [bytes_read] { return bytes_read; }));
  }

 private:
  TimePoint heard_{};  // the last byte of the client, or when reading went on
  std::optional<TimePoint> pinged_;
  std::optional<TimePoint> receiving_;  // since its first byte
  policy::RateWindow rate_;             // while receiving_
};

}  // namespace stdgate::websocket
