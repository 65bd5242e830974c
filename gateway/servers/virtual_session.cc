#include "gateway/servers/virtual_session.h"

#include <algorithm>
#include <utility>

#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "gateway/servers/server_messages.h"
#include "gateway/servers/virtual_sessions.h"
#include "gateway/session/reply_message.h"
#include "gateway/session/subscriptions.h"

namespace stdgate::servers {

Part::Part(const PartServices& services, VirtualSessions& owner, VirtualSession& session,
           size_t member, backend::Upstream& upstream)
    : services_(services),
      owner_(owner),
      session_(session),
      member_(member),
      upstream_(upstream),
      opened_(upstream, services.callers) {
  view_.part = this;
  view_.held = Share({session.client.account.get(), services.held}, Holding::caches);
}

Part::~Part() = default;

// Nobody is told of it: the client speaks with the virtual server.
call::CallContext Part::own_context() const {
  call::CallContext context;
  context.caller = opened_.caller();
  context.session = opened_.id();
  context.tag = kIgnored;
  context.transport = session_.transport;
  context.peer_kind = PeerKind::stateful;
  context.arrived = services_.clock.now();
  context.client = &session_.client.address;
  context.principal = session_.client.principal.get();
  context.account = session_.client.account.get();
  return context;
}

tl::expected<void, rpc::FaultReport> Part::open() {
  session::SessionSink& sink = *this;
  auto opened = session_.is_adopted
                    ? opened_.adopt(sink, session_.client,
                                    {session_.greeting, session_.revision, session_.age})
                    : opened_.open(sink, session_.client);
  if (!opened) {
    is_over_ = true;
    return opened;
  }
  if (session_.is_adopted) {
    is_greeted_ = true;
    owner_.on_part_greeted(*this);
    return {};
  }
  call::CallContext context = own_context();
  context.tag = kGreeting;
  submit(rpc::request_text(0, "initialize", session_.greeting), context);
  return {};
}

void Part::close() {
  is_over_ = true;
  opened_.close({});
}

void Part::submit(std::string text, const call::CallContext& context) {
  const rpc::KnownMessage known(text);
  upstream_.accept({known.envelope()}, context);
}

void Part::hand_over(session::Tag tag, const rpc::Envelope& request,
                     const call::CallContext& context) {
  call::CallContext own = own_context();
  own.tag = tag;
  own.transport = context.transport;
  own.connection = context.connection;
  own.arrived = context.arrived;
  own.timeout = context.timeout;
  if (is_open()) {
    own.trace = context.trace;
    own.params = context.params;
    upstream_.accept({request}, own);
    return;
  }
  if (is_over_ || queued_.size() == kMaxQueued) {
    return owner_.on_part_fault(tag, rpc::faults::overloaded("the server is not there yet"));
  }
  Queued& queued = queued_.emplace_back(
      Queued{tag,
             std::string(request.text),
             own,
             {},
             Share({session_.client.account.get(), services_.held}, Holding::calls)});
  if (context.trace != nullptr) queued.trace = *context.trace;
  queued.held.set(sizeof(Queued) + queued.text.size());
}

void Part::tell(std::string text) {
  if (is_open()) submit(std::move(text), own_context());
}

void Part::ask(session::Tag tag, std::string text) {
  call::CallContext context = own_context();
  context.tag = kOfLists + tag;
  context.is_own = true;
  submit(std::move(text), context);
}

void Part::cancel(session::Tag tag) {
  const auto queued = std::ranges::find(queued_, tag, &Queued::tag);
  if (queued != queued_.end()) {
    queued_.erase(queued);
    return;
  }
  tell(cancel_notice(tag));
}

// --- What the member says ------------------------------------------------------------------------

void Part::on_reply(session::Tag tag, const session::Reply& reply) {
  if (tag == kIgnored) return;
  if (tag == kGreeting) return take_greeting(reply);
  if (tag >= kOfLists) return owner_.on_part_list(*this, tag - kOfLists, reply);
  owner_.on_part_reply(tag, reply);
}

void Part::take_greeting(const session::Reply& reply) {
  const session::ReplyMessage returned(reply);
  const rpc::Envelope& answer = returned.envelope();
  if (answer.kind != rpc::MessageKind::result) {
    rpc::FaultReport report{
        reply.fault.value_or(rpc::Fault::child_failed), error_text(answer.payload), {}};
    report.retry_after = reply.retry_after;
    if (std::exchange(is_over_, true)) return;
    fail_queued(report);
    return owner_.on_part_over(*this);
  }
  is_greeted_ = true;
  tell(rpc::notification_text("notifications/initialized"));
  owner_.on_part_greeted(*this);
  for (Queued& queued : std::exchange(queued_, {})) {
    if (is_over_) {
      owner_.on_part_fault(queued.tag, rpc::faults::child_failed("the server has gone"));
    } else {
      queued.context.trace = queued.trace ? &*queued.trace : nullptr;
      submit(std::move(queued.text), queued.context);
    }
  }
}

void Part::fail_queued(const rpc::FaultReport& report) {
  for (const Queued& queued : std::exchange(queued_, {})) owner_.on_part_fault(queued.tag, report);
}

void Part::on_event(session::Tag tag, std::string_view notification) {
  on_message(tag, {&notification, 1});
}

void Part::on_cancelled(session::Tag tag) {
  if (tag >= kOfLists) return;
  owner_.on_part_cancelled(tag);
}

void Part::on_message(std::optional<session::Tag> call, std::span<const std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  if (call && *call >= kOfLists) call.reset();
  owner_.on_part_message(*this, call, std::move(text));
}

bool Part::awaits_requests() {
  return session_.sink != nullptr && !session_.has_ended && session_.sink->awaits_requests();
}

session::ClientHold Part::hold() const {
  return session_.sink == nullptr ? session::ClientHold::nothing : session_.sink->hold();
}

SessionName Part::name() const {
  return session_.sink == nullptr ? SessionName() : session_.sink->name();
}

void Part::on_session_end(session::SessionEnd /*end*/, std::string_view message) {
  if (std::exchange(is_over_, true)) return;
  fail_queued(rpc::faults::child_failed(std::string(message)));
  owner_.on_part_over(*this);
}

// --- Subscriptions -------------------------------------------------------------------------------

bool VirtualSession::may_subscribe(const std::string& uri) const {
  if (subscriptions.contains(uri)) return true;
  return subscriptions.size() < kMaxSubscriptions &&
         uri.size() <= session::Subscriptions::kMaxKey &&
         subscribed + uri.size() <= kMaxSubscriptionBytes;
}

void VirtualSession::subscribe(const std::string& uri, size_t member) {
  if (subscriptions.insert_or_assign(uri, member).second) subscribed += uri.size();
  charge();
}

void VirtualSession::unsubscribe(const std::string& uri) {
  if (subscriptions.erase(uri) == 1) subscribed -= uri.size();
  charge();
}

void VirtualSession::charge() {
  constexpr size_t kNode = sizeof(std::pair<std::string, size_t>) + 4 * sizeof(void*);
  held.set(sizeof(VirtualSession) + greeting.size() + subscribed + subscriptions.size() * kNode);
}

}  // namespace stdgate::servers
