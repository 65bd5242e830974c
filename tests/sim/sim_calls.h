// SimCalls: the requests of one caller, and the messages that it has to get for them. SimOwners:
// which clients may hear which child.
//
// A request says who made it, and children repeat that in each message that it causes. They stamp
// what they write: "from" is their pid, "seq" its place in their output. The receiver checks the
// stamps. Owner: a SimClient or a SimSession.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "gateway/config/config.h"
#include "gateway/session/sinks.h"
#include "tests/sim/sim_records.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// In a history where sessions have children of their own, a child is heard by one session only, or
// by those without a session. Children of the modern era keep nothing of a client, and sessions may
// share them from the moment on when the gateway has found out that they are so.
class SimOwners {
 public:
  static constexpr uint64_t kNoSession = 0;
  explicit SimOwners(const config::BackendConfig& config)
      : isolation_(config.isolation), shares_modern_(config.share_modern) {}

  [[nodiscard]] bool are_exclusive() const { return isolation_ == config::Isolation::session; }
  // `owner` has heard the child.
  void claim(int64_t pid, uint64_t owner, bool is_modern);
  // Like claim(), for a child that a call has alone.
  void claim_own(int64_t pid, uint64_t owner) {
    const auto known = owners_.emplace(pid, owner).first;
    EXPECT_EQ(known->second, owner) << "a child of somebody else is heard";
  }
  uint64_t next() { return next_++; }
  // Tells callers apart, those without a session included.
  uint64_t next_caller() { return next_caller_++; }

 private:
  const config::Isolation isolation_;
  const bool shares_modern_;
  std::map<int64_t, uint64_t> owners_;
  std::map<uint64_t, int64_t> newest_;  // by owner: the child that was started last
  uint64_t next_ = kNoSession + 1;
  uint64_t next_caller_ = 1;
};

class SimCalls {
 public:
  struct Call {
    std::string id;
    std::string nonce;
    bool is_of_gateway = false;  // the answer need not be a child's own
    std::string progress_token;
    SimLife::Times times;
    bool may_be_asked = false;  // each time its client is, it has more time
  };
  struct Request {
    session::Tag tag = 0;
    std::string text;
    std::optional<Duration> timeout{};  // nothing: the backend's
  };

  SimCalls(SimWorld& world, SimOwners& owners, const config::BackendConfig& backend,
           SimRecords& records, uint64_t owner)
      : world_(world),
        owners_(owners),
        records_(records),
        protocol_(backend.protocol),
        timeout_(backend.timeout),
        max_time_(backend.max_time),
        owner_(owner),
        caller_(owners.next_caller()) {}

  // From now on its requests are for children that sessions of MCP share, or not.
  void share(bool shares) {
    is_of_many_ = shares && owner_ != SimOwners::kNoSession && protocol_ == config::Protocol::mcp;
  }
  Request new_request() {
    return new_request(world_.chance(0.02) ? "initialize" : std::string(pick_method()));
  }
  Request new_greeting() { return new_request("initialize"); }
  // The params of one that was answered elsewhere.
  std::string old_greeting() {
    Call call;
    call.nonce = std::to_string(world_.random()());
    return params_of("initialize", call);
  }
  Request new_broken_request();
  // Of a call that may or may not be under way, in the protocol's way.
  std::string new_cancel();

  void check_reply(session::Tag tag, const session::Reply& reply);
  void check_cancelled(session::Tag tag);
  // The value holds a child's stamp, which is to be newer than those before.
  void check_stamp(std::string_view object);
  // A message of a child that a call has caused names the caller, which has to be this one.
  void check_cause(std::string_view params) const;
  // A modern child wants to know something for this call.
  void check_question(session::Tag tag, std::string_view params) const;
  // A resource has been updated that the session has subscribed to.
  void check_update(std::string_view params) const;
  // A progress that belongs to an open call.
  void check_progress(std::string_view notification) const;

  // Nothing of what is under way is answered any more.
  void forget_all() { open_.clear(); }
  [[nodiscard]] const Call* find(session::Tag tag) const;
  [[nodiscard]] size_t open() const { return open_.size(); }
  // Whether any child has answered.
  [[nodiscard]] bool has_heard() const { return !heard_.empty(); }
  // As which it is known to children.
  [[nodiscard]] uint64_t caller() const { return caller_; }
  // Some call has ended without the child's answer, and the child may still be at it.
  [[nodiscard]] bool has_abandoned() const { return has_abandoned_; }
  [[nodiscard]] uint64_t requests() const { return requests_; }

 private:
  Request new_request(const std::string& method);
  std::string pick_id();
  std::string_view pick_method();
  std::string params_of(const std::string& method, const Call& call);
  void check_error(const Call& call, std::string_view text);
  void check_time(const Call& call, const session::Reply& reply, std::string_view text) const;

  SimWorld& world_;
  SimOwners& owners_;
  SimRecords& records_;
  const config::Protocol protocol_;
  const Duration timeout_;  // of the backend
  const Duration max_time_;
  bool is_of_many_ = false;  // a session of MCP that shares children
  const uint64_t owner_;
  const uint64_t caller_;
  bool has_abandoned_ = false;
  std::map<session::Tag, Call> open_;
  std::map<int64_t, uint64_t> heard_;  // by child: the last stamp
  std::set<std::string> subscribed_;   // resources, at any time
  session::Tag next_tag_ = 1;
  uint64_t requests_ = 0;
};

// Whether a message of a child says that the child is of the modern era.
bool is_of_modern(std::string_view object);

// The protocol's notification that takes a request back.
std::string cancel_text(config::Protocol protocol, std::string_view id);

}  // namespace stdgate::sim
