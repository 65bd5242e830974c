// How a call beyond the limits of its client is refused and counted.
#pragma once

#include "gateway/observer.h"
#include "gateway/policy/client_quotas.h"
#include "gateway/rpc/fault.h"

namespace stdgate::backend {

struct CountedRefusal {
  Rejection reason;
  rpc::FaultReport report;
};

inline CountedRefusal counted_refusal(const policy::QuotaRefusal& refusal) {
  using Reason = policy::QuotaRefusal::Reason;
  switch (refusal.reason) {
    case Reason::rate:
      return {Rejection::rate,
              rpc::faults::rate_limited("too many calls of this client", refusal.wait)};
    case Reason::in_flight:
      return {
          Rejection::in_flight,
          rpc::faults::rate_limited("too many calls of this client at a time", rpc::kRetryHint)};
    case Reason::clients:
      break;
  }
  return {Rejection::clients, rpc::faults::too_many_clients()};
}

}  // namespace stdgate::backend
