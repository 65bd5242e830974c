// Handshake: the start of a child's conversation: its greeting, by the gateway or by its session's
// client, and the time that it has for the answer.
//
// Job: make the greeting, judge and keep the answer, and report when none comes within
// config.pool.start_timeout. Where the era of the child is not known, it is asked first: one that
// answers with an error, or not within a part of that time (kPatienceShare), is greeted as a legacy
// child. Writes nothing itself. Owner: the child.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/base/timers.h"
#include "gateway/pool/era_verdict.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

class Handshake {
 public:
  // A child has start_timeout divided by this to answer what it is.
  static constexpr int kPatienceShare = 6;

  // `client`: the params with which a legacy child is greeted, as this client would; empty: the
  // gateway's own. `on_late`: the time is up.
  Handshake(const PoolServices& services, Greeting greeting, std::string client,
            std::function<void()> on_late);

  // Starts the time, or starts it again.
  void start_timer();
  void stop_timer() { timer_.disarm(); }

  // The request with which the gateway begins, or goes on after fall_back(); empty: there is
  // nothing to say.
  [[nodiscard]] std::string request(rpc::WireId id);
  // That request asks of which era the process is, and has not been answered.
  [[nodiscard]] bool is_probing() const { return probe_ && greeting_ != Greeting::legacy; }
  [[nodiscard]] rpc::WireId probe() const { return *probe_; }
  // That request had this id, and is not waited for any more.
  [[nodiscard]] bool is_past_probe(rpc::WireId id) const { return probe_ == id && !is_probing(); }
  // The process is not modern, or does not say so: greets it as a legacy one. False: it has to be
  // modern.
  bool fall_back();
  // The process was too slow to say of which era it is, and may do so yet: a refusal of the other
  // greeting decides nothing.
  [[nodiscard]] bool awaits_discovery() const { return probe_ && !is_probe_answered_; }
  // It has refused both.
  [[nodiscard]] bool has_failed() const { return was_refused_ && !awaits_discovery(); }
  // A discovery that comes after that, in answer to `id`.
  bool finish_late(rpc::WireId id, const rpc::Envelope& answer);
  // Judges the answer to request(): the notification that completes the handshake, or why it has
  // failed.
  tl::expected<std::string, std::string> finish(const rpc::Envelope& answer);
  // A legacy child so greeted may ask something at once. It has been sent a ping for that.
  [[nodiscard]] bool may_ask_first() const;
  void note_ping() { awaits_pong_ = true; }
  [[nodiscard]] bool awaits_pong() const { return awaits_pong_; }
  // How it was begun with the process, and the era that it has shown.
  [[nodiscard]] Greeting begun() const { return begun_; }
  [[nodiscard]] std::optional<Era> era() const { return era_; }
  // Why there was no start.
  [[nodiscard]] StartFailure failure() const {
    if (is_probing() && begun_ == Greeting::probe) return StartFailure::while_asked;
    return was_refused_ ? StartFailure::refused : StartFailure::other;
  }
  // That answer; only after finish() has succeeded.
  [[nodiscard]] rpc::Envelope answer();

  // The request with which its client greets a session's own child has been sent.
  void note_request(rpc::WireId id);
  // An answer to this id has come, be it one that cannot be used.
  void note_answered(rpc::WireId id);

  // The answer to a greeting of its client has come.
  void learn(const rpc::Envelope& answer);
  // What the process has said of itself; empty before.
  [[nodiscard]] const ChildFacts& facts() const { return facts_; }

  // The time is up, and the child is given up for it. Returns the reason in words.
  std::string give_up(bool is_running);
  [[nodiscard]] bool was_given_up() const { return was_given_up_; }

 private:
  tl::expected<std::string, std::string> finish_probe(const rpc::Envelope& answer);

  const PoolServices& services_;
  const std::string client_;
  const Greeting begun_;
  Greeting greeting_;  // by now
  std::optional<Era> era_;
  std::optional<rpc::WireId> probe_;
  TimePoint deadline_ = TimePoint::max();  // of the whole start
  Timer timer_;
  std::optional<rpc::WireId> request_;  // of the client, until it is answered
  std::string answer_;                  // to the gateway's own greeting, whole
  ChildFacts facts_;
  bool is_probe_answered_ = false;
  bool was_refused_ = false;
  bool was_given_up_ = false;
  bool awaits_pong_ = false;
};

}  // namespace stdgate::pool
