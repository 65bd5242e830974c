// Listening: clients of the modern era that listen (subscriptions/listen) at a virtual server.
//
// Job: keep their calls, tell them of changed lists, and of updated resources, for which it listens
// at the members that have these. Owner: the virtual server. Limits: those of calls, and
// CapacityFilter::kMaxListening a call.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/call/chain.h"
#include "gateway/session/reply_sink.h"

namespace stdgate::servers {

class Listening {
 public:
  Listening(call::Chain& chain, session::Callers& callers) : chain_(chain), callers_(callers) {}

  // Of a request with these params: the URIs whose updates it wants, decoded.
  static std::vector<std::string> wished_uris(std::string_view params);
  // The request with which the gateway listens for it at a member, under this tag. `stamp`: the
  // client's own members of _meta, as an object; raw.
  static std::string request_for(session::Tag tag, std::string_view meta,
                                 const std::vector<std::string>& uris);

  // Tells the client that it listens. `key` is not in use.
  void begin(uint64_t key, call::CallPtr call, uint8_t lists, const std::vector<std::string>& uris);
  // A member has said this to the call of the gateway that listens for it.
  void on_event(uint64_t key, std::string_view notification);
  void tell_changed(uint8_t lists);
  // All get their results.
  void end_all();
  // Of those whose calls fit: they are ended without an answer; gives their keys.
  std::vector<uint64_t> withdraw(const std::function<bool(const call::Call&)>& fits,
                                 Outcome outcome, std::string_view detail);
  [[nodiscard]] size_t size() const { return listeners_.size(); }
  [[nodiscard]] bool has(uint64_t key) const { return listeners_.contains(key); }

 private:
  void tell(const call::Call& call, std::string_view notification);

  call::Chain& chain_;
  session::Callers& callers_;
  std::map<uint64_t, call::CallPtr> listeners_;
};

}  // namespace stdgate::servers
