// ClientConnection: what a Server owns: one client on one stream, in whatever protocol it has
// switched to. Implemented by Http1Connection and WebSocketConnection, which have a
// ConnectionMeter each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "gateway/base/account.h"
#include "gateway/base/addresses.h"
#include "gateway/base/byte_storage.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/policy/client.h"
#include "gateway/policy/quotas.h"
#include "transports/http/request_head.h"
#include "transports/net/loop.h"
#include "transports/net/stream.h"

namespace stdgate::http {

class Server;

// The memory of a connection that the client's account pays for.
struct HeldMemory {
  size_t bytes = 0;
  TimePoint still_since{};  // since when the client has neither sent nor read anything
};

// The peer of a connection, and how it came.
struct Peer {
  uint64_t number = 0;  // of the connection, for the log
  ConnectionTraits traits{};
  ClientAddress client{};
};

class ClientConnection {
 public:
  virtual ~ClientConnection() = default;
  [[nodiscard]] virtual ConnectionKind kind() const = 0;
  // A request, or a part of one, has come that the core does not know yet.
  [[nodiscard]] virtual bool has_request() const = 0;
  // Ends the connection as soon as nothing is under way.
  virtual void drain() = 0;
  // Ends the connection at once, and cancels its calls.
  virtual void close() = 0;
  // Ends the connection at once, and drops unsent bytes. The memory is released when this returns.
  virtual void cut() = 0;
  [[nodiscard]] virtual HeldMemory held_memory() const = 0;
  // The account of its client, who pays.
  [[nodiscard]] virtual const Account* account() const = 0;
  // Reports the bytes written since the last report to the observer.
  virtual void report_written() = 0;
  // Follows Server::resume_later(), at the end of the turn.
  virtual void resume() = 0;
  // The principal that uses it; null: unknown, or nothing is under way.
  [[nodiscard]] virtual const policy::Principal* principal() const = 0;
  // Its listener is closed: what has been sent is answered, then it ends. drain() follows.
  virtual void leave() = 0;
  // The credential is not good any more: what lasts ends, as if it had expired.
  virtual void end_credential() = 0;

  // Where the server keeps it.
  void set_place(size_t place) { place_ = place; }
  [[nodiscard]] size_t place() const { return place_; }

  // Its place in the server's list of connections to resume, once it has asked for that.
  void set_resume_place(size_t place) { resume_place_ = static_cast<uint32_t>(place); }
  [[nodiscard]] size_t resume_place() const { return resume_place_; }

  void set_peer(const Peer& peer) { peer_ = peer; }
  [[nodiscard]] const Peer& peer() const { return peer_; }
  [[nodiscard]] const ClientAddress& client() const { return peer_.client; }
  // Whether the server has refused its client.
  void set_turned_away(bool turned_away) { turned_away_ = turned_away; }
  [[nodiscard]] bool is_turned_away() const { return turned_away_; }

 private:
  size_t place_ = 0;
  uint32_t resume_place_ = 0;
  bool turned_away_ = false;
  Peer peer_;
};

// A connection that takes over after an HTTP upgrade.
class UpgradedConnection : public ClientConnection {
 public:
  // Called once, by the server's side, never from within a call of the core. `already_read` is what
  // the client sent behind its request.
  virtual void take_over(std::unique_ptr<net::Stream> stream, ByteQueue already_read) = 0;
};

// ConnectionMeter: the bytes, memory and deadlines of one connection, its share of a turn, and
// whether its client takes what is written.
//
// Job: report the connection's bytes to the observer, charge its memory to its client, judge the
// rate at which its client takes answers, count what it does in a turn, and keep the timer of its
// next deadline. Owner: a connection of any protocol, which sets the deadlines, and continues in
// the next turn with what is beyond its share. Limit: twice kTurnShare messages a turn.
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
  // Like lack(), but drops memory first that no client waits for. Called before a client is
  // refused.
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
  void schedule(TimePoint due) { timer_.arm_by(due); }

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
  // The last bits of the number of the turn when the share was full. Few bits keep a connection
  // small; being one turn late does no harm.
  uint16_t turn_of_share_ = UINT16_MAX;
  const ConnectionKind kind_;
};

}  // namespace stdgate::http
