// NameClashes: tells of names that two members of a virtual server show, as only the first member's
// can be seen and called.
//
// Job: look at the lists of all members when one of them has changed, and write a line for each
// name that clashes. Owner: the virtual server. Limits: kMaxTold names, each told once; a server
// whose prefixes keep its members apart is not looked at.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gateway/base/log.h"
#include "gateway/servers/member.h"

namespace stdgate::servers {

class NameClashes {
 public:
  static constexpr size_t kMaxTold = 100;

  // `server`: the name of the virtual server.
  NameClashes(const std::string& server, Log& log) : server_(server), log_(log) {}

  // Of tools and prompts in the lists that clients share.
  void review(const std::vector<std::unique_ptr<Member>>& members);

 private:
  void review(ListKind kind, const std::vector<std::unique_ptr<Member>>& members);

  const std::string& server_;
  Log& log_;
  std::set<std::string> told_;
};

}  // namespace stdgate::servers
