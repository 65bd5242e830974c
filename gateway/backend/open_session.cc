#include "gateway/backend/open_session.h"

namespace stdgate::backend {

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
