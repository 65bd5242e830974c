// How a child is greeted: the kind of peer that it is taken for, and what the gateway says to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

// How the gateway begins with a child.
enum class Greeting : uint8_t {
  probe,      // asks for the kind; a child that is not stateless is greeted as a stateful one
  handshake,  // by the handshake of its protocol
  discovery,  // asks what the child is; there is no handshake
};

// How a start failed.
enum class StartFailure : uint8_t {
  while_asked,  // the process ended by itself before it answered the probe
  refused,      // the process refused the way in which it was begun with
  other,
};

// Whether this answer shows that the child is of another kind than the request.
[[nodiscard]] bool refuses_peer_kind(const rpc::Envelope& answer);

// PeerVerdict: which kind the shared children of a backend are of, and so how the next child is
// greeted.
//
// Learns from the answers of children, and from a child that ends because of the probe. Forgets a
// kind that a start contradicts. Pure. Owner: Children.
class PeerVerdict {
 public:
  // `first`: probe or handshake, for the time while the kind is not known. A child of both kinds is
  // taken for the kind that is tried first.
  PeerVerdict(config::Revision revision, Greeting first);

  [[nodiscard]] Greeting greeting() const;
  // Nothing: the kind is not known, or has been contradicted.
  [[nodiscard]] std::optional<PeerKind> peer_kind() const { return peer_kind_; }

  // A child has shown its kind. Returns whether the kind is news.
  bool learn(PeerKind peer_kind);
  // A child that was greeted in this way has failed to start. Returns whether the failure is
  // excused: if the probe has caused it (the next child is not probed), or if the server has been
  // exchanged (the next child is probed again).
  bool excuses(Greeting greeting, StartFailure failure);
  // A session's own child is not a stateful one, so the next shared child is probed again.
  void doubt();

 private:
  const config::Revision revision_;
  const Greeting first_;
  std::optional<PeerKind> peer_kind_;
  bool is_shown_ = false;  // a child has shown `peer_kind_`, and none has contradicted it since
};

// Introduction: a client's greeting, which the gateway repeats to a child.
struct Introduction {
  std::string params;  // raw JSON; empty: the gateway introduces itself
  // A child that is greeted so may ask something before it gets any call.
  bool asks_first = false;
};

// Handshake: the start of a child's conversation: its greeting, by the gateway or by the client of
// its session, and the deadline for the answer.
//
// Job: make the greeting, judge and keep the answer, and report when no answer comes within
// config::start_time_of(). While the kind of the child is not known, the probe comes first. A child
// that answers the probe with an error, or not within start_timeout / kPatienceShare, is greeted as
// a stateful child. Writes nothing itself. Owner: the child.
class Handshake {
 public:
  // The share of start_timeout that a child has for the probe: one part in so many.
  static constexpr int kPatienceShare = 6;
  // The share of fetch_timeout that is added where the child may download its package first.
  static constexpr int kFetchShare = 10;

  // `client`: for a stateful child.
  // `on_late`: called when the deadline has passed.
  Handshake(const PoolServices& services, Greeting greeting, Introduction client,
            std::function<void()> on_late);

  // Starts the timer, or restarts it.
  void start_timer();
  void stop_timer() { timer_.disarm(); }

  // The gateway's first request, and its next one after fall_back(); empty: there is no request.
  [[nodiscard]] std::string request(rpc::WireId id);
  // Whether the probe has been sent and not been answered.
  [[nodiscard]] bool is_probing() const { return probe_ && greeting_ != Greeting::handshake; }
  [[nodiscard]] rpc::WireId probe() const { return *probe_; }
  // Whether the probe had this id, and its answer is not waited for any more.
  [[nodiscard]] bool is_past_probe(rpc::WireId id) const { return probe_ == id && !is_probing(); }
  // The process is not stateless, or does not say so: turns to the handshake. False: the process
  // has to be stateless.
  bool fall_back();
  // The process was too slow for the probe, and may still answer it. Until then, a refusal of the
  // handshake decides nothing.
  [[nodiscard]] bool awaits_discovery() const { return probe_ && !is_probe_answered_; }
  // Whether the process has refused both greetings.
  [[nodiscard]] bool has_failed() const { return was_refused_ && !awaits_discovery(); }
  // A late answer to the probe, with this id. True: the process is stateless.
  bool finish_late(rpc::WireId id, const rpc::Envelope& answer);
  // Judges the answer to request(): the notification that completes the handshake, or why it has
  // failed.
  tl::expected<std::string, std::string> finish(const rpc::Envelope& answer);
  // Whether the child may ask something at once. A ping finds that out.
  [[nodiscard]] bool may_ask_first() const {
    return peer_kind_ == PeerKind::stateful && client_.asks_first;
  }
  void note_ping() { awaits_pong_ = true; }
  [[nodiscard]] bool awaits_pong() const { return awaits_pong_; }
  // How the gateway began with the process, and the kind that the process has shown.
  [[nodiscard]] Greeting begun() const { return begun_; }
  [[nodiscard]] std::optional<PeerKind> peer_kind() const { return peer_kind_; }
  // Why the start has failed.
  [[nodiscard]] StartFailure failure() const {
    if (is_probing() && begun_ == Greeting::probe) return StartFailure::while_asked;
    return was_refused_ ? StartFailure::refused : StartFailure::other;
  }
  // The answer to the gateway's greeting; only after finish() has succeeded.
  [[nodiscard]] rpc::Envelope answer();

  // The client of a session's own child has sent its greeting, with this id.
  void note_request(rpc::WireId id);
  // An answer to this id has come, even if it cannot be used.
  void note_answered(rpc::WireId id) {
    if (request_ == id) end_request();
  }

  // The answer to the client's greeting has come.
  void learn(const rpc::Envelope& answer);
  // Facts that the process has told about itself; empty before the answer.
  [[nodiscard]] const ChildFacts& facts() const { return facts_; }

  // The deadline has passed, and the child is given up. Returns the reason in words.
  std::string give_up(bool is_running);
  [[nodiscard]] bool was_given_up() const { return was_given_up_; }

 private:
  void end_request();
  tl::expected<std::string, std::string> finish_probe(const rpc::Envelope& answer);

  const PoolServices& services_;
  const Introduction client_;
  const Greeting begun_;
  Greeting greeting_;  // the greeting that is in use now
  std::optional<PeerKind> peer_kind_;
  std::optional<rpc::WireId> probe_;
  TimePoint deadline_ = TimePoint::max();  // of the whole start
  Timer timer_;
  std::optional<rpc::WireId> request_;  // the client's greeting, until it is answered
  std::string answer_;                  // to the gateway's own greeting, the whole text
  ChildFacts facts_;
  bool is_probe_answered_ = false;
  bool was_refused_ = false;
  bool was_given_up_ = false;
  bool awaits_pong_ = false;
};

}  // namespace stdgate::pool
