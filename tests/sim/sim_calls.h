// SimCalls: the requests of one caller, and the messages that the caller has to receive for them.
// SimOwners: the clients that may receive messages of a child.
//
// A request names its caller, and children repeat the name in each message that the request causes.
// Children stamp what they write: "from" is their pid, "seq" the number of the message in their
// output. The receiver checks the stamps. Owner: a SimClient or a SimSession.
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

// In a history where sessions have children of their own, only one session receives messages of a
// child, or only callers without a session do. Children of the modern era keep no state of a
// client. Sessions may share modern children as soon as the gateway has found out that they are
// modern.
class SimOwners {
 public:
  static constexpr uint64_t kNoSession = 0;
  explicit SimOwners(const config::BackendConfig& config)
      : isolation_(config.isolation), shares_modern_(config.share_modern) {}

  [[nodiscard]] bool are_exclusive() const { return isolation_ == config::Isolation::session; }
  // `owner` has received a message of the child.
  void claim(int64_t pid, uint64_t owner, bool is_modern);
  // Like claim(), for a child that serves one call alone.
  void claim_own(int64_t pid, uint64_t owner) {
    const auto known = owners_.emplace(pid, owner).first;
    EXPECT_EQ(known->second, owner) << "a child of somebody else is heard";
  }
  uint64_t next() { return next_++; }
  // An id that tells callers apart, including callers without a session.
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
    bool is_of_gateway = false;  // the answer need not come from a child
    std::string progress_token;
    SimLife::Times times;
    bool may_be_asked = false;  // each question to the client extends the call's time
  };
  struct Request {
    session::Tag tag = 0;
    std::string text;
    std::optional<Duration> timeout{};  // nothing: the backend's timeout
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

  // Says whether requests from now on go to children that sessions of MCP share.
  void share(bool shares) {
    is_of_many_ = shares && owner_ != SimOwners::kNoSession && protocol_ == config::Protocol::mcp;
  }
  Request new_request() {
    return new_request(world_.chance(0.02) ? "initialize" : std::string(pick_method()));
  }
  Request new_greeting() { return new_request("initialize"); }
  // The params of an initialize that another process has answered.
  std::string old_greeting() {
    Call call;
    call.nonce = std::to_string(world_.random()());
    return params_of("initialize", call);
  }
  Request new_broken_request();
  // Cancels a call that may or may not be under way, with the protocol's notification.
  std::string new_cancel();

  void check_reply(session::Tag tag, const session::Reply& reply);
  void check_cancelled(session::Tag tag);
  // Checks the stamp of a child in the object: its number must be higher than all before.
  void check_stamp(std::string_view object);
  // Checks that a message that a call has caused names this caller.
  void check_cause(std::string_view params) const;
  // Checks the question of a modern child about this call.
  void check_question(session::Tag tag, std::string_view params) const;
  // Checks that the session has subscribed to the updated resource.
  void check_update(std::string_view params) const;
  // Checks that the progress belongs to an open call.
  void check_progress(std::string_view notification) const;

  // The open calls will not be answered any more.
  void forget_all() { open_.clear(); }
  [[nodiscard]] const Call* find(session::Tag tag) const;
  [[nodiscard]] size_t open() const { return open_.size(); }
  // Whether any child has answered.
  [[nodiscard]] bool has_heard() const { return !heard_.empty(); }
  // The id that tells children who calls.
  [[nodiscard]] uint64_t caller() const { return caller_; }
  // Whether a call has ended without the child's answer, so that the child may still work on it.
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
  const Duration timeout_;  // default of the backend
  const Duration max_time_;
  bool is_of_many_ = false;  // this is a session of MCP that shares children
  const uint64_t owner_;
  const uint64_t caller_;
  bool has_abandoned_ = false;
  std::map<session::Tag, Call> open_;
  std::map<int64_t, uint64_t> heard_;  // the last stamp, by child
  std::set<std::string> subscribed_;   // resources that were subscribed to at any time
  session::Tag next_tag_ = 1;
  uint64_t requests_ = 0;
};

// Whether a message of a child says that the child is of the modern era.
bool is_of_modern(std::string_view object);

// The protocol's notification that cancels a request.
std::string cancel_text(config::Protocol protocol, std::string_view id);

}  // namespace stdgate::sim
