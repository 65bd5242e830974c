// VirtualSessions: the sessions of a virtual server, and what their parts say.
//
// Job: open and close sessions and their parts, bring questions of members to clients and their
// answers back, tell clients what members tell. Owner: the aggregate. Limits: the number of
// sessions that it is given, and the limits of VirtualSession.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/slot_map.h"
#include "gateway/base/time.h"
#include "gateway/policy/client.h"
#include "gateway/servers/listening.h"
#include "gateway/servers/routes.h"
#include "gateway/servers/server_answers.h"
#include "gateway/servers/virtual_session.h"

namespace stdgate::servers {

class MemberCalls;

class VirtualSessions {
 public:
  VirtualSessions(Members& members, MemberCalls& calls, Presence& clients, TaskNames& tasks,
                  session::Callers& callers, const Clock& clock, TimerQueue& timers, size_t most,
                  HeldBytes* held)
      : members_(members),
        calls_(calls),
        clients_(clients),
        tasks_(tasks),
        services_{callers, clock, held},
        sessions_(most),
        held_(held),
        close_timer_(timers, [this] { close_parts(); }) {}

  tl::expected<session::SessionId, rpc::FaultReport> add(session::Caller caller,
                                                         session::SessionSink& sink,
                                                         const policy::Client& client,
                                                         const session::Beginning& beginning);
  // Its calls have been withdrawn.
  void close(session::SessionId id);
  [[nodiscard]] VirtualSession* find(session::SessionId id) { return sessions_.find(id); }
  [[nodiscard]] const VirtualSession* find(session::SessionId id) const {
    return sessions_.find(id);
  }
  [[nodiscard]] size_t size() const { return sessions_.size(); }

  session::Parking park(VirtualSession& session);
  void give_up_asks(VirtualSession& session);
  void hold(VirtualSession& session, bool held);
  // Tells the clients of the sessions that fit, each once, that the session is over.
  void end_if(const std::function<bool(const VirtualSession&)>& fits, session::SessionEnd end,
              std::string_view message);

  // The part at a member, which is opened if need be. Null: it cannot be, and `why`.
  Part* part_for(VirtualSession& session, size_t member, rpc::FaultReport& why);
  // The client's answer to a question. False: it answers none.
  bool pass_answer(VirtualSession& session, const rpc::Envelope& answer);
  void set_level(VirtualSession& session, std::string_view level);
  static void tell_parts(VirtualSession& session, std::string_view text);
  void tell_changed(const ListNews& news);
  // The member at this place is configured otherwise.
  void forget_lists(size_t member);
  // The view that a session has of its own child; null: it has the one that others have.
  MemberView* own_view(session::SessionId session, size_t member);
  // Parts that are over, or elsewhere than today's members, are closed as soon as they can be.
  void settle() { close_timer_.arm(services_.clock.now()); }

  // --- Called by parts
  void on_part_reply(session::Tag tag, const session::Reply& reply);
  void on_part_fault(session::Tag tag, const rpc::FaultReport& report);
  void on_part_cancelled(session::Tag tag);
  // `call`: as in SessionSink.
  void on_part_message(Part& part, std::optional<session::Tag> call, std::string text);
  // An answer to a request for the part's own lists.
  void on_part_list(Part& part, session::Tag tag, const session::Reply& reply) {
    members_[part.member()]->on_reply(tag, reply);
  }
  void on_part_greeted(Part& part);
  // The part has to be closed, but not inside of this call.
  void on_part_over(Part& part);

 private:
  void tell_of(Part& part, std::optional<session::Tag> call, const rpc::Envelope& message);
  void ask_client(Part& part, const rpc::Envelope& question);
  void tell(VirtualSession& session, std::optional<session::Tag> call, std::string_view text);
  void close(Part& part);
  // The id of a question, as the client knows it; nothing: the part has no such question.
  static std::optional<uint64_t> question_of(const Part& part, std::string_view id);
  void close_parts();
  void close_parts(VirtualSession& session);

  Members& members_;
  MemberCalls& calls_;
  Presence& clients_;
  TaskNames& tasks_;
  const PartServices services_;
  SlotMap<VirtualSession> sessions_;
  HeldBytes* const held_;
  bool has_leaving_ = false;
  Timer close_timer_;
};

}  // namespace stdgate::servers
