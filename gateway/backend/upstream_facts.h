// The facts about a backend that rarely change, from its configuration and its protocol.
#pragma once

#include "gateway/backend/upstream.h"
#include "gateway/config/config.h"
#include "gateway/pool/dialect.h"

namespace stdgate::backend {

UpstreamFacts upstream_facts(BackendId id, const config::BackendConfig& config,
                             const config::LimitsConfig& limits, const pool::Dialect& dialect,
                             HeldBytes* held);

}  // namespace stdgate::backend
