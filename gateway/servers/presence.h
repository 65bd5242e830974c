// Presence: whose clients a virtual server has that would hear of changed lists: those with a
// session, and those that listen.
//
// Owner: the aggregate. Clients are counted by policy::identity_of(); empty: anonymous. Limit: the
// limits of sessions and of calls that listen.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace stdgate::servers {

class Presence {
 public:
  void come(const std::string& identity);
  void go(const std::string& identity);
  [[nodiscard]] bool any() const { return !counts_.empty(); }
  [[nodiscard]] bool has(std::string_view identity) const { return counts_.contains(identity); }
  // Whether other identities are here than at the last call.
  bool take_change() { return std::exchange(is_changed_, false); }

 private:
  std::map<std::string, size_t, std::less<>> counts_;
  bool is_changed_ = false;
};

}  // namespace stdgate::servers
