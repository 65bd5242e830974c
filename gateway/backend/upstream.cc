#include "gateway/backend/upstream.h"

#include "gateway/pool/child_output.h"

namespace stdgate::backend {

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

}  // namespace stdgate::backend
