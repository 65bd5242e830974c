// ListeningEnds: the calls by which a virtual server listens at members for its clients that listen
// (Listening): for updates of resources and of tasks that these members have.
//
// Job: make such a call for each client's call and member; hand its notifications to Listening;
// make it again after MemberState::kRetry when it has ended and the client still listens. The calls
// are made in the name of the client. Owner: the aggregate. Limits: the limits of Listening; a call
// for each of a client's calls and member.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/timers.h"
#include "gateway/servers/listening.h"
#include "gateway/servers/member_calls.h"
#include "gateway/session/reply_sink.h"

namespace stdgate::servers {

class ListeningEnds final : public session::ReplySink {
 public:
  ListeningEnds(Members& members, Listening& listening, TaskNames& tasks, session::Callers& callers,
                const Clock& clock, TimerQueue& timers);

  // Begins a call at the member for the client's call `key`, whose request is kept.
  void open(uint64_t key, size_t member, ListenedWishes wishes, const Kept& kept);
  // Ends the calls at members that belong to the client's call; the members are told.
  void close(uint64_t key);
  void close_all();
  [[nodiscard]] size_t size() const { return ends_.size(); }
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
  void close(const std::vector<session::Tag>& tags);

  Members& members_;
  Listening& listening_;
  TaskNames& tasks_;
  const Clock& clock_;
  session::CallerSlot caller_;
  std::map<session::Tag, End> ends_;
  std::vector<End> lost_;  // are made again
  session::Tag last_tag_ = 0;
  Timer again_timer_;
};

}  // namespace stdgate::servers
