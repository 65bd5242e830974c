#include "gateway/backend/upstream.h"

#include <algorithm>

#include "gateway/pool/child_output.h"
#include "gateway/pool/dialect.h"

namespace stdgate::backend {

void ListWatches::tell_changed(uint8_t lists, std::string_view identity) {
  if (lists == 0) return;
  for_each([=](ListWatch& watch) { watch.on_lists_changed(lists, identity); });
}

void ListWatches::tell_restart(std::string_view identity) {
  for_each([=](ListWatch& watch) { watch.on_restart(identity); });
}

size_t ListWatches::resting() const {
  size_t calls = 0;
  for (const auto& kept : watches_) {
    if (const auto watch = kept.lock()) calls += watch->resting();
  }
  return calls;
}

void ListWatches::tell_sleep() {
  for_each([](ListWatch& watch) { watch.on_sleep(); });
}

void ListWatches::tell_awake() {
  for_each([](ListWatch& watch) { watch.on_awake(); });
}

void ListWatches::for_each(const std::function<void(ListWatch&)>& visit) {
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  // By index, because a watch that is told may add another one.
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (const auto watch = watches_[i].lock()) visit(*watch);
  }
}

bool ListWatchFilter::on_child_message(call::ChildMessage& message) {
  if (const auto change = pool::change_told_by(message, dialect_)) {
    watches_.tell_changed(change->list);
  }
  return true;
}

// Links the neighbours of this in the chain.
Upstream::~Upstream() {
  if (successor_ != nullptr) successor_->former_ = former_;
  if (former_ != nullptr) former_->successor_ = successor_;
}

void Upstream::succeed(Upstream& former) {
  former_ = &former;
  former.successor_ = this;
}

std::optional<Admission> Upstream::pass_elsewhere(const rpc::ParsedMessage& message,
                                                  const call::CallContext& context) {
  const rpc::Envelope& request = message.envelope;
  const bool stands_alone = message.ok() && request.kind == rpc::MessageKind::request &&
                            context.session.is_none() && !context.is_own;
  if (!stands_alone) return std::nullopt;
  for (Upstream* giver = former_; giver != nullptr; giver = giver->former_) {
    if (giver->gave(request, context)) return giver->accept(message, context);
  }
  const bool is_of_session =
      context.transport != Transport::mcp || context.peer_kind != PeerKind::stateless;
  if (!is_retired_ || is_of_session || gave(request, context)) return std::nullopt;
  refuse(rpc::faults::overloaded("this server is not configured any more"),
         {request.id, request.text.size()}, context);
  return Admission::answered_by_reply;
}

UpstreamFacts upstream_facts(BackendId id, const config::BackendConfig& config,
                             const config::LimitsConfig& limits, const pool::Dialect& dialect,
                             HeldBytes* held) {
  return {.id = id,
          .name = config.name,
          .is_default = config.is_default,
          .is_required = config.is_required,
          .protocol = config.protocol,
          .codes = dialect.codes(),
          .envelope_limits = pool::ChildOutput::envelope_limits(limits, config.envelope),
          .owns_children = config.isolation == config::Isolation::session,
          .max_sessions = config.pool.sessions,
          .timeout = config.timeout,
          .idle_timeout = config.pool.idle_timeout,
          .grace = config.pool.grace,
          .held = held};
}

tl::expected<void, rpc::FaultReport> OpenSession::open(session::SessionSink& sink,
                                                       const policy::Client& client) {
  if (!caller_.take(callers_, sink)) return tl::unexpected(rpc::faults::too_many_clients());
  return keep(upstream_.open_session(caller_.caller(), sink, client));
}

tl::expected<void, rpc::FaultReport> OpenSession::adopt(session::SessionSink& sink,
                                                        const policy::Client& client,
                                                        const session::Beginning& beginning) {
  if (!caller_.take(callers_, sink)) return tl::unexpected(rpc::faults::too_many_clients());
  return keep(upstream_.adopt_session(caller_.caller(), sink, client, beginning));
}

tl::expected<void, rpc::FaultReport> OpenSession::keep(
    const tl::expected<session::SessionId, rpc::FaultReport>& opened) {
  if (!opened) {
    caller_.release();
    return tl::unexpected(opened.error());
  }
  id_ = *opened;
  return {};
}

void OpenSession::close(std::string_view why) {
  if (is_none()) return;
  upstream_.close_session(id_, why);
  caller_.release();
}

Upstream* Upstreams::find(std::string_view name) const {
  const auto found =
      std::find_if(upstreams_.begin(), upstreams_.end(),
                   [name](const auto& upstream) { return upstream->name() == name; });
  return found == upstreams_.end() ? nullptr : found->get();
}

Upstream* Upstreams::default_one() const {
  const auto found = std::find_if(upstreams_.begin(), upstreams_.end(),
                                  [](const auto& upstream) { return upstream->is_default(); });
  return found == upstreams_.end() ? nullptr : found->get();
}

void Upstreams::remove(const Upstream& retired) {
  std::erase_if(retired_, [&retired](const auto& upstream) { return upstream.get() == &retired; });
}

void Upstreams::start() {
  for (const auto& upstream : upstreams_) upstream->start();
}

void Upstreams::cancel_calls_of(session::Caller caller) {
  for_each([caller](Upstream& upstream) { upstream.cancel_calls_of(caller); });
}

void Upstreams::drain() {
  for_each([](Upstream& upstream) { upstream.drain(); });
}

void Upstreams::fail_calls(const rpc::FaultReport& report) {
  for_each([&report](Upstream& upstream) { upstream.fail_calls(report); });
}

void Upstreams::end_children() {
  for_each([](Upstream& upstream) { upstream.end_children(upstream.grace()); });
}

void Upstreams::kill_children() {
  for_each([](Upstream& upstream) { upstream.end_children(Duration{0}); });
}

size_t Upstreams::calls() const {
  size_t count = 0;
  for_each([&count](const Upstream& upstream) { count += upstream.calls(); });
  return count;
}

size_t Upstreams::own_callers() const {
  size_t count = 0;
  for_each([&count](const Upstream& upstream) { count += upstream.own_callers(); });
  return count;
}

size_t Upstreams::kept_messages() const {
  size_t count = 0;
  for_each([&count](const Upstream& upstream) { count += upstream.kept_messages(); });
  return count;
}

void Upstreams::drop_caches() {
  for_each([](Upstream& upstream) { upstream.drop_caches(); });
}

bool Upstreams::has_children() const {
  bool any = false;
  for_each([&any](const Upstream& upstream) { any = any || upstream.has_children(); });
  return any;
}

Duration Upstreams::grace() const {
  Duration longest{0};
  for_each([&](const Upstream& upstream) { longest = std::max(longest, upstream.grace()); });
  return longest;
}

void Upstreams::check_invariants() {
  for_each([](Upstream& upstream) { upstream.check_invariants(); });
}

}  // namespace stdgate::backend
