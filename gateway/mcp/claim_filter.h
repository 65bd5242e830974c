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
// a child that has gone goes to any other one. Owner: the backend; made only where
// config.pool.sticky is on. Limits: those of ClaimSeal, ClaimLedger and TaskListening.
//
// Uploads that are resumed, once there are some on the wire, are one more kind of claim.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/mcp/claim_ledger.h"
#include "gateway/mcp/claim_seal.h"
#include "gateway/mcp/modern_params.h"
#include "gateway/mcp/task_listening.h"
#include "gateway/pool/call_filter.h"
#include "gateway/pool/pool.h"

namespace stdgate::mcp {

class ClaimFilter final : public pool::CallFilter {
 public:
  // Null: it is not wanted.
  static std::unique_ptr<pool::CallFilter> make(const pool::FilterServices& services);
  explicit ClaimFilter(const pool::FilterServices& services);

  [[nodiscard]] std::optional<Ruling> on_client_request(const Asked& asked) override;
  [[nodiscard]] std::optional<tl::expected<std::string, call::Absence>> on_result(
      const call::Call& call, const Given& given) override;
  [[nodiscard]] std::optional<call::Absence> error_of_lost(std::string_view method) const override;
  [[nodiscard]] std::optional<std::string> listening_without(const call::Call& call) override {
    return listening_.without_child(call);
  }
  void note_returned(uint64_t child, uint64_t state) override { ledger_.close_state(child, state); }
  void begin_listening(const call::Call& call) override { listening_.begin(call); }
  void end_listening(const call::Call& call) override { listening_.end(call); }
  [[nodiscard]] bool gave(const Asked& asked) const override;
  [[nodiscard]] Work work_of(uint64_t child) const override {
    return {ledger_.states(child, now()), ledger_.tasks(child, now())};
  }

  // ChildListener
  void on_event(const call::Call& call, const rpc::Envelope& notification,
                TextPlace progress_token) override;
  void on_notification(pool::Child& child, const rpc::Envelope& notification,
                       std::string_view method) override;
  void on_request(pool::Child& child, const rpc::Envelope& request,
                  std::string_view method) override {
    next_.on_request(child, request, method);
  }
  void on_spare_room(pool::Child& child) override { next_.on_spare_room(child); }
  void on_child_gone(const pool::Child& child) override {
    note_lost_work(child);
    next_.on_child_gone(child);
  }
  [[nodiscard]] TimePoint works_until(uint64_t child) const override {
    return std::max(ledger_.needed_until(child, now()), next_.works_until(child));
  }
  [[nodiscard]] TimePoint needed_until(uint64_t child) const override {
    return std::max(ledger_.needed_until(child, now()), next_.needed_until(child));
  }

 private:
  // What a request brings back, as far as it could be opened.
  struct Opened {
    Claim claim;
    std::optional<GivenClaim> given;  // nothing: it was not sealed for this client
    ReturnEnd end = ReturnEnd::unknown;

    // Its child runs, and it has not expired.
    [[nodiscard]] bool is_alive() const { return end == ReturnEnd::returned; }
  };

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
  void note_lost_work(const pool::Child& child);
  // The message with its claims sealed for the client of `call`; nothing: it may stay as it is.
  [[nodiscard]] std::optional<std::string> sealed_notification(const call::Call& call,
                                                               const rpc::Envelope& notification,
                                                               std::string_view method);
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  pool::ChildListener& next_;
  ClaimSeal seal_;
  ClaimLedger ledger_;
  TaskListening listening_;
  bool has_given_tasks_ = false;  // some child
  mutable MetaMemory memory_;     // spares work, and changes no answer
  std::string method_;            // scratch
};

}  // namespace stdgate::mcp
