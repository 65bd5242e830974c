// Subscriptions: what sessions that share children have subscribed to, and which child reports it.
//
// Job: know which sessions receive which updates, which subscriptions a child can end, and which
// have lost their child. Bookkeeping only: the owner sends the messages. A subscription is to a
// key, an opaque text; a child is known by its number. A child holds a key for all sessions that
// subscribed through it. The child is asked to end a subscription only when the last of these
// sessions is gone. It is not asked while a request for the same key is under way, because it could
// handle the two in either order. Owner: SharedWishes. Limits: kMaxPerSession keys of a
// session, kMaxKey bytes each and kMaxBytesPerSession together, so no session can use up the room
// of others; kMaxUnwanted keys that have to be ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/rpc/fault.h"
#include "gateway/session/sinks.h"

namespace stdgate::session {

class Subscriptions {
 public:
  static constexpr size_t kMaxPerSession = 256;
  static constexpr size_t kMaxBytesPerSession = 64 << 10;
  static constexpr size_t kMaxUnwanted = 8192;
  static constexpr size_t kMaxKey = 2048;

  // Why a session that has `count` keys of `bytes` bytes together may not have one more. Nothing:
  // it may.
  static std::optional<rpc::FaultReport> refusal(size_t count, size_t bytes, std::string_view key);

  // The session wants the key. True: a child has to be asked; finish() has to follow in any case.
  // False: the session has the key already.
  tl::expected<bool, rpc::FaultReport> request(SessionId session, std::string_view key);

  enum class Answer : uint8_t {
    granted,
    refused,
    unknown,  // the child may have subscribed or not
  };
  // `child`: the child that was asked; 0: none that still runs.
  void finish(SessionId session, std::string_view key, uint64_t child, Answer answer);

  // The session wants the key, and no request for it is under way, so any child may adopt() it.
  // False: the session has the key already, or there is no room for it.
  bool await(SessionId session, std::string_view key);

  // What follows from the end of a session's subscription.
  struct Withdrawal {
    bool known = false;  // the session had subscribed, or had asked to
    uint64_t child = 0;  // not 0: this child holds the key for no session now; see take_unwanted()
  };
  Withdrawal withdraw(SessionId session, std::string_view key);
  void close(SessionId session);

  // Memory of the session's subscriptions.
  [[nodiscard]] size_t bytes_of(SessionId session) const;

  // The child has gone; its sessions wait for another child.
  void lose_child(uint64_t child);

  // Null: no session has subscribed to this key through this child.
  [[nodiscard]] const std::vector<SessionId>* find(uint64_t child, std::string_view key) const;
  // Whether the child holds a key for any session.
  [[nodiscard]] bool has_any(uint64_t child) const { return held_.contains(child); }
  // Like has_any(), but also true for keys that no session needs and the child still has to end.
  [[nodiscard]] bool has_or_had_any(uint64_t child) const {
    return has_any(child) || unwanted_.contains(child);
  }

  // Whether any session has subscribed to the key or has asked to; then no child may end it.
  [[nodiscard]] bool is_wanted(std::string_view key) const;

  // Whether no child has to be asked anything.
  [[nodiscard]] bool settled() const { return unwanted_.empty() && !has_any(kNoChild); }
  // A key that the caller has to ask the child to end. Nothing: none at the moment.
  std::optional<std::string> take_unwanted(uint64_t child);
  // Whether the caller has to ask the child to end this key; false also while it may not end yet.
  bool take_unwanted(uint64_t child, std::string_view key);
  // A key that has lost its child. The key belongs to this child from now on, and the caller asks
  // the child to subscribe to it. Nothing: no key has lost its child.
  std::optional<std::string> adopt(uint64_t child);

  // Ends the process if an invariant is broken.
  void check_invariants(const std::function<bool(SessionId)>& is_open,
                        const std::function<bool(uint64_t)>& is_running) const;

 private:
  static constexpr uint64_t kNoChild = 0;

  struct SessionLess {
    bool operator()(SessionId a, SessionId b) const {
      return a.index != b.index ? a.index < b.index : a.generation < b.generation;
    }
  };
  struct Wish {
    size_t asked = 0;               // number of requests under way
    bool wanted = true;             // false: withdrawn while requests were under way
    std::optional<uint64_t> child;  // holds the key; kNoChild: the former holder has gone
    size_t place = 0;               // index of the session in held_
  };
  struct Wishes {
    std::map<std::string, Wish, std::less<>> by_key;
    size_t bytes = 0;  // of the keys
  };
  // Keys without a request under way can be ended now.
  struct Unwanted {
    std::set<std::string, std::less<>> free;
    std::set<std::string, std::less<>> asked;
    [[nodiscard]] size_t size() const { return free.size() + asked.size(); }
  };

  Wish* find_wish(SessionId session, std::string_view key);
  // Removes the session with this index there. Returns whether the child holds the key for no
  // session any more.
  bool leave(std::string_view key, uint64_t child, size_t place);
  void note_asked(std::string_view key);
  void note_answered(std::string_view key);
  void let_go(uint64_t child, std::string_view key);
  bool forget_unwanted(uint64_t child, std::string_view key);
  void move(const std::vector<SessionId>& sessions, std::string_view key, uint64_t to);
  void drop_if_over(SessionId session, std::string_view key);

  // A wish has a child if and only if its session is in `held_` there.
  std::map<SessionId, Wishes, SessionLess> wishes_;
  // By child, then by key; neither level has empty entries.
  std::map<uint64_t, std::map<std::string, std::vector<SessionId>, std::less<>>> held_;
  std::map<uint64_t, Unwanted> unwanted_;  // without empty entries; its keys are not in `held_`
  size_t unwanted_count_ = 0;
  std::map<std::string, size_t, std::less<>> asked_;  // requests under way, of all sessions
};

}  // namespace stdgate::session
