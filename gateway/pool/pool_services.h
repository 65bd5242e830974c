// PoolServices: what a pool and its children need from outside, as references that outlive them.
#pragma once

#include "gateway/base/log.h"
#include "gateway/base/storage_pool.h"
#include "gateway/base/time.h"
#include "gateway/base/timers.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/pool/breaker.h"
#include "gateway/pool/call_store.h"
#include "gateway/pool/child_link.h"
#include "gateway/pool/dialect.h"

namespace stdgate {

struct CoreServices {  // one for the whole gateway
  const Clock& clock;
  TimerQueue& timers;
  Log& log;
  Observer& observer;
  ChildLauncher& launcher;
  Random& random;
  StoragePool& storages;
};

struct PoolServices {  // one a backend
  const CoreServices& core;
  BackendId backend;
  const BackendConfig& config;
  const LimitsConfig& limits;
  const LaunchSpec& launch;
  const Dialect& dialect;
  CallStore& calls;
};

}  // namespace stdgate
