// SimModernClient: a client of MCP's modern era.
//
// A client calls, receives questions, and retries with its answers: all of them, some, twice, late
// or never, and also with states of other clients. A client listens, leaves in the middle, and
// continues on another connection.
#pragma once

#include <optional>
#include <string>

#include "gateway/backend/upstream.h"
#include "gateway/policy/client.h"
#include "tests/sim/sim_modern_calls.h"

namespace stdgate::sim {

class SimModernClient final : public session::ReplySink {
 public:
  // `principal`: 0 for an anonymous client, which is known by `address` only.
  SimModernClient(SimWorld& world, session::Callers& callers, SimOwners& owners,
                  backend::Upstreams& backends, backend::Backend& backend,
                  const backend::BackendOptions& options, SimRecords& records,
                  SimPrincipal principal, const ClientAddress& address);
  ~SimModernClient() override;

  // Sends a request, retries with a state that is not its own, cancels, or leaves.
  void act();
  // Leaves, and never comes back, not even with answers.
  void leave_for_good();
  [[nodiscard]] size_t open_calls() const { return calls_.open(); }
  [[nodiscard]] size_t listening_calls() const { return calls_.listening(); }
  [[nodiscard]] uint64_t requests() const { return calls_.requests(); }

  void on_reply(session::Tag tag, const session::Reply& reply) override;
  void on_event(session::Tag tag, std::string_view notification) override;
  void on_cancelled(session::Tag tag) override;

 private:
  void leave();
  void cancel();
  void steal();
  void plan(SimNeeded needed);
  void retry_after(Duration delay, SimNeeded needed, SimModernCalls::Retry retry);
  void send(const SimTask& task, const SimModernCalls::Retry& retry);
  [[nodiscard]] call::CallContext context();
  // Answers to these questions, all or some.
  std::string answers_to(const SimNeeded& needed, bool all);

  SimWorld& world_;
  session::Callers& callers_;
  backend::Upstreams& backends_;
  backend::Backend& backend_;
  const Duration input_timeout_;
  SimRecords& records_;
  const SimPrincipal principal_;
  policy::Principal who_;
  const ClientAddress address_;
  const bool repeats_arguments_;  // as HTTP requires
  session::CallerSlot caller_;
  bool has_left_ = false;  // for good
  SimModernCalls calls_;
  rpc::EnvelopeParser parser_;
};

}  // namespace stdgate::sim
