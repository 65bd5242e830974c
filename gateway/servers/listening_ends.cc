#include "gateway/servers/listening_ends.h"

#include <utility>

#include "gateway/rpc/json_member.h"
#include "gateway/rpc/known_message.h"
#include "gateway/servers/member_request.h"
#include "gateway/servers/message_texts.h"

namespace stdgate::servers {

ListeningEnds::ListeningEnds(Members& members, Listening& listening, TaskNames& tasks,
                             session::Callers& callers, const Clock& clock, TimerQueue& timers)
    : members_(members),
      listening_(listening),
      tasks_(tasks),
      clock_(clock),
      again_timer_(timers, [this] { open_again(); }) {
  caller_.take(callers, *this);
}

void ListeningEnds::open(uint64_t key, size_t member, ListenedWishes wishes, const Kept& kept) {
  backend::Upstream* const upstream = members_[member]->upstream();
  if (upstream == nullptr) return;
  const session::Tag tag = ++last_tag_;
  const call::Request of_client = kept->request();
  const std::string_view meta = rpc::member_or_empty(of_client.message.params, "_meta");
  std::string text = Listening::request_for(tag, meta.empty() ? "{}" : meta, wishes);
  ends_.emplace(tag, End{key, member, upstream, std::move(wishes), kept});
  call::CallContext context = of_client.context;
  context.caller = caller_.caller();
  context.session = {};
  context.tag = tag;
  context.arrived = clock_.now();
  context.wants_events = context.is_of_server = true;
  context.mirrored.reset();
  const rpc::KnownMessage known(text);
  // The end may be over before the member has taken the request.
  const Kept guard = kept;  // NOLINT(performance-unnecessary-copy-initialization): keeps it alive
  upstream->accept({known.envelope()}, context);
}

void ListeningEnds::open_again() {
  for (End& lost : std::exchange(lost_, {})) {
    if (!listening_.has(lost.key)) continue;
    const Kept kept = std::move(lost.kept);
    open(lost.key, lost.member, std::move(lost.wishes), kept);
  }
}

void ListeningEnds::lose(session::Tag tag) {
  auto end = ends_.extract(tag);
  if (end.empty()) return;
  lost_.push_back(std::move(end.mapped()));
  if (!again_timer_.armed()) again_timer_.arm(clock_.now() + MemberState::kRetry);
}

// A member that refuses is not asked again.
void ListeningEnds::on_reply(session::Tag tag, const session::Reply& reply) {
  const MemberAnswer returned(reply);
  const bool is_refused = !reply.fault && returned.envelope().kind == rpc::MessageKind::error;
  if (is_refused) {
    ends_.erase(tag);
  } else {
    lose(tag);
  }
}

void ListeningEnds::on_event(session::Tag tag, std::string_view notification) {
  const auto end = ends_.find(tag);
  if (end == ends_.end()) return;
  const uint64_t key = end->second.key;
  std::string shown;
  if (TaskNames::may_name(notification)) {
    std::string text(notification);
    const rpc::KnownMessage known(text);
    const size_t member = end->second.member;
    shown = tasks_.shown(known.envelope(), {member, members_[member]->name()},
                         TaskNames::owner_of(end->second.kept->request().context));
  }
  listening_.on_event(key, shown.empty() ? notification : shown);
}

void ListeningEnds::close(uint64_t key) {
  std::erase_if(lost_, [key](const End& end) { return end.key == key; });
  std::vector<session::Tag> tags;
  for (const auto& [tag, end] : ends_) {
    if (end.key == key) tags.push_back(tag);
  }
  close(tags);
}

void ListeningEnds::close_all() {
  lost_.clear();
  std::vector<session::Tag> tags;
  tags.reserve(ends_.size());
  for (const auto& [tag, end] : ends_) tags.push_back(tag);
  close(tags);
}

void ListeningEnds::close(const std::vector<session::Tag>& tags) {
  for (const session::Tag tag : tags) {
    auto end = ends_.extract(tag);
    if (end.empty()) continue;
    std::string text = cancel_notice(tag);
    const rpc::KnownMessage known(text);
    call::CallContext context;
    context.caller = caller_.caller();
    context.arrived = clock_.now();
    context.is_of_server = true;
    end.mapped().upstream->take_cancel({known.envelope()}, context);
  }
}

}  // namespace stdgate::servers
