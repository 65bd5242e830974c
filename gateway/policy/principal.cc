#include "gateway/policy/principal.h"

namespace stdgate::policy {

std::string identity_of(const Principal* principal) {
  if (principal == nullptr) return {};
  std::string text = std::to_string(static_cast<int>(principal->kind));
  text.append(" ").append(std::to_string(principal->issuer.size())).append(" ");
  return text.append(principal->issuer).append(principal->name);
}

}  // namespace stdgate::policy
