// FilterServices: what the filters of a dialect need from their backend.
#pragma once

#include "gateway/call/chain.h"
#include "gateway/pool/child_listener.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

class Pool;

struct FilterServices {
  const PoolServices& services;
  Pool& pool;  // may not be constructed yet
  call::Chain& chain;
  ChildListener& next;            // receives what the chain lets through of the children's messages
  const Duration& input_timeout;  // may change
};

}  // namespace stdgate::pool
