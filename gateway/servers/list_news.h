// ListNews: which lists have changed, for which clients of a virtual server.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "gateway/session/session_sink.h"

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

}  // namespace stdgate::servers
