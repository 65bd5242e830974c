#include "gateway/servers/member_sight.h"

#include "gateway/policy/name_pattern.h"

namespace stdgate::servers {

Sight Sight::by(const policy::Rules& rules, const policy::Principal* principal) {
  Sight sight;
  if (!rules.any()) return sight;
  sight.rules_ = &rules;
  sight.set_ = rules.rules_of(principal);
  return sight;
}

bool Sight::shows(ListKind kind, std::string_view own) const {
  if (rules_ == nullptr) return true;
  const call::ListShape& shape = shape_of(kind);
  const bool is_plain = shape.kind == policy::ElementKind::resource ? policy::is_plain_uri(own)
                                                                    : policy::is_plain_name(own);
  if (!rules_->takes_method(shape.use)) return false;
  return rules_->shows(set_, {shape.use, shape.kind, own, is_plain});
}

}  // namespace stdgate::servers
