// How a call beyond the limits of its client, or of all, is refused and counted.
#pragma once

#include <string>
#include <string_view>

#include "gateway/observer.h"
#include "gateway/policy/client_quotas.h"
#include "gateway/rpc/fault.h"

namespace stdgate::backend {

struct CountedRefusal {
  Rejection reason;
  rpc::FaultReport report;
};

inline std::string too_many_of(policy::QuotaRefusal::Whose whose, std::string_view more) {
  using Whose = policy::QuotaRefusal::Whose;
  std::string text = "too many calls";
  if (whose == Whose::client) text += " of this client";
  if (whose == Whose::backend) text += " of this backend";
  return text.append(more);
}

inline CountedRefusal counted_refusal(const policy::QuotaRefusal& refusal) {
  using Reason = policy::QuotaRefusal::Reason;
  switch (refusal.reason) {
    case Reason::rate:
      return {Rejection::rate,
              rpc::faults::rate_limited(too_many_of(refusal.whose, ""), refusal.wait)};
    case Reason::in_flight:
      return {Rejection::in_flight,
              rpc::faults::rate_limited(too_many_of(refusal.whose, " at a time"), rpc::kRetryHint)};
    case Reason::clients:
      break;
  }
  return {Rejection::clients, rpc::faults::too_many_clients()};
}

}  // namespace stdgate::backend
