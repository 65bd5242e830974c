// PoolServices: what a pool and its children need from outside, as references that outlive them.
// FilterServices: what filters of a protocol need.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "gateway/audit.h"
#include "gateway/base/byte_storage.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/call/call_store.h"
#include "gateway/call/chain.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/policy/accounts.h"
#include "gateway/policy/overload.h"
#include "gateway/policy/quotas.h"
#include "gateway/pool/breaker.h"
#include "gateway/pool/child_link.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool_events.h"
#include "gateway/session/sealed_texts.h"

namespace stdgate::pool {

class Pool;

struct CoreServices {  // one for the whole gateway
  const Clock& clock;
  TimerQueue& timers;
  Log& log;
  Observer& observer;
  ChildLauncher& launcher;
  Random& random;
  StoragePool& storages;
  policy::ClientRates* session_starts =
      nullptr;  // rates of sessions with a child of their own; null: no limit
  const WallClock* wall_clock = nullptr;         // for CallRecord::arrived_at; null: not recorded
  Audit* audit = nullptr;                        // null: no audit
  const policy::Overload* overload = nullptr;    // null: never
  session::StateSeal* states = nullptr;          // of parked calls; null: none is parked
  const config::TracesConfig* traces = nullptr;  // which calls get spans; null: none
  policy::CallQuota* calls = nullptr;            // the limit of calls of all backends; null: none
  policy::Accounts* accounts = nullptr;          // null: nothing is charged

  // Pays for what this backend keeps for no client.
  [[nodiscard]] Payer payer_of(BackendId backend) const {
    return accounts == nullptr ? Payer() : accounts->backend(backend);
  }
};

struct PoolServices {  // one a backend
  const CoreServices& core;
  BackendId backend;
  const config::BackendConfig& config;
  const config::LimitsConfig& limits;
  const LaunchSpec& launch;
  const Dialect& dialect;
  call::CallStore& calls;
  call::Chain& chain;  // where the calls of the backend end
  // Replaces secrets in a child's text before the text is shown; none: the text is shown as it is.
  std::function<std::string(std::string_view)> hide_secrets = {};
  const bool& logs_messages = chain.logs_messages();  // see message_log.h
  Payer payer = core.payer_of(backend);               // pays for what is kept for no client

  // Pays for what is kept here for a client; null: no client is charged.
  [[nodiscard]] Payer payer_for(Account* client) const { return {client, payer.held}; }
  // A message is dropped: counts and logs it.
  void drop(DropReason reason) const { chain.drop(reason); }
};

// Parts of a backend that its filters use.
struct FilterServices {
  const PoolServices& services;
  Pool& pool;                     // may not be constructed yet
  ChildMessages& next;            // receives what the chain lets through of the children's messages
  const Duration& input_timeout;  // may change
};

}  // namespace stdgate::pool
