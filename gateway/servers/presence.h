// Presence: the principals whose clients a virtual server would tell of changed lists: clients with
// a session, and clients that listen.
//
// Owner: the aggregate. Clients are counted by policy::identity_of(); empty: anonymous. Limit: the
// limits of sessions and of calls that listen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace stdgate::servers {

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
