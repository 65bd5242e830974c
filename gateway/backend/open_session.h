// OpenSession: a session of an upstream, and the place of its sink among the callers: they are
// taken together, and given back together.
//
// Owner: the object that is, or has, the sink. It closes the session before the upstream goes.
#pragma once

#include <string_view>
#include <tl/expected.hpp>

#include "gateway/backend/upstream.h"
#include "gateway/session/session_sink.h"

namespace stdgate::backend {

class OpenSession {
 public:
  // Both outlive this.
  OpenSession(Upstream& upstream, session::Callers& callers)
      : upstream_(upstream), callers_(callers) {}
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;

  // See Upstream. Only while is_none().
  tl::expected<void, rpc::FaultReport> open(session::SessionSink& sink,
                                            const policy::Client& client);
  tl::expected<void, rpc::FaultReport> adopt(session::SessionSink& sink,
                                             const policy::Client& client,
                                             const session::Beginning& beginning);
  // See Upstream::close_session(). Without effect while is_none().
  void close(std::string_view why);

  [[nodiscard]] bool is_none() const { return caller_.is_none(); }
  [[nodiscard]] session::Caller caller() const { return caller_.caller(); }
  [[nodiscard]] session::SessionId id() const { return id_; }

 private:
  tl::expected<void, rpc::FaultReport> keep(
      const tl::expected<session::SessionId, rpc::FaultReport>& opened);

  Upstream& upstream_;
  session::Callers& callers_;
  session::CallerSlot caller_;
  session::SessionId id_;
};

}  // namespace stdgate::backend
