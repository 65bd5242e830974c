// BridgeParts: the parts of a backend that the bridge of its protocol uses (pool::Bridge).
#pragma once

#include <functional>

#include "gateway/backend/upstream.h"
#include "gateway/base/time.h"
#include "gateway/call/trace_filter.h"
#include "gateway/config/config.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"
#include "gateway/session/sinks.h"

namespace stdgate::backend {

class SessionDelivery;
class SessionRouter;

// Some are constructed after the bridge and end before it, so no constructor and no destructor uses
// them.
struct BridgeParts {
  Upstream& backend;
  config::BackendConfig& config;  // the one in `services`
  const pool::PoolServices& services;
  pool::Pool& pool;
  SessionRouter& sessions;
  session::Callers& callers;
  call::TraceFilter& traces;
  SessionDelivery& next;          // receives what the chain lets through of children's messages
  const Duration& input_timeout;  // may change
  bool has_principals = false;    // see BackendOptions
  // Sessions share children from now on, or do not any more.
  std::function<void(bool)> note_sharing;
};

}  // namespace stdgate::backend
