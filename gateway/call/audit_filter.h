// AuditFilter: writes a backend's calls into the audit.
//
// Finds the subject of a call, keeps it with the call, and records the call's end. If a call must
// be recorded and cannot be, the call does not begin, or its answer is withheld. Owner: the
// backend.
#pragma once

#include <string>
#include <string_view>

#include "gateway/audit.h"
#include "gateway/call/chain.h"

namespace stdgate::call {

class AuditFilter final : public Filter {
 public:
  AuditFilter(Chain& chain, Audit& audit, CallStore& calls, const ChainServices& services)
      : chain_(chain), audit_(audit), notes_(calls.reserve<Notes>()), services_(services) {}

  // Describes a message that is refused because of its form.
  void on_begin(Call& call, const Arrival& arrival) override;
  void on_request(CallPtr& call, const Request& request) override;
  Passage on_notification(const Notification& notification) override;
  void on_notification_judged(const Notification& notification, Passage passage) override;
  void on_end(const Call& call, End& end) override;

 private:
  struct Notes {
    bool is_covered = false;  // see Audit::covers()
    std::string text;         // see Audit::describe_call()
    void clear();
  };

  void note(Call& call, const rpc::Envelope& message, std::string_view method,
            const CallContext& context, bool is_covered);
  void describe(const rpc::Envelope& message, std::string_view method, const CallContext& context,
                bool is_covered, std::string& text);
  void withhold(const Call& call, End& end);

  Chain& chain_;
  Audit& audit_;
  const Slot<Notes> notes_;
  const ChainServices services_;
  std::string name_;   // scratch
  std::string text_;   // scratch: of a notification
  std::string fault_;  // text of withheld_
  session::Reply withheld_;
};

}  // namespace stdgate::call
