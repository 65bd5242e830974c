// Listening: clients of the modern era that listen (subscriptions/listen) at a virtual server.
// MemberListening: the gateway itself, which listens at the members.
//
// Job: keep these calls; tell their clients of changed lists, updated resources and tasks. Owner:
// the virtual server. Limits: kMaxUris URIs, and as many tasks, of at most kMaxUri bytes each for a
// call, further ones are not promised; CapacityFilter::kMaxListening for a call, and the limits of
// calls.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/call/chain.h"
#include "gateway/policy/client.h"
#include "gateway/servers/audience.h"
#include "gateway/session/sinks.h"
#include "gateway/session/subscriptions.h"

namespace stdgate::servers {

// Resources and tasks that a client listens for, besides lists. All decoded.
struct ListenedWishes {
  std::vector<std::string> uris;
  std::vector<std::string> tasks;  // ids
};

class Listening {
 public:
  static constexpr size_t kMaxUris = session::Subscriptions::kMaxPerSession;
  static constexpr size_t kMaxUri = session::Subscriptions::kMaxKey;

  Listening(call::Chain& chain, session::Callers& callers, Presence& clients)
      : chain_(chain), callers_(callers), clients_(clients) {}

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
  // Ends the calls that fit without an answer, and returns their keys.
  std::vector<uint64_t> withdraw(const std::function<bool(const call::Call&)>& fits,
                                 Outcome outcome, std::string_view detail);
  [[nodiscard]] size_t size() const { return listeners_.size(); }
  template <class Visitor>
  void for_each_call(Visitor&& visit) const {
    for (const auto& [key, listener] : listeners_) visit(*listener.call);
  }
  [[nodiscard]] bool has(uint64_t key) const { return listeners_.contains(key); }

 private:
  struct Listener {
    call::CallPtr call;
    uint8_t lists = 0;  // whose changes it hears of: bits of the dialect
  };
  void tell(const call::Call& call, std::string_view notification);

  call::Chain& chain_;
  session::Callers& callers_;
  Presence& clients_;
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
