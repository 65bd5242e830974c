#include "gateway/mcp/cache_filter.h"

#include <utility>

#include "gateway/policy/principal.h"
#include "gateway/pool/dialect.h"

namespace stdgate::mcp {

void CacheFilter::answer(call::CallPtr& call, const call::Request& request) {
  if (pool_.is_draining()) return;
  std::string key = cache_key(request.message, request.method);
  if (key.empty() || key.size() > AnswerCache::kMaxEntryBytes) return;
  std::string identity = policy::identity_of(request.context.principal);
  if (const auto known = cache_.find(identity, key, now())) {
    services_.core.observer.on_cache_hit(services_.backend);
    return chain_.on_result(std::move(call), known->payload, known->child);
  }
  call->kept_bytes += key.size();
  states_.of(call->slots) = {std::move(key), std::move(identity)};
}

bool CacheFilter::on_child_message(call::ChildMessage& message) {
  if (const auto change = pool::change_told_by(message, services_.dialect)) {
    cache_.note_change(*change);
  }
  return true;
}

}  // namespace stdgate::mcp
