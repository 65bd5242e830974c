// Sight: whether the rules of a backend, or of a virtual server, let a client see, and so use, an
// element.
#pragma once

#include <string_view>

#include "gateway/policy/principal.h"
#include "gateway/policy/rules.h"
#include "gateway/servers/element_list.h"

namespace stdgate::servers {

class Sight {
 public:
  static Sight by(const policy::Rules& rules, const policy::Principal* principal);
  // `name`: as the rules have it.
  [[nodiscard]] bool shows(ListKind kind, std::string_view name) const;

 private:
  const policy::Rules* rules_ = nullptr;
  policy::RuleSet set_;
};

}  // namespace stdgate::servers
