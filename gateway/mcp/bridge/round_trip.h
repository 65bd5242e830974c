// Trip: one call of a modern client at a legacy child that it has alone, see RoundTrips.
// TripQuestions: what its child asks.
//
// For its child, the trip is the client of a session; RoundTrips hears of the child's messages.
// Owner: RoundTrips. Limits: Session::kMaxAsks questions, and config.limits.message bytes of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/backend/session_router.h"
#include "gateway/call/call.h"
#include "gateway/mcp/mcp_input.h"
#include "gateway/pool/pool_services.h"
#include "gateway/session/sinks.h"

namespace stdgate::mcp {

class RoundTrips;

// A question of a trip's child.
struct Question {
  rpc::WireId ask = 0;  // id in the session
  InputRequest request;
};

// A question that came before there was a call whose client could be asked.
struct FirstAsk {
  rpc::WireId ask = 0;  // id in the session
  std::string text;     // the whole request
};

// The answer to a child's question: a raw member, result or error.
struct AskEnd {
  rpc::WireId ask = 0;  // id in the session
  std::string member;
};

class Trip final : public session::SessionSink {
 public:
  // Prefix of the gateway's own keys of questions. No name that a child gives begins like this.
  static constexpr std::string_view kOwnKey = "input-";

  Trip(RoundTrips& trips, uint64_t number_of_it, std::string greeting_of_it,
       std::optional<session::Severity> severity_of_it)
      : number(number_of_it),
        greeting(std::move(greeting_of_it)),
        severity(severity_of_it),
        trips_(trips) {}

  // SessionSink
  void on_message(std::optional<session::Tag> of_call,
                  std::span<const std::string_view> parts) override;
  [[nodiscard]] session::ClientHold hold() const override { return session::ClientHold::nothing; }
  void set_reading(bool /*reading*/) override {}
  void on_session_end(session::SessionEnd end, std::string_view message) override;
  void on_reply(session::Tag /*tag*/, const session::Reply& /*reply*/) override {}
  void on_event(session::Tag /*tag*/, std::string_view /*notification*/) override {}
  void on_cancelled(session::Tag /*tag*/) override {}

  // Whether the object `answers` has an answer to one of the open questions.
  [[nodiscard]] bool has_answer(std::string_view answers) const;

  [[nodiscard]] bool is_idle() const { return call == nullptr && !is_parked; }
  // Whether its child can have another call, even if the end of the last call is still in progress.
  [[nodiscard]] bool may_be_used_again() const {
    return is_idle() && !is_spoilt && questions.empty() && replies.empty();
  }
  // Whether the trip may serve this call of a client with that greeting. `is_strict`: only if the
  // call's principal is the trip's.
  [[nodiscard]] bool may_serve(const call::Call& next, std::string_view its_greeting,
                               bool is_strict) const {
    return may_be_used_again() && greeting == its_greeting && severity == next.severity &&
           ((!is_strict && !is_private) || is_of_client(next));
  }
  // Whether its call has to wait because it cannot be parked.
  [[nodiscard]] bool awaits_place() const { return is_place_wanted && !questions.empty(); }
  // The client of this call becomes the client of the idle trip.
  void take(const call::Call& by) {
    has_ended = is_place_wanted = false;
    identity = by.identity;
  }
  // Whether this call is known to have the trip's client. Two anonymous calls never are: an address
  // does not identify a client.
  [[nodiscard]] bool is_of_client(const call::Call& next) const {
    return !identity.empty() && next.identity == identity;
  }

  // The answers in the object `answers` that its child has to get. Questions without an answer
  // stay.
  std::vector<AskEnd> take_answers(std::string_view answers);
  // Adds a question of its child, which asks under `id` (raw JSON). The client is asked under the
  // name in that id, or else under `other`. The client may have answered it already.
  void add_question(rpc::WireId ask, std::string_view id, const std::string& other,
                    std::string request);

  // The questions that have to be asked now.
  [[nodiscard]] std::vector<InputRequest> open_requests() const;
  // Sizes of the open questions, and of the first asks.
  [[nodiscard]] size_t question_bytes() const;
  [[nodiscard]] size_t first_bytes() const;
  // Charges what is kept while the trip is parked; called after each change.
  void charge();
  // Charges the first asks, which are kept for no client yet; called after each change.
  void charge_first(const Payer& payer);
  // The child has withdrawn this question.
  void forget(rpc::WireId ask) {
    std::erase_if(questions, [ask](const Question& question) { return question.ask == ask; });
    std::erase_if(first_asks, [ask](const FirstAsk& first) { return first.ask == ask; });
  }

  const uint64_t number;
  std::string greeting;                             // params: what its client declares
  const std::optional<session::Severity> severity;  // of the child's log messages
  session::SessionId session;
  std::string identity;  // who may continue it; empty: anonymous
  std::string essence;   // of the request
  std::string given;     // an object: answers that came with the request; empty: none
  bool may_need_input = false;
  // The call whose client waits, queued or in flight; null: none.
  call::Call* call = nullptr;

  // --- Parked, or about to be
  bool is_parked = false;
  uint64_t round = 0;  // number of the round that it has been parked for
  TimePoint expires{};
  bool is_unanswered = false;      // its client has come back without an answer
  call::Call* stand_in = nullptr;  // in flight in the place of the parked call; null: none
  std::vector<Question> questions;
  bool is_place_wanted = false;          // no place was free when it was to be parked
  TimePoint asking_until{};              // time for further questions after the first one
  std::vector<AskEnd> replies;           // answers that its child gets without its client
  std::vector<InputRequest> demands;     // must be met before the call is made again
  std::optional<std::string> answer;     // came while the call was parked
  std::string lacking;                   // a missing capability; empty: none
  std::optional<TimePoint> quiet_until;  // its calls wait, because its child is processing answers
  std::vector<FirstAsk> first_asks;      // for the first call whose client may be asked

  Share held{{}, Holding::calls};        // memory of a parked trip
  Share held_first{{}, Holding::calls};  // of first asks

  // --- Over
  TimePoint idle_since{};
  uint64_t last_end = 0;    // number of its last call's end, among the ends of all calls
  bool has_ended = false;   // in this turn
  bool is_private = false;  // its child knows something that belongs to one client
  bool is_spoilt = false;   // its child serves no other call

 private:
  RoundTrips& trips_;
};

// TripQuestions: turns requests of the children of trips into questions for their clients; see
// RoundTrips.
//
// Job: judge each request of a child by what the client of its call has declared, and add it to the
// trip, as a question or as one to be refused. Where one child serves all calls of a principal,
// questions before the first call are kept for the first client that may be asked. Owner:
// RoundTrips. Limits: config.limits.message bytes of questions of one trip.
class TripQuestions {
 public:
  TripQuestions(const pool::PoolServices& services, const backend::SessionRouter& sessions)
      : services_(services), sessions_(sessions) {}

  // A message of the trip's child. Returns whether it asks something.
  bool take(Trip& trip, std::string_view text);
  // The call of the trip has begun: takes the questions that its child asked before.
  void take_first(Trip& trip);
  // Adds a demand in a child's error (InputRuling::value).
  void add_demand(Trip& trip, std::string value) {
    trip.demands.push_back({next_key(), std::move(value)});
  }

 private:
  std::string next_key() { return std::string(Trip::kOwnKey) + std::to_string(++keys_); }
  bool add(Trip& trip, rpc::WireId ask, const rpc::Envelope& request, std::string_view method);

  const pool::PoolServices& services_;
  const backend::SessionRouter& sessions_;
  uint64_t keys_ = 0;
};

}  // namespace stdgate::mcp
