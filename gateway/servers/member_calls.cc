#include "gateway/servers/member_calls.h"

#include <algorithm>
#include <utility>

#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "gateway/servers/member_request.h"
#include "gateway/servers/server_messages.h"
#include "gateway/session/reply_message.h"

namespace stdgate::servers {
namespace {

// Between these bits and the tags of parts (Part::kOfLists), no two calls under way have the same
// tag, and none has zero.
constexpr session::Tag kMark = session::Tag{1} << 61;
constexpr uint32_t kGenerations = (uint32_t{1} << 29) - 1;

session::Tag tag_of(Handle handle) {
  return kMark | session::Tag{handle.generation & kGenerations} << 32 | handle.index;
}

// Errors of a server that has no such resource.
bool is_not_found(const rpc::Envelope& answer) {
  const auto code = rpc::error_code(answer);
  return code == rpc::rpc_error_code(rpc::RpcError::resource_not_found) ||
         code == rpc::rpc_error_code(rpc::RpcError::invalid_params) ||
         code == rpc::rpc_error_code(rpc::RpcError::method_not_found);
}

}  // namespace

MemberCalls::MemberCalls(const Services& services)
    : services_(services), tags_(services.calls.reserve<session::Tag>()) {
  caller_.take(services_.callers, *this);
}

// --- The table -----------------------------------------------------------------------------------

session::Tag MemberCalls::add(Handed handed) {
  Handed* entry = nullptr;
  const session::Tag tag = tag_of(*calls_.acquire(&entry));
  tags_.of(handed.call->slots) = tag;
  *entry = std::move(handed);
  return tag;
}

MemberCalls::Handed* MemberCalls::find(session::Tag tag) {
  Handle handle;
  Handed* const handed = calls_.find_index(static_cast<uint32_t>(tag), &handle);
  return handed != nullptr && tag_of(handle) == tag ? handed : nullptr;
}

std::optional<MemberCalls::Handed> MemberCalls::take(session::Tag tag) {
  Handle handle;
  Handed* const handed = calls_.find_index(static_cast<uint32_t>(tag), &handle);
  if (handed == nullptr || tag_of(handle) != tag) return std::nullopt;
  std::optional<Handed> taken = std::move(*handed);
  calls_.release(handle);
  return taken;
}

std::vector<session::Tag> MemberCalls::tags(const std::function<bool(const Handed&)>& fits) const {
  std::vector<session::Tag> found;
  calls_.for_each([&](Handle handle, const Handed& handed) {
    if (fits(handed)) found.push_back(tag_of(handle));
  });
  return found;
}

// --- Down ----------------------------------------------------------------------------------------

Kept MemberCalls::keep(call::Call& call, const call::Request& request) const {
  auto kept = std::make_shared<RetriedRequest>(request);
  call.held.move_to({request.context.account, services_.payer.held});
  call.held.set(sizeof(call::Call) + kept->memory());
  return kept;
}

void MemberCalls::hand_over(call::CallPtr call, const call::Request& request, const Route& route,
                            Kept kept) {
  backend::Upstream* const upstream = services_.members[route.member]->upstream();
  if (upstream == nullptr) {
    return services_.chain.on_fault(
        std::move(call), rpc::faults::child_failed("this server is not configured any more"));
  }
  if (kept == nullptr && (!route.others.empty() || is_subscription(request.method))) {
    kept = keep(*call, request);
  }
  const call::CallContext& context = request.context;
  const bool is_of_principal = context.session.is_none() && context.principal != nullptr;
  if (is_of_principal) call->identity = policy::identity_of(context.principal);
  services_.calls.index().add(*call);
  call->place = call::CallPlace::in_flight;
  call->written = now();
  const call::Call& handed = *call;
  const bool is_prompt = route.element == policy::ElementKind::prompt;
  auto prompt = is_prompt ? std::make_unique<const std::string>(route.name) : nullptr;
  const session::Tag tag = add(
      {std::move(call), route.member, upstream, nullptr, kept, route.others, std::move(prompt)});
  call::Outgoing message;
  message.text = request.message.text;
  services_.traces.tell_child(request.message, handed, message);
  // A member may answer at once, and another one be asked meanwhile.
  MemberRequest for_member(request, route, tag, message.inserted, std::move(spare_));
  call::CallContext own = context;
  own.tag = tag;
  own.params = for_member.params();
  // The client's header fields repeat its arguments, but the member gets changed ones.
  if (route.tools != nullptr) own.mirrored.reset();
  send(tag, for_member.envelope(), own);
  spare_ = for_member.release();
  if (spare_.capacity() > kMaxSpare) std::string().swap(spare_);
}

void MemberCalls::send(session::Tag tag, const rpc::Envelope& request, call::CallContext& context) {
  const size_t member = find(tag)->member;
  VirtualSession* const session = services_.sessions.find(context.session);
  if (session != nullptr && !session->greeting.empty()) {
    rpc::FaultReport why;
    Part* const part = services_.sessions.part_for(*session, member, why);
    if (part == nullptr) return on_member_fault(tag, why);
    Handed* const handed = find(tag);
    if (handed == nullptr) return;  // it ended while its session at the member was opened
    handed->part = part;
    return part->hand_over(tag, request, context);
  }
  if (context.peer_kind == PeerKind::stateless) services_.members[member]->note_modern_call();
  context.caller = caller_.caller();
  context.session = {};
  context.is_of_server = true;
  // The context refers to the kept request, which must stay until the member has taken it.
  const Handed& handed = *find(tag);
  const Kept kept = handed.kept;
  handed.upstream->accept({request}, context);
}

// --- Up ------------------------------------------------------------------------------------------

void MemberCalls::on_member_reply(session::Tag tag, const session::Reply& reply) {
  std::optional<Handed> ended = take(tag);
  if (!ended) return;
  const session::ReplyMessage returned(reply);
  const rpc::Envelope& answer = returned.envelope();
  if (reply.fault) return fail(std::move(*ended), report_of(reply, answer.payload));
  const bool is_result = answer.kind == rpc::MessageKind::result;
  std::string other;
  services_.members[ended->member]->count(is_result ? MemberEnd::result : MemberEnd::error);
  if (is_result) {
    note_answer(*ended, answer);
    const bool is_modern = ended->call->client_kind == PeerKind::stateless;
    if (is_modern || TaskNames::may_name(answer.text)) other = shown(*ended, answer);
  } else if (is_not_found(answer)) {
    if (try_next(*ended)) return;
    // The one that could not be asked may know it.
    if (ended->kept != nullptr && ended->kept->fault) {
      return services_.chain.on_fault(std::move(ended->call), *ended->kept->fault);
    }
    // The gateway has made this answer in place of the member.
    if (reply.whole == nullptr) other = with_name_of_client(answer, name_in(*ended));
  }
  if (!other.empty()) {
    const rpc::KnownMessage known(other);
    return services_.chain.on_answer(std::move(ended->call), known.envelope());
  }
  if (reply.whole == nullptr) return services_.chain.on_answer(std::move(ended->call), answer);
  services_.chain.on_answer(std::move(ended->call), answer, reply.outcome);
}

std::string_view MemberCalls::name_in(const Handed& handed) {
  return handed.prompt != nullptr ? *handed.prompt : handed.call->tool_name;
}

std::string MemberCalls::shown(const Handed& handed, const rpc::Envelope& answer) {
  const std::string& name = services_.members[handed.member]->name();
  const call::Call& call = *handed.call;
  std::string shown;
  if (TaskNames::may_name(answer.text)) {
    shown = services_.tasks.shown(answer, {handed.member, name}, TaskNames::owner_of(call));
  }
  if (call.client_kind != PeerKind::stateless) return shown;
  if (shown.empty()) return with_asking_member(answer, name);
  const rpc::KnownMessage known(shown);
  std::string asking = with_asking_member(known.envelope(), name);
  return asking.empty() ? std::string(known.envelope().text) : asking;
}

void MemberCalls::note_answer(const Handed& handed, const rpc::Envelope& answer) {
  services_.routes.note_result(handed.member, *handed.call, answer.payload);
  if (handed.kept == nullptr) return;
  const call::Request request = handed.kept->request();
  if (!is_subscription(request.method)) return;
  VirtualSession* const session = services_.sessions.find(handed.call->session);
  if (session == nullptr) return;
  std::string scratch;
  const std::string uri(rpc::decode_string(
      rpc::string_content(rpc::member_or_empty(request.message.params, "uri")), scratch));
  if (request.method == "resources/unsubscribe") {
    session->unsubscribe(uri);
  } else {
    session->subscribe(uri, handed.member);
  }
}

void MemberCalls::fail(Handed handed, const rpc::FaultReport& report) {
  services_.members[handed.member]->count(MemberEnd::fault);
  const Kept kept = handed.kept;
  if (kept != nullptr && !kept->fault) kept->fault = report;
  if (try_next(handed)) return;
  services_.chain.on_fault(std::move(handed.call), kept == nullptr ? report : *kept->fault);
}

// A resource that this member does not know, or cannot give, may be another one's.
bool MemberCalls::try_next(Handed& handed) {
  if (handed.others.empty() || handed.kept == nullptr || is_stopped_) return false;
  Route route;
  route.lead_to(std::move(handed.others));
  const Kept kept = std::move(handed.kept);
  hand_over(std::move(handed.call), kept->request(), route, kept);
  return true;
}

void MemberCalls::on_member_fault(session::Tag tag, const rpc::FaultReport& report) {
  std::optional<Handed> ended = take(tag);
  if (ended) fail(std::move(*ended), report);
}

// Nobody but the member has cancelled it.
void MemberCalls::on_member_cancelled(session::Tag tag) {
  on_member_fault(tag, rpc::faults::child_failed("the server has cancelled the call"));
}

void MemberCalls::on_event(session::Tag tag, std::string_view notification) {
  const Handed* const handed = find(tag);
  if (handed == nullptr) return;
  const call::Call& call = *handed->call;
  session::ReplySink* const sink = services_.callers.find(call.caller);
  if (sink == nullptr) return;
  const std::string& name = services_.members[handed->member]->name();
  std::string text(notification);
  const rpc::KnownMessage known(text);
  std::string shown;
  if (TaskNames::may_name(text)) {
    shown =
        services_.tasks.shown(known.envelope(), {handed->member, name}, TaskNames::owner_of(call));
  }
  if (shown.empty()) return sink->on_event(call.tag, with_logger(known.envelope(), name));
  const rpc::KnownMessage message(shown);
  sink->on_event(call.tag, with_logger(message.envelope(), name));
}

std::optional<session::Tag> MemberCalls::client_tag(session::Tag tag) {
  const Handed* const handed = find(tag);
  if (handed == nullptr) return std::nullopt;
  return handed->call->tag;
}

bool MemberCalls::has_calls(Part& part) {
  const auto is_of_part = [&part](const Handed& handed) { return handed.part == &part; };
  if (part.is_over()) {
    for (const session::Tag tag : tags(is_of_part)) {
      on_member_fault(tag, rpc::faults::child_failed("the session at this server has ended"));
    }
  }
  return !tags(is_of_part).empty();
}

void MemberCalls::on_part_lists_changed(Part& part, uint8_t lists) {
  services_.changes.gather(services_.members[part.member()].get(), {{}, part.session().id}, lists);
}

// --- Ends ----------------------------------------------------------------------------------------

call::CallPtr MemberCalls::withdraw(const call::Call& call) {
  const session::Tag* const tag = tags_.find(call.slots);
  std::optional<Handed> handed = tag == nullptr ? std::nullopt : take(*tag);
  if (!handed) return nullptr;
  tell_cancelled(*handed, *tag);
  return std::move(handed->call);
}

std::vector<call::CallPtr> MemberCalls::withdraw(
    const std::function<bool(const call::Call&)>& fits) {
  std::vector<call::CallPtr> withdrawn;
  for (const session::Tag tag : tags([&](const Handed& one) { return fits(*one.call); })) {
    std::optional<Handed> handed = take(tag);
    if (!handed) continue;
    tell_cancelled(*handed, tag);
    withdrawn.push_back(std::move(handed->call));
  }
  return withdrawn;
}

void MemberCalls::tell_cancelled(const Handed& handed, session::Tag tag) {
  if (handed.part != nullptr) return handed.part->cancel(tag);
  const rpc::KnownMessage known(cancel_notice(tag));
  call::CallContext context;
  context.caller = caller_.caller();
  context.arrived = now();
  context.is_of_server = true;
  handed.upstream->take_cancel({known.envelope()}, context);
}

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
  tags_.emplace(key, tag);
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
  for (auto& [key, lost] : std::exchange(lost_, {})) {
    if (!listening_.has(key)) continue;
    const Kept kept = std::move(lost.kept);
    open(lost.key, lost.member, std::move(lost.wishes), kept);
  }
}

void ListeningEnds::lose(session::Tag tag) {
  std::optional<End> end = take(tag);
  if (!end) return;
  const uint64_t key = end->key;
  lost_.emplace(key, *std::move(end));
  if (!again_timer_.armed()) again_timer_.arm(clock_.now() + MemberState::kRetry);
}

// A member that refuses is not asked again.
void ListeningEnds::on_reply(session::Tag tag, const session::Reply& reply) {
  const session::ReplyMessage returned(reply);
  const bool is_refused = !reply.fault && returned.envelope().kind == rpc::MessageKind::error;
  if (is_refused) {
    take(tag);
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
    const rpc::KnownMessage known{std::string(notification)};
    const size_t member = end->second.member;
    shown = tasks_.shown(known.envelope(), {member, members_[member]->name()},
                         TaskNames::owner_of(end->second.kept->request().context));
  }
  listening_.on_event(key, shown.empty() ? notification : shown);
}

std::optional<ListeningEnds::End> ListeningEnds::take(session::Tag tag) {
  auto node = ends_.extract(tag);
  if (node.empty()) return std::nullopt;
  tags_.erase({node.mapped().key, tag});
  return std::move(node.mapped());
}

void ListeningEnds::close(uint64_t key) {
  lost_.erase(key);
  for (auto of_call = tags_.lower_bound({key, 0}); of_call != tags_.end() && of_call->first == key;
       of_call = tags_.lower_bound({key, 0})) {
    const session::Tag tag = of_call->second;
    const std::optional<End> end = take(tag);
    const rpc::KnownMessage known(cancel_notice(tag));
    call::CallContext context;
    context.caller = caller_.caller();
    context.arrived = clock_.now();
    context.is_of_server = true;
    end->upstream->take_cancel({known.envelope()}, context);
  }
}

}  // namespace stdgate::servers
