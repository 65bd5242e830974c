// MemberCalls: the calls of a virtual server that are at its members.
// ListeningEnds: the calls that listen at them for clients.
//
// Job: hand a call on under a number of the gateway's own, to the member or to the part of its
// session there. Find the call by that number in everything that the member says of it. Bring the
// answer back up the chain, exactly once. Ask the next member if one does not know what the call
// names. Owner: the aggregate. Limit: the members' bounds of calls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/base/slot_map.h"
#include "gateway/base/time.h"
#include "gateway/call/chain.h"
#include "gateway/call/held_calls.h"
#include "gateway/call/trace_filter.h"
#include "gateway/servers/list_changes.h"
#include "gateway/servers/listening.h"
#include "gateway/servers/routes.h"
#include "gateway/servers/virtual_sessions.h"
#include "gateway/session/sinks.h"

namespace stdgate::servers {

// A request that further members may be asked, or that is made again. The call's account pays for
// it.
struct RetriedRequest final : call::KeptRequest {
  using call::KeptRequest::KeptRequest;

  std::optional<rpc::FaultReport> fault{};  // of the first member that could not answer it
};
using Kept = std::shared_ptr<RetriedRequest>;

class MemberCalls final : public session::ReplySink {
 public:
  struct Services {
    call::Chain& chain;
    call::CallStore& calls;
    call::TraceFilter& traces;
    session::Callers& callers;
    Members& members;
    Routes& routes;
    TaskNames& tasks;
    VirtualSessions& sessions;
    ListChanges& changes;
    const Clock& clock;
    Payer payer;
  };

  explicit MemberCalls(const Services& services);

  // Sends the call to the member of a route (Route::Kind::member). `kept`: the request, if another
  // member had the call before.
  void hand_over(call::CallPtr call, const call::Request& request, const Route& route,
                 Kept kept = nullptr);
  // Takes a call back; its member is told. Null: no member has it.
  call::CallPtr withdraw(const call::Call& call);
  std::vector<call::CallPtr> withdraw(const std::function<bool(const call::Call&)>& fits);
  // Calls are not passed on to the next member from now on.
  void stop() { is_stopped_ = true; }
  [[nodiscard]] size_t size() const { return calls_.size(); }
  template <class Visitor>
  void for_each_call(Visitor&& visit) const {
    calls_.for_each([&](Handle, const Handed& handed) { visit(*handed.call); });
  }
  [[nodiscard]] bool has_caller() const { return !caller_.is_none(); }

  // ReplySink: of calls that stand alone.
  void on_reply(session::Tag tag, const session::Reply& reply) override {
    on_member_reply(tag, reply);
  }
  void on_event(session::Tag tag, std::string_view notification) override;
  void on_cancelled(session::Tag tag) override { on_member_cancelled(tag); }

  // --- Called by VirtualSessions
  void on_member_reply(session::Tag tag, const session::Reply& reply);
  void on_member_fault(session::Tag tag, const rpc::FaultReport& report);
  void on_member_cancelled(session::Tag tag);
  // The tag of the client's call; nothing: there is no such call any more.
  [[nodiscard]] std::optional<session::Tag> client_tag(session::Tag tag);
  // Whether it has calls; these get a fault if it is over.
  [[nodiscard]] bool has_calls(Part& part);
  // The part's session may see other lists at its member now.
  void on_part_lists_changed(Part& part, uint8_t lists);

 private:
  static constexpr size_t kMaxSpare = 64 << 10;

  // A call that a member has.
  struct Handed {
    call::CallPtr call;
    size_t member = 0;
    backend::Upstream* upstream = nullptr;
    Part* part = nullptr;  // null: it stands alone
    Kept kept = nullptr;
    std::vector<size_t> others{};  // members that are asked if this one does not know it
    std::unique_ptr<const std::string> prompt{};  // its name, as the client has used it
  };

  session::Tag add(Handed handed);
  Handed* find(session::Tag tag);
  // Keeps a request of this call.
  [[nodiscard]] Kept keep(call::Call& call, const call::Request& request) const;
  // Nothing: the call is not there any more.
  std::optional<Handed> take(session::Tag tag);
  std::vector<session::Tag> tags(const std::function<bool(const Handed&)>& fits) const;
  // `context` becomes the member's.
  void send(session::Tag tag, const rpc::Envelope& request, call::CallContext& context);
  // The member has not answered.
  void fail(Handed handed, const rpc::FaultReport& report);
  bool try_next(Handed& handed);
  void note_answer(const Handed& handed, const rpc::Envelope& answer);
  // The answer as the client is to see it; empty: unchanged.
  std::string shown(const Handed& handed, const rpc::Envelope& answer);
  // The tool or prompt that is called, as the client has named it.
  static std::string_view name_in(const Handed& handed);
  void tell_cancelled(const Handed& handed, session::Tag tag);
  [[nodiscard]] TimePoint now() const { return services_.clock.now(); }

  const Services services_;
  const call::Slot<session::Tag> tags_;
  SlotMap<Handed> calls_{Handle::kNone - 1};
  session::CallerSlot caller_;
  bool is_stopped_ = false;
  std::string spare_;  // for the text of the next request
};

// ListeningEnds: the calls of a virtual server at members, to listen for updates of their resources
// and tasks. They serve the clients' calls that listen (Listening).
//
// Job: make such a call for each client's call and member; hand its notifications to Listening;
// make it again after MemberState::kRetry when it has ended and the client still listens. The calls
// are made in the name of the client. Owner: the aggregate. Limits: the limits of Listening; a call
// for each of a client's calls and member.
class ListeningEnds final : public session::ReplySink {
 public:
  ListeningEnds(Members& members, Listening& listening, TaskNames& tasks, session::Callers& callers,
                const Clock& clock, TimerQueue& timers);

  // Begins a call at the member for the client's call `key`, whose request is kept.
  void open(uint64_t key, size_t member, ListenedWishes wishes, const Kept& kept);
  // Ends the calls at members that serve the client's call; the members are told.
  void close(uint64_t key);
  [[nodiscard]] bool has_caller() const { return !caller_.is_none(); }

  // ReplySink
  void on_reply(session::Tag tag, const session::Reply& reply) override;
  void on_event(session::Tag tag, std::string_view notification) override;
  void on_cancelled(session::Tag tag) override { lose(tag); }

 private:
  struct End {
    uint64_t key = 0;
    size_t member = 0;
    backend::Upstream* upstream = nullptr;
    ListenedWishes wishes;
    Kept kept;
  };

  // The call with this tag has ended at its member.
  void lose(session::Tag tag);
  void open_again();
  // Nothing: the call is not there any more.
  std::optional<End> take(session::Tag tag);

  Members& members_;
  Listening& listening_;
  TaskNames& tasks_;
  const Clock& clock_;
  session::CallerSlot caller_;
  std::map<session::Tag, End> ends_;
  std::set<std::pair<uint64_t, session::Tag>> tags_;  // of `ends_`, by the client's call
  std::multimap<uint64_t, End> lost_;                 // are made again; by the client's call
  session::Tag last_tag_ = 0;
  Timer again_timer_;
};

}  // namespace stdgate::servers
