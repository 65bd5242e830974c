// FilterServices: what a dialect's filters need to stand between rules and children.
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
  ChildListener& next;            // hears of children what the chain lets through
  const Duration& input_timeout;  // may change
};

}  // namespace stdgate::pool
