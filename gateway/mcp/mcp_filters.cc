#include "gateway/mcp/mcp_filters.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gateway/call/chain.h"
#include "gateway/mcp/cache_filter.h"
#include "gateway/mcp/check_judge.h"
#include "gateway/mcp/claim_filter.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/listed_filter.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/mcp/param_filter.h"
#include "gateway/mcp/pin_judge.h"

namespace stdgate::mcp {

namespace {

// EraAnswers: notes the revision that a client speaks, and translates answers of children for
// clients of the other era (era_bridge.h).
//
// The filter stands above the rules, because these judge and cut the words of the child.
class EraAnswers final : public call::Filter {
 public:
  explicit EraAnswers(const pool::FilterServices& services)
      : texts_(services.services.calls.reserve<call::KeptText>()) {
    services.services.chain.add("eras", *this);
  }

  void on_begin(call::Call& call, const call::Arrival& arrival) override {
    if (arrival.context.peer_kind == PeerKind::stateless) call.revision = kModernRevision;
  }
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    const PeerKind client = call->client_kind.value_or(PeerKind::stateful);
    if (call->child_kind && *call->child_kind != client) translate(*call, client, answer);
  }

 private:
  void translate(call::Call& call, PeerKind client, call::Answer& answer) const;

  const call::Slot<call::KeptText> texts_;  // the translated end of the answer
};

void EraAnswers::translate(call::Call& call, PeerKind client, call::Answer& answer) const {
  rpc::Envelope seen = answer.message;
  seen.payload = answer.payload;
  std::string& text = texts_.of(call.slots).text;
  text = ",";
  const bool is_another = client == PeerKind::stateless
                              ? bridge_to_modern(seen, call.method_name, text)
                              : bridge_to_legacy(seen, call.method_name, call.greeting, text);
  if (!is_another) return;
  text += '}';
  answer.tail = text;
}

// The filters between rules and children.
class McpFilters {
 public:
  McpFilters(const pool::FilterServices& services, const McpDialect& dialect)
      : params_(services, dialect) {
    // Claims before the cache: kept results are the words of a child, and are sealed for each
    // client.
    if (ClaimFilter::is_wanted(services.services)) {
      services.services.chain.add("claims", claims_.emplace(services));
    }
    if (services.services.config.cache)
      services.services.chain.add("cache", cache_.emplace(services));
    // Params behind the cache: calls are held here, which is needed only if a child has to answer.
    services.services.chain.add("params", params_);
  }

 private:
  std::optional<ClaimFilter> claims_;  // nothing: pool.sticky is off
  std::optional<CacheFilter> cache_;   // nothing: caching is off
  ParamFilter params_;
};

// The filter that asks for the lists of servers, and the judges that use them.
class JudgingFilters {
 public:
  JudgingFilters(const pool::FilterServices& services, const McpDialect& dialect)
      : lists_(services, dialect) {
    const config::BackendConfig& config = services.services.config;
    // Before the checks: what is not pinned is not even looked at.
    if (config.pins != config::Pins::off) {
      auto lock = ToolLock::read(config.lock_text, config.name);
      if (!lock) {
        services.services.core.log.write(
            LogLevel::error, "the lock file cannot be read: nothing is pinned",
            {{"backend", config.name}, {"file", config.lock}, {"reason", lock.error()}});
      }
      lists_.add(pins_.emplace(services, lists_, std::move(lock).value_or(ToolLock())));
    }
    if (config.check.any()) lists_.add(checks_.emplace(services, lists_));
    services.services.chain.add("judges", lists_);
  }

 private:
  ListedFilter lists_;
  std::optional<PinJudge> pins_;      // nothing: they are off
  std::optional<CheckJudge> checks_;  // nothing: nothing is checked
};

}  // namespace

pool::ProtocolFilters add_mcp_filters(const pool::FilterServices& services, pool::FilterLayer layer,
                                      const McpDialect& dialect) {
  if (layer == pool::FilterLayer::outer) return std::make_shared<EraAnswers>(services);
  if (layer == pool::FilterLayer::judging) {
    const config::BackendConfig& config = services.services.config;
    const bool judges = config.pins != config::Pins::off || config.check.any();
    return judges ? std::make_shared<JudgingFilters>(services, dialect) : nullptr;
  }
  return std::make_shared<McpFilters>(services, dialect);
}

}  // namespace stdgate::mcp
