// ConnectionMeter: the bytes, memory and deadlines of one connection, its share of a turn, and
// whether its client takes what is written.
//
// Job: report the connection's bytes to the observer, charge its memory to its client, judge the
// rate at which its client takes answers, count what it does in a turn, and keep the timer of its
// next deadline. Owner: a connection of any protocol, which sets the deadlines, and continues in
// the next turn with what is beyond its share. Limit: twice kTurnShare messages a turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "gateway/base/timers.h"
#include "gateway/observer.h"
#include "gateway/policy/principal.h"
#include "gateway/policy/rates.h"
#include "transports/http/client_connection.h"
#include "transports/net/loop.h"
#include "transports/net/stream.h"

namespace stdgate::http {

class Server;

class ConnectionMeter {
 public:
  // Messages that a connection hands over in a turn, so that others get their turn soon, however
  // small they are and whatever they cost. A larger one counts as several: one as long as the bytes
  // that a stream reads in a turn is the whole share.
  static constexpr int32_t kTurnShare = 256;
  static constexpr size_t kBytesOfShare = 512;

  // `on_timer` is called when the time of schedule() has come, or earlier.
  ConnectionMeter(Server& server, ConnectionKind kind, std::function<void()> on_timer);

  // To be called first. `stream` outlives the use of the meter; what it has written so far has been
  // reported.
  void open(net::Stream& stream);
  [[nodiscard]] TimePoint now() const { return loop_.now(); }

  // --- Bytes
  void note_read(size_t count);
  // Before each write.
  void note_write() {
    if (stream_->unsent_bytes() == 0) taking_.begin_later(now());
  }
  // Reports what has been written since the last report.
  void report_written();

  // --- The turn
  // A message of so many bytes is handed over.
  void use_turn(size_t bytes) { left_of_share_ -= static_cast<int32_t>(1 + bytes / kBytesOfShare); }
  // The rest of a share counts in the next turns too, so it is full again once a turn, and only
  // when it is used up.
  [[nodiscard]] bool has_turn() { return left_of_share_ > 0 || take_share(); }

  // --- Memory
  // Who pays from now on, for what is unsent too. Before open() as well.
  void set_payer(const Payer& payer);
  [[nodiscard]] Payer payer() const { return held_.payer(); }
  // Charges the client of a request, usually the client of the last one. `held`: what is held at
  // its backend; null: it has none.
  void charge_to(const policy::PrincipalRef& principal, const ClientAddress& origin,
                 HeldBytes* held);
  // Memory of messages that the connection holds now, without what is unsent.
  void hold(size_t bytes) { held_.set(bytes); }
  [[nodiscard]] size_t held() const { return held_.bytes(); }
  // Why the client is to hold no more.
  [[nodiscard]] MemoryLack lack() const { return held_.lack(); }
  // As lack(), before a client is refused: memory that no client waits for is dropped first.
  [[nodiscard]] MemoryLack lack_after_relief();
  // `receiving_since`: when the last byte of an incomplete message came, if any. A client whose
  // messages wait for a child does not count as idle.
  [[nodiscard]] HeldMemory held_memory(std::optional<TimePoint> receiving_since) const;

  // --- Time
  // When takes_too_little() is to be asked again, if it is to be asked.
  [[nodiscard]] TimePoint taking_due(Duration patience) const {
    return stream_->unsent_bytes() == 0 ? TimePoint::max() : taking_.due(patience);
  }
  // Whether the client takes less than limits.min_rate of what is unsent.
  bool takes_too_little(Duration patience);
  // The timer is moved only towards the present: it may fire early, and is then set again. So a
  // busy connection touches the timer queue about once in a timeout, not with each message.
  void schedule(TimePoint due) {
    if (due != TimePoint::max() && (!timer_.armed() || due < timer_.due())) timer_.arm(due);
  }

  // The connection ends: nothing is held, and the timer does not fire any more.
  void close();

 private:
  bool take_share();

  Server& server_;
  const net::Loop& loop_;
  net::Stream* stream_ = nullptr;
  Timer timer_;
  policy::RateWindow taking_;      // of what is unsent
  uint64_t written_reported_ = 0;  // to the observer
  Share held_{{}, Holding::receiving};
  policy::PrincipalRef paying_;  // null: the client's address pays
  int32_t left_of_share_ = 0;
  // In which it was full, its last bits: a connection is small, and one turn too late is no harm.
  uint16_t turn_of_share_ = UINT16_MAX;
  const ConnectionKind kind_;
};

}  // namespace stdgate::http
