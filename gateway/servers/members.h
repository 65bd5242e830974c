// Members: the members of a virtual server, each at a place of its own. NameClashes: names that two
// members show.
//
// Calls, tasks and parts of sessions name a member by its place, so a place keeps its backend. A
// reload that removes a member leaves its place. A member of the same backend that comes back gets
// the place again. Owner: the aggregate. Limit: the names that a gateway ever had.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gateway/base/log.h"
#include "gateway/servers/member.h"

namespace stdgate::servers {

class Members {
 public:
  using Make = std::function<std::unique_ptr<Member>(const config::MemberConfig& config)>;

  // Creates new or changed members and returns their places. They have to be attached. Members that
  // are not wanted leave.
  std::vector<size_t> replace(const std::vector<config::MemberConfig>& wanted, const Make& make);

  // Places in the order of the configuration, without members that have left.
  [[nodiscard]] std::span<const size_t> order() const { return order_; }
  [[nodiscard]] const std::unique_ptr<Member>& operator[](size_t place) const {
    return all_[place];
  }
  // Members by place, including members that have left.
  [[nodiscard]] const std::vector<std::unique_ptr<Member>>& all() const { return all_; }

 private:
  [[nodiscard]] size_t place_of(const config::MemberConfig& wanted) const;

  std::vector<std::unique_ptr<Member>> all_;
  std::vector<size_t> order_;
};

// NameClashes: tells of names that two members of a virtual server show, as only the first member's
// can be seen and called.
//
// Job: look at the lists of all members when one of them has changed, and write a line for each
// name that clashes. Owner: the virtual server. Limits: kMaxTold names, each told once; a server
// whose prefixes keep its members apart is not looked at.
class NameClashes {
 public:
  static constexpr size_t kMaxTold = 100;

  // `server`: the name of the virtual server.
  NameClashes(const std::string& server, Log& log) : server_(server), log_(log) {}

  // Looks at tools and prompts in the lists that clients share.
  void review(const std::vector<std::unique_ptr<Member>>& members);

 private:
  void review(ListKind kind, const std::vector<std::unique_ptr<Member>>& members);

  const std::string& server_;
  Log& log_;
  std::set<std::string> told_;
};

}  // namespace stdgate::servers
