// Clients that hear of changes: who they are, and the calls by which a virtual server listens to
// its members for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/call/chain.h"
#include "gateway/policy/client.h"
#include "gateway/session/sinks.h"
#include "gateway/session/subscriptions.h"

namespace stdgate::servers {

inline constexpr uint8_t kAllLists = 7;  // bits of mcp::kMcpLists

// Audience: the clients that see a list: the client of one session, the clients of one principal,
// or all.
struct Audience {
  std::string identity{};        // see policy::identity_of(); empty: all
  session::SessionId session{};  // none: not of one session alone

  friend bool operator<(const Audience& a, const Audience& b) {
    return std::tie(a.session.index, a.session.generation, a.identity) <
           std::tie(b.session.index, b.session.generation, b.identity);
  }
};

// ListNews: changed lists, by the clients that are to be told.
class ListNews {
 public:
  // `lists`: bits of mcp::kMcpLists.
  void add(const Audience& audience, uint8_t lists) {
    uint8_t& all = lists_[audience];
    all = static_cast<uint8_t>(all | lists);
  }
  [[nodiscard]] uint8_t of(std::string_view identity, session::SessionId session) const {
    const unsigned own = session.is_none() ? 0U : at({{}, session});
    const unsigned shared = identity.empty() ? 0U : at({std::string(identity), {}});
    return static_cast<uint8_t>(at({}) | own | shared);
  }
  [[nodiscard]] bool any() const { return !lists_.empty(); }

 private:
  [[nodiscard]] uint8_t at(const Audience& audience) const {
    const auto found = lists_.find(audience);
    return found == lists_.end() ? uint8_t{0} : found->second;
  }

  std::map<Audience, uint8_t> lists_;
};

// Presence: the principals whose clients a virtual server would tell of changed lists: clients with
// a session, and clients that listen.
//
// Owner: the aggregate. Clients are counted by policy::identity_of(); empty: anonymous. Limit: the
// limits of sessions and of calls that listen.
class Presence {
 public:
  enum class As : uint8_t { session, listener };

  void come(const std::string& identity, As as);
  void go(const std::string& identity, As as);
  [[nodiscard]] bool any() const { return !counts_.empty(); }
  // Clients, each as often as it is here.
  [[nodiscard]] size_t size() const;
  [[nodiscard]] bool any_listener() const { return listeners_ > 0; }
  [[nodiscard]] bool has(std::string_view identity) const { return counts_.contains(identity); }
  // Whether other identities are here than at the last call, or the first listener has come, or the
  // last one has gone.
  bool take_change() { return std::exchange(is_changed_, false); }

 private:
  std::map<std::string, size_t, std::less<>> counts_;
  size_t listeners_ = 0;
  bool is_changed_ = false;
};

// Resources and tasks that a client listens for, besides lists. All decoded.
struct ListenedWishes {
  std::vector<std::string> uris;
  std::vector<std::string> tasks;  // ids
};

// Listening: the calls of modern clients that listen (subscriptions/listen) at a virtual server.
//
// Job: tell their clients of changed lists, updated resources and tasks. The chain keeps the calls
// (Chain::keep). Owner: the virtual server. Limits: kMaxUris URIs, and as many tasks, of at most
// kMaxUri bytes each for a call, further ones are not promised; CapacityFilter::kMaxListening for a
// call, and the limits of calls.
class Listening {
 public:
  static constexpr size_t kMaxUris = session::Subscriptions::kMaxPerSession;
  static constexpr size_t kMaxUri = session::Subscriptions::kMaxKey;

  Listening(call::Chain& chain, call::CallStore& calls, session::Callers& callers,
            Presence& clients)
      : chain_(chain), callers_(callers), clients_(clients), keys_(calls.reserve<uint64_t>()) {}

  // The wishes of a request with these params, as far as they may be watched. An error: readers
  // could see different ones.
  static tl::expected<ListenedWishes, const char*> wishes_of(std::string_view params);
  // The gateway's own request, under this tag, that listens at a member for the call. `stamp`: the
  // members of the client's _meta, as a raw object.
  static std::string request_for(session::Tag tag, std::string_view meta,
                                 const ListenedWishes& wishes);

  // Tells the client, whose identity the call has, that it listens. `key` is not in use.
  void begin(uint64_t key, call::CallPtr call, uint8_t lists, const ListenedWishes& heard);
  // A member has sent this notification to the gateway's own call that listens.
  void on_event(uint64_t key, std::string_view notification);
  void tell_changed(const ListNews& news);
  // Ends all calls with a result.
  void end_all();
  // A call has ended. Returns its key; nothing: it did not listen.
  std::optional<uint64_t> note_end(const call::Call& call);
  [[nodiscard]] size_t size() const { return listeners_.size(); }
  [[nodiscard]] bool has(uint64_t key) const { return listeners_.contains(key); }

 private:
  struct Listener {
    const call::Call& call;
    uint8_t lists = 0;  // whose changes it hears of: bits of the dialect
  };
  void tell(const call::Call& call, std::string_view notification);

  call::Chain& chain_;
  session::Callers& callers_;
  Presence& clients_;
  const call::Slot<uint64_t> keys_;
  std::map<uint64_t, Listener> listeners_;
};

// MemberListening: listens at a member of the modern era for changes of its lists. Its children
// report them only to a client that listens.
//
// Job: keep one such call in the gateway's own name, or one for each principal where each has
// children of its own. The calls exist so that the children report; who hears of it is the member's
// ListWatch. Owner: the member. Limit: Member::kMaxViews principals.
class MemberListening {
 public:
  // Tags of these calls, and those above; no other request of a member has one of them.
  static constexpr session::Tag kFirstTag = uint64_t{1} << 63;

  MemberListening(const Clock& clock, const std::string& stamp, const session::CallerSlot& caller)
      : clock_(clock), stamp_(stamp), caller_(caller) {}

  // Listens for these principals from now on; null stands for all clients. `may_wake`: also at a
  // server that sleeps.
  void settle(backend::Upstream& upstream, const std::vector<const policy::Principal*>& wanted,
              bool may_wake);
  // A call has ended. False: it is none of these.
  bool note_end(session::Tag tag);
  // The calls have been cancelled.
  void forget() { calls_.clear(); }
  [[nodiscard]] size_t size() const { return calls_.size(); }

 private:
  struct Call {
    session::Tag tag;
    std::optional<policy::Principal> principal;
  };

  void cancel(backend::Upstream& upstream, const Call& call) const;
  [[nodiscard]] call::CallContext context_for(const std::optional<policy::Principal>& of) const;

  const Clock& clock_;
  const std::string& stamp_;
  const session::CallerSlot& caller_;
  session::Tag last_tag_ = kFirstTag;
  std::map<std::string, Call> calls_;  // by identity
};

}  // namespace stdgate::servers
