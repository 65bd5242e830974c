// ClaimFilter: brings what a server has given its clients back to the process that has given it.
//
//   client                    gateway                                   child 2
//   tools/call             ─▶ tools/call                             ─▶
//                          ◀─ input_required, requestState: sealed   ◀─ requestState
//   tools/call, the same   ─▶ opened: to child 2, with its own bytes ─▶
//
// Job: seal claims (claim_places.h) in what goes to clients, open them in what comes back, and know
// which children are needed for them. Claims are those of modern children, and the cursors of all
// that clients share. A claim that was not sealed for this client at this backend, has expired, or
// whose child has gone, is answered like one that never was: nothing tells which it is. A cursor of
// a child that has gone goes to any other one. Owner: the backend (Dialect::add_filters); made only
// where config.pool.sticky is on. Limits: those of ClaimSeal, ClaimLedger and TaskListening.
//
// Uploads that are resumed, once there are some on the wire, are one more kind of claim.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/call/chain.h"
#include "gateway/mcp/claim_ledger.h"
#include "gateway/mcp/claim_seal.h"
#include "gateway/mcp/modern_params.h"
#include "gateway/mcp/task_listening.h"
#include "gateway/pool/filter_services.h"
#include "gateway/pool/pool.h"

namespace stdgate::mcp {

class ClaimFilter final : public call::Filter {
 public:
  static bool is_wanted(const pool::PoolServices& services) {
    return services.config.pool.sticky && services.core.states != nullptr;
  }
  explicit ClaimFilter(const pool::FilterServices& services);

  void on_request(call::CallPtr& call, const call::Request& request) override {
    if (!pool_.has_lease(request.context.session)) take(call, request);
  }
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    const bool may_change = answer.message.kind == rpc::MessageKind::result &&
                            (call->child_era == Era::modern || !call->tool);
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
    std::string_view method;     // decoded
    const ModernParams* params;  // what a transport has read of it; null: nothing
    std::string_view identity;   // of who asks; empty: not known
    std::optional<Era> client_era;
  };
  // What becomes of it.
  struct Ruling {
    std::string text;  // the request as a child is to get it
    call::Route route;
    std::optional<GivenClaim> state{};          // what it brings back; nothing: no state
    std::vector<TaskListening::Part> others{};  // it listens at these children too
    std::optional<call::Absence> error{};       // it ends so
    std::string_view detail{};                  // of the error, for the log
  };
  // The payload of a result, raw JSON, on its way to the client of a call.
  struct Given {
    std::string_view method;  // decoded
    std::string_view payload;
    uint64_t child = 0;  // the number of the one that has given it; 0: no other call can reach it
  };
  // What a request brings back, as far as it could be opened.
  struct Opened {
    Claim claim;
    std::optional<GivenClaim> given;  // nothing: it was not sealed for this client
    ReturnEnd end = ReturnEnd::unknown;

    // Its child runs, and it has not expired.
    [[nodiscard]] bool is_alive() const { return end == ReturnEnd::returned; }
  };

  void take(call::CallPtr& call, const call::Request& request);
  void go_on(call::CallPtr call, const call::Request& former, Ruling ruling);
  // Nothing: it goes on as it is.
  [[nodiscard]] std::optional<Ruling> judge(const Asked& asked);
  // The error for a request whose child has gone; nothing: any child may serve it.
  [[nodiscard]] static std::optional<call::Absence> error_of_lost(std::string_view method);
  void seal(call::CallPtr& call, call::Answer& answer);
  // The payload for the client, or the error instead. Nothing: it goes on as it is.
  [[nodiscard]] std::optional<tl::expected<std::string, call::Absence>> sealed(
      const call::Call& call, const Given& given);
  [[nodiscard]] std::vector<Opened> open_all(const Asked& asked) const;
  [[nodiscard]] bool concerns(const Asked& asked) const;
  [[nodiscard]] bool is_running(uint64_t child) const;
  // Whether any client of this backend may have a task.
  [[nodiscard]] bool has_tasks() const;
  [[nodiscard]] ReturnEnd end_of(const Claim& claim, const GivenClaim& given) const;
  [[nodiscard]] Ruling refuse(const Asked& asked, const Opened& one);
  // `ruling`: where the other claims of the request belong. Nothing: it goes on as it is.
  [[nodiscard]] std::optional<Ruling> listen(const Asked& asked, Ruling ruling,
                                             const std::vector<Opened>& opened,
                                             const std::vector<TextEdit>& edits);
  [[nodiscard]] Ruling refuse_listening(std::string_view why,
                                        std::string_view message = "taskIds is not valid");
  void note_tasks(const Given& given);
  // The message with its claims sealed for the client of `call`; nothing: it may stay as it is.
  [[nodiscard]] std::optional<std::string> sealed_notification(const call::Call& call,
                                                               const rpc::Envelope& notification,
                                                               std::string_view method);
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  call::Chain& chain_;
  const call::Slot<std::optional<GivenClaim>> states_;  // that calls bring back to their children
  ClaimSeal seal_;
  ClaimLedger ledger_;
  TaskListening listening_;
  bool has_given_tasks_ = false;  // some child
  mutable MetaMemory memory_;     // spares work, and changes no answer
  std::string payload_;           // scratch: of an answer
};

}  // namespace stdgate::mcp
