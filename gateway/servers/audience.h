// Receivers of changed lists of a virtual server. Presence: the clients that are here. ListNews:
// changed lists, by their receivers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "gateway/session/sinks.h"

namespace stdgate::servers {

inline constexpr uint8_t kAllLists = 7;  // bits of mcp::kMcpLists

// The clients that see a list: the client of one session, the clients of one principal, or all.
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

}  // namespace stdgate::servers
