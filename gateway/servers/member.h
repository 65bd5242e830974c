// Member: a backend as a member of a virtual server, with its known lists.
//
// Job: ask the backend for its lists, in the gateway's own name, for each view. Keep a list until
// it changes or its time is over. Say whether the member is up. Judge by the rules of the backend
// what a client sees and calls. All clients share one view, with these exceptions. Each principal
// has a view where the backend has a pool for each principal. Modern clients have a view of a
// backend that refuses them. A session has a view where it has a child of its own. Owner: the
// virtual server. Limits: kMaxViews, kMaxPages, and the limits of ElementList.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/base/time.h"
#include "gateway/policy/rules.h"
#include "gateway/pool/pool_services.h"
#include "gateway/servers/element_list.h"
#include "gateway/servers/listening.h"
#include "gateway/session/sinks.h"

namespace stdgate::servers {

class Aggregate;

// The services that all members of a virtual server share. All of them outlive the members.
struct MemberServices {
  const pool::CoreServices& core;
  session::Callers& callers;
  const std::string& server;    // the name of the virtual server
  const std::string& stamp;     // members of _meta for requests of the gateway itself
  const std::string& greeting;  // params of its initialize
  const Presence& clients;      // of the server
  Payer payer;                  // of what is kept for all clients
};

class Member final : public session::ReplySink {
 public:
  static constexpr size_t kMaxViews = 256;
  static constexpr size_t kMaxPages = 100;
  // Lifetime of a list whose server does not say how long the list may be kept.
  static constexpr Duration kUntold = std::chrono::seconds(60);
  // How long lists wait for a member that was down when last asked. Without this limit a server
  // that fails slowly would delay each list.
  static constexpr Duration kWaitIfDown = std::chrono::seconds(2);
  // How long lists may wait again for a member that is still starting, from the first question on.
  static constexpr Duration kStart = std::chrono::seconds(60);
  // Pause before a failed list is asked for again, and before a member is listened to again.
  static constexpr Duration kRest = std::chrono::seconds(1);

  Member(const MemberServices& services, Aggregate& owner, const config::MemberConfig& config);
  ~Member() override;

  // `upstream`: the present backend; null: it is gone.
  void attach(backend::Upstream* upstream, const config::BackendConfig* backend,
              const std::vector<config::RoleConfig>& roles);
  // The configuration does not name it any more.
  void leave();
  [[nodiscard]] bool has_left() const { return has_left_; }
  // Takes the place of this one, which has left.
  void succeed(const Member& former);
  [[nodiscard]] backend::Upstream* upstream() const { return upstream_; }
  [[nodiscard]] const config::MemberConfig& config() const { return config_; }
  [[nodiscard]] const std::string& name() const { return config_.backend; }

  // The view that such a client has.
  MemberView& view_of(const call::CallContext& context);
  // Asks for the list, if it is not known. `since`: the arrival of the request that needs the list.
  // A list that came later is good enough, even if the member does not allow it to be kept.
  // `waits_anew`: for a member that is still starting, even if other requests have waited.
  void want(MemberView& view, ListKind kind, TimePoint since, bool waits_anew = false);
  // Whether clients need not wait for the list: it is known, has failed, or is late.
  // `since`: as in want().
  [[nodiscard]] bool is_settled(MemberView& view, ListKind kind, TimePoint since) const;
  // When such a request stops waiting for the list; max(): the member was not asked for it. Waits
  // that other requests have begun later do not extend it.
  [[nodiscard]] TimePoint waited_until(MemberView& view, ListKind kind, TimePoint since) const {
    const Duration wait = state_.is_down() ? std::min(config_.wait, kWaitIfDown) : config_.wait;
    const MemberList& list = view.list(kind);
    return list.is_asked ? std::min(list.waited, since) + wait : TimePoint::max();
  }
  // Whether clients may not see all of it now.
  [[nodiscard]] bool is_missing(MemberView& view, ListKind kind) const;
  // A list has been made without what is missing.
  void note_missed(MemberView& view, ListKind kind);

  // The elements that the rules of the backend let this client see, and so use.
  [[nodiscard]] Sight sight_of(const policy::Principal* principal) const;

  // Gives up all open requests, so that the shutdown does not wait for them.
  void stop();
  // Listens for changes while a client is here that would be told of them; stops otherwise.
  void settle_listening();
  // The member has a caller slot, so the gateway can ask in its own name.
  [[nodiscard]] bool has_caller() const { return !caller_.is_none(); }
  [[nodiscard]] bool may_refuse_modern() const { return may_refuse_; }
  [[nodiscard]] const MemberState& state() const { return state_; }
  // No process of it has answered yet, and one is on its way.
  [[nodiscard]] bool is_starting() const;
  // Why clients do not see all of it: what goes behind its name, for them.
  [[nodiscard]] std::string why_missing() const;
  // A modern client calls it, without a session. The log says once what that may cost.
  void note_modern_call();
  // A call of a client has ended at it.
  void count(MemberEnd end) { ++ended_[static_cast<size_t>(end)]; }
  [[nodiscard]] const MemberEnds& ended() const { return ended_; }
  // Lists that have failed are asked for again, if it is time.
  void retry();
  // When that is; max(): nothing has failed.
  [[nodiscard]] TimePoint retry_due() const {
    return has_failed() ? state_.retry_due() : TimePoint::max();
  }
  [[nodiscard]] bool has_failed() const;
  // The view that clients share; null: not asked for yet.
  MemberView* common_view();

  void note_changed(uint8_t lists, std::string_view identity);
  // Gives up the requests for a view that is about to go.
  void forget(const MemberView& view);

  // ReplySink: of what is asked in the gateway's own name.
  void on_reply(session::Tag tag, const session::Reply& reply) override;
  void on_event(session::Tag /*tag*/, std::string_view /*notification*/) override {}
  void on_cancelled(session::Tag tag) override;

 private:
  class Watch;
  // A call that listens has ended by itself: its child may have died.
  void listen_again();
  struct Ask {
    MemberView* view;
    ListKind kind;
  };

  void note_restart(std::string_view identity);
  // Cancels the gateway's own calls, without events: lists that were asked for stay `is_asked`.
  void cancel_own_calls();
  void ask(MemberView& view, ListKind kind, std::string_view cursor);
  void take_page(MemberView& view, ListKind kind, std::string_view result);
  void finish(MemberView& view, ListKind kind, std::string_view result);
  void fail(MemberView& view, ListKind kind, std::string cause);
  // Whether clients see no difference between the lists.
  [[nodiscard]] static bool is_same(const ElementList& one, const ElementList& other);
  void report(ListKind kind, const std::vector<Finding>& findings) const;
  // Charges the lists that only this view has. A list that is equal to the shared one is kept once.
  void charge(MemberView& view);
  // The shared list; null: it is not known, or belongs to this view.
  const MemberList* list_of_all(const MemberView& view, ListKind kind);
  void wait_for_start(MemberView& view, ListKind kind, TimePoint since);
  // Whether the server may sleep while sessions are open; not while a client listens.
  [[nodiscard]] bool may_rest() const {
    return !has_principals_ && !services_.clients.any_listener();
  }
  // Its server falls asleep, or is awake again.
  void rest(bool is_resting) {
    is_resting_ = is_resting;
    settle_listening();
  }
  void make_room();
  // Forgets everything that the present backend has told.
  void detach();
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const MemberServices& services_;
  Aggregate& owner_;
  const config::MemberConfig config_;
  backend::Upstream* upstream_ = nullptr;
  bool has_principals_ = false;  // children for each
  bool may_refuse_ = false;      // clients of the modern era
  bool forgets_ = false;         // a legacy server forgets anonymous ones after each call
  std::string advice_;           // what to write, so that it serves them
  bool has_advised_ = false;
  std::optional<policy::Rules> rules_;
  session::CallerSlot caller_;
  std::shared_ptr<Watch> watch_;
  std::map<std::string, std::unique_ptr<MemberView>, std::less<>> views_;
  std::unordered_map<session::Tag, Ask> asks_;
  session::Tag last_tag_ = 0;
  MemberListening listening_;
  Timer listen_timer_;
  bool is_stopped_ = false;
  bool is_resting_ = false;  // the server sleeps
  bool has_left_ = false;
  Duration patience_{};  // with its answers, and its start
  MemberEnds ended_{};
  MemberState state_;
};

}  // namespace stdgate::servers
