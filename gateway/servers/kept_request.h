// KeptRequest: a request that waits, with the context in which it came.
//
// Owner: the part of the server that makes the request wait, together with its call. The call's
// account pays for it.
#pragma once

#include <optional>
#include <string>

#include "gateway/base/client_address.h"
#include "gateway/base/trace_context.h"
#include "gateway/call/call_context.h"
#include "gateway/policy/principal.h"
#include "gateway/rpc/fault.h"

namespace stdgate::servers {

class KeptRequest {
 public:
  KeptRequest(std::string_view request, std::string_view method_name,
              const call::CallContext& context);
  KeptRequest(const KeptRequest&) = delete;  // its context points into itself
  KeptRequest& operator=(const KeptRequest&) = delete;

  [[nodiscard]] const call::CallContext& context() const { return context_; }

  std::string text;
  const std::string method;
  std::optional<rpc::FaultReport> fault{};  // of the first member that could not answer it

 private:
  call::CallContext context_;
  std::optional<policy::Principal> principal_;
  std::optional<ClientAddress> client_;
  std::optional<TraceContext> trace_;
  std::string mirrored_;
};

}  // namespace stdgate::servers
