#include "gateway/mcp/mcp_filters.h"

#include <string>
#include <utility>

#include "gateway/call/chain.h"
#include "gateway/mcp/check_judge.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/listed_filter.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/mcp/pin_judge.h"

namespace stdgate::mcp {

// EraAnswers: notes the revision that a client speaks, and translates answers of children for
// clients of the other era (era_bridge.h).
//
// The filter stands above the rules, because these judge and cut the words of the child.
class EraAnswers final : public call::Filter {
 public:
  explicit EraAnswers(const pool::FilterServices& services)
      : texts_(services.services.calls.reserve<call::KeptText>()) {}

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

// JudgingFilter: the filter that asks for the lists of servers, with the judges that use them.
//
// Owner: McpFilters. Limits: those of ListedFilter and of the judges.
class JudgingFilter final : public ListedFilter {
 public:
  JudgingFilter(const pool::FilterServices& services, const McpDialect& dialect);

  static bool is_wanted(const config::BackendConfig& config) {
    return config.pins != config::Pins::off || config.check.any();
  }

 private:
  std::optional<PinJudge> pins_;      // nothing: they are off
  std::optional<CheckJudge> checks_;  // nothing: nothing is checked
};

JudgingFilter::JudgingFilter(const pool::FilterServices& services, const McpDialect& dialect)
    : ListedFilter(services, dialect) {
  const config::BackendConfig& config = services.services.config;
  // Before the checks: what is not pinned is not even looked at.
  if (config.pins != config::Pins::off) {
    auto lock = ToolLock::read(config.lock_text, config.name);
    if (!lock) {
      services.services.core.log.write(
          LogLevel::error, "the lock file cannot be read: nothing is pinned",
          {{"backend", config.name}, {"file", config.lock}, {"reason", lock.error()}});
    }
    add(pins_.emplace(services, *this, std::move(lock).value_or(ToolLock())));
  }
  if (config.check.any()) add(checks_.emplace(services, *this));
}

McpFilters::McpFilters(const McpDialect& dialect) : dialect_(dialect) {}

McpFilters::~McpFilters() = default;

void McpFilters::add_outer(const pool::FilterServices& services) {
  eras_ = std::make_unique<EraAnswers>(services);
  services.services.chain.add("eras", *eras_);
}

void McpFilters::add_judging(const pool::FilterServices& services) {
  if (!JudgingFilter::is_wanted(services.services.config)) return;
  judges_ = std::make_unique<JudgingFilter>(services, dialect_);
  services.services.chain.add("judges", *judges_);
}

void McpFilters::add_inner(const pool::FilterServices& services) {
  call::Chain& chain = services.services.chain;
  // Claims before the cache: kept results are the words of a child, and are sealed for each client.
  if (ClaimFilter::is_wanted(services.services)) chain.add("claims", claims_.emplace(services));
  if (services.services.config.cache) chain.add("cache", cache_.emplace(services));
  // Params behind the cache: calls are held here, which is needed only if a child has to answer.
  chain.add("params", params_.emplace(services, dialect_));
}

}  // namespace stdgate::mcp
