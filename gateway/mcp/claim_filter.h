// ClaimFilter: routes the claims that clients bring back to the children that gave them.
//
//   client                    gateway                                   child 2
//   tools/call             ─▶ tools/call                             ─▶
//                          ◀─ input_required, requestState: sealed   ◀─ requestState
//   tools/call, the same   ─▶ opened: to child 2, with its own bytes ─▶
//
// Job: seal claims (claims.h) on their way to clients, open them on their way back, and know
// which children are needed for them. The claims of modern children are sealed, and the cursors of
// all shared children. A claim is answered like an unknown one if it was not sealed for this client
// at this backend, has expired, or belongs to a child that has gone. The client cannot tell these
// cases apart. A cursor of a child that has gone goes to any other child. Owner: McpFilters; made
// only where config.pool.sticky is on. Limits: the limits of ClaimSeal, ClaimLedger and
// TaskListening.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/call/chain.h"
#include "gateway/mcp/claims.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/mcp/task_listening.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

class ClaimFilter final : public call::Filter {
 public:
  static bool is_wanted(const pool::PoolServices& services) {
    return services.config.pool.sticky && services.core.states != nullptr;
  }
  explicit ClaimFilter(const pool::FilterServices& services);

  void on_request(call::CallPtr& call, const call::Request& request) override {
    if (!pool_.lane().has(request.context.session)) take(call, request);
  }
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    const bool may_change = answer.message.kind == rpc::MessageKind::result &&
                            (call->child_kind == PeerKind::stateless || !call->tool);
    if (may_change) seal(call, answer);
  }
  void on_lost(call::CallPtr& call, std::string_view text, const rpc::FaultReport& report) override;
  void on_end(const call::Call& call, call::End& end) override;

  bool on_child_message(call::ChildMessage& message) override;
  void on_child_gone(const call::ChildRef& child) override;
  [[nodiscard]] TimePoint needed_until(uint64_t child) const override {
    return ledger_.needed_until(child, now());
  }
  [[nodiscard]] call::ChildWork work_of(uint64_t child) const override {
    return {ledger_.states(child, now()), ledger_.tasks(child, now())};
  }
  [[nodiscard]] bool gave(const call::Arrival& request) const override;

 private:
  // A request of a client.
  struct Asked {
    const rpc::Envelope& request;
    std::string_view method;    // decoded
    const McpParams* params;    // values that a transport has read; null: none
    std::string_view identity;  // of the client; empty: anonymous
    std::optional<PeerKind> client_kind;
  };
  // The decision about a request.
  struct Ruling {
    std::string text;  // the request as a child is to get it
    call::Route route;
    std::optional<GivenClaim> state{};  // the state that the request brings back; nothing: none
    std::vector<TaskListening::Part> others{};  // further children at which it listens
    std::optional<call::Absence> error{};       // ends the request
    std::string_view detail{};                  // detail of the error, for the log
  };
  // The payload of a result, raw JSON, on its way to the client of a call.
  struct Given {
    std::string_view method;  // decoded
    std::string_view payload;
    uint64_t child = 0;  // its giver; 0: no other call can reach that child
  };
  // A claim of a request, as far as it could be opened.
  struct Opened {
    Claim claim;
    std::optional<GivenClaim> given;  // nothing: not sealed for this client
    ReturnEnd end = ReturnEnd::unknown;

    // Whether the claim has not expired and its child runs.
    [[nodiscard]] bool is_alive() const { return end == ReturnEnd::returned; }
  };

  void take(call::CallPtr& call, const call::Request& request);
  void go_on(call::CallPtr call, const call::Request& former, Ruling ruling);
  // Nothing: the request passes unchanged.
  [[nodiscard]] std::optional<Ruling> judge(const Asked& asked);
  // The error for a request whose child has gone; nothing: any other child may serve the request.
  [[nodiscard]] static std::optional<call::Absence> error_of_lost(std::string_view method);
  void seal(call::CallPtr& call, call::Answer& answer);
  // The payload for the client, or an error in its place. Nothing: the payload passes unchanged.
  [[nodiscard]] std::optional<tl::expected<std::string, call::Absence>> sealed(
      const call::Call& call, const Given& given);
  [[nodiscard]] std::vector<Opened> open_all(const Asked& asked) const;
  [[nodiscard]] bool concerns(const Asked& asked) const;
  [[nodiscard]] bool is_running(uint64_t child) const;
  // Whether clients of this backend may have tasks.
  [[nodiscard]] bool has_tasks() const;
  [[nodiscard]] ReturnEnd end_of(const Claim& claim, const GivenClaim& given) const;
  [[nodiscard]] Ruling refuse(const Asked& asked, const Opened& one);
  // `ruling`: the route for the other claims of the request. Nothing: the request passes unchanged.
  [[nodiscard]] std::optional<Ruling> listen(const Asked& asked, Ruling ruling,
                                             const std::vector<Opened>& opened,
                                             const std::vector<TextEdit>& edits);
  [[nodiscard]] Ruling refuse_listening(std::string_view why,
                                        std::string_view message = "taskIds is not valid");
  void note_tasks(const Given& given);
  // The message with its claims sealed for the client of `call`; nothing: it passes unchanged.
  [[nodiscard]] std::optional<std::string> sealed_notification(const call::Call& call,
                                                               const rpc::Envelope& notification,
                                                               std::string_view method);
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  call::Chain& chain_;
  const call::Slot<std::optional<GivenClaim>> states_;  // states that calls bring back
  ClaimSeal seal_;
  ClaimLedger ledger_;
  TaskListening listening_;
  bool has_given_tasks_ = false;  // a child has given out a task
  mutable MetaMemory memory_;     // saves work, and changes no answer
  std::string payload_;           // scratch: the payload of an answer
};

}  // namespace stdgate::mcp
