#include "gateway/servers/aggregate.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/mcp/modern_members.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"
#include "gateway/rpc/known_message.h"
#include "gateway/servers/message_texts.h"
#include "gateway/servers/text_edits.h"

namespace stdgate::servers {

namespace {

// Errors by which a server says that it has no such resource.
bool is_not_found(const rpc::Envelope& answer) {
  const auto code = rpc::error_code(answer);
  return code == rpc::rpc_error_code(rpc::RpcError::resource_not_found) ||
         code == rpc::rpc_error_code(rpc::RpcError::invalid_params) ||
         code == rpc::rpc_error_code(rpc::RpcError::method_not_found);
}

}  // namespace

Aggregate::Aggregate(const AggregateServices& services)
    : services_(services),
      stamp_(mcp::stamp_of_gateway("stdgate", services.version)),
      greeting_(greeting_of_gateway(services.version)),
      member_services_{services.core, services.callers, services.config.name, stamp_,
                       greeting_,     clients_,         services.payer},
      answers_(services.config, members_, services.version, services.payer,
               [this](size_t member, const call::CallContext& context) {
                 return sessions_.own_view(context.session, member);
               }),
      tasks_(services.payer),
      routes_(members_, answers_, tasks_, services.payer),
      under_way_(services.calls),
      listening_(services.chain, services.callers, clients_),
      sessions_(members_, *this, clients_, tasks_, services.callers, services.core.clock,
                services.core.timers, services.max_sessions, services.payer.held),
      changes_(members_, sessions_, listening_, clients_, services.core.clock,
               services.core.timers),
      own_({services.config, services.chain, services.dialect, members_, answers_, sessions_,
            changes_}),
      review_timer_(services.core.timers, [this] { review(); }),
      listen_timer_(services.core.timers, [this] { listen_again(); }) {
  MemberOwner& owner = *this;
  for (const config::MemberConfig& member : services_.config.members) {
    members_.push_back(std::make_unique<Member>(member_services_, owner, member));
  }
  caller_.take(services_.callers, returns_);
}

void Aggregate::attach(const backend::Upstreams& upstreams, const config::Config& config) {
  bool is_changed = false;
  for (const auto& member : members_) {
    backend::Upstream* const upstream = upstreams.find(member->name());
    const auto backend =
        std::ranges::find(config.backends, member->name(), &config::BackendConfig::name);
    is_changed = is_changed || upstream != member->upstream();
    member->attach(upstream, backend == config.backends.end() ? nullptr : &*backend, config.roles);
  }
  if (is_changed) note_changed();
  sessions_.settle();
}

tl::expected<call::ClientIntent, const char*> Aggregate::intent_of(
    const rpc::Envelope& request, std::string_view method, const call::CallContext& context) const {
  return services_.dialect.read_client(request, method,
                                       {.era = context.era, .params = context.params});
}

// --- Down ----------------------------------------------------------------------------------------

void Aggregate::take(call::CallPtr call, const call::Request& request, Kept kept) {
  if (call->link == nullptr) services_.calls.index().add(*call);
  call->place = call::CallPlace::waiting;
  if (request.intent.listens) return listen(std::move(call), request, std::move(kept));
  switch (own_.take(call, request)) {
    case OwnRequests::Taking::answered:
      return;
    case OwnRequests::Taking::open:
      return hold(std::move(call), request, std::move(kept));
    case OwnRequests::Taking::of_member:
      break;
  }
  const Route route = routes_.route_of(request.message, request.method, request.context);
  switch (route.kind) {
    case Route::Kind::member:
      if (lacks_room(request, route)) {
        return services_.chain.on_fault(
            std::move(call), rpc::faults::overloaded("too many subscriptions of this session"));
      }
      return hand_over(std::move(call), request, route, std::move(kept));
    case Route::Kind::open:
      return hold(std::move(call), request, std::move(kept));
    case Route::Kind::malformed:
      return services_.chain.answer_error(*call, {rpc::RpcError::invalid_params, route.problem});
    case Route::Kind::unknown:
      break;
  }
  const Era era = call->client_era.value_or(Era::legacy);
  services_.chain.answer_error(
      *call, services_.dialect.absence(request.method, route.element, route.name, era));
}

// For one more subscription of the session.
bool Aggregate::lacks_room(const call::Request& request, const Route& route) {
  if (request.method != "resources/subscribe") return false;
  const VirtualSession* const session = sessions_.find(request.context.session);
  return session != nullptr && !session->may_subscribe(route.name);
}

void Aggregate::listen(call::CallPtr call, const call::Request& request, Kept kept) {
  std::vector<std::string> wished = Listening::wished_uris(request.message.params);
  const bool is_open = std::ranges::any_of(
      wished, [&](const std::string& uri) { return routes_.is_open(uri, request.context); });
  if (is_open) return hold(std::move(call), request, std::move(kept));
  const uint64_t key = ++last_listener_;
  std::map<size_t, std::vector<std::string>> uris;
  std::vector<std::string> heard;
  for (std::string& uri : wished) {
    const std::vector<size_t> members = routes_.members_of(uri, request.context);
    if (members.empty()) continue;
    heard.push_back(uri);
    uris[members.front()].push_back(std::move(uri));
  }
  call->request = request.message.text;
  call->identity = policy::identity_of(request.context.principal);
  // The URIs are kept for the members too, and the request for when it is made again there.
  if (!uris.empty()) call->kept_bytes += 2 * call->request.size();
  call->charge({request.context.account, services_.payer.held});
  listening_.begin(key, std::move(call), request.intent.lists, heard);
  changes_.note_clients();
  changes_.arm_retry();
  if (!uris.empty() && kept == nullptr) {
    kept = std::make_shared<KeptRequest>(request.message.text, request.method, request.context);
  }
  for (auto& [member, wanted] : uris) listen_at(member, key, std::move(wanted), kept);
}

// In the name of the client, for its call `key`.
void Aggregate::listen_at(size_t member, uint64_t key, std::vector<std::string> uris,
                          const Kept& kept) {
  if (members_[member]->upstream() == nullptr) return;
  const session::Tag tag = under_way_.next_tag();
  std::string of_client = kept->text;
  const rpc::KnownMessage known(of_client);
  const std::string_view meta = rpc::member_or_empty(known.envelope().params, "_meta");
  std::string text = Listening::request_for(tag, meta, uris);
  MemberCall own;
  own.member = member;
  own.upstream = members_[member]->upstream();
  own.kept = kept;
  own.listener = key;
  own.uris = std::move(uris);
  call::CallContext context = kept->context();
  context.session = {};
  context.arrived = now();
  context.wants_events = true;
  context.mirrored.reset();
  send(std::move(own), tag, std::move(text), context);
}

// The members' ends of these calls have ended, and their clients still listen.
void Aggregate::listen_again() {
  for (MemberCall& lost : std::exchange(lost_, {})) {
    if (!listening_.has(lost.listener)) continue;
    listen_at(lost.member, lost.listener, std::move(lost.uris), lost.kept);
  }
}

void Aggregate::hold(call::CallPtr call, const call::Request& request, Kept kept) {
  if (is_draining_) {
    return services_.chain.on_fault(std::move(call), rpc::faults::shutting_down());
  }
  TimePoint due = TimePoint::max();
  for (const ListKind kind : kListed) {
    due = std::min(due, answers_.waited_until(kind, request.context));
  }
  if (kept == nullptr) {
    kept = std::make_shared<KeptRequest>(request.message.text, request.method, request.context);
    charge(*call, *kept);
  }
  waiting_.push_back({std::move(call), std::move(kept)});
  if (due != TimePoint::max() && (!review_timer_.armed() || due < review_timer_.due())) {
    review_timer_.arm(due);
  }
}

void Aggregate::charge(call::Call& call, const KeptRequest& kept) const {
  call.held.move_to({kept.context().account, services_.payer.held});
  call.held.set(sizeof(call::Call) + kept.text.size());
}

void Aggregate::review() {
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    const KeptRequest& kept = *waiting.kept;
    std::string text = kept.text;
    const std::string method = kept.method;
    const rpc::KnownMessage known(text);
    const auto intent = intent_of(known.envelope(), method, kept.context());
    STDGATE_CHECK(intent.has_value());  // it has been read before
    const call::Request request{known.envelope(), method, *intent, kept.context()};
    take(std::move(waiting.call), request, std::move(waiting.kept));
  }
}

void Aggregate::hand_over(call::CallPtr call, const call::Request& request, const Route& route,
                          Kept kept) {
  MemberCall out;
  out.member = route.members.front();
  out.upstream = members_[out.member]->upstream();
  if (out.upstream == nullptr) {
    return services_.chain.on_fault(
        std::move(call), rpc::faults::child_failed("this server is not configured any more"));
  }
  out.others.assign(route.members.begin() + 1, route.members.end());
  if (kept == nullptr && (!out.others.empty() || is_subscription(request.method))) {
    kept = std::make_shared<KeptRequest>(request.message.text, request.method, request.context);
    charge(*call, *kept);
  }
  const session::Tag tag = under_way_.next_tag();
  call::Outgoing message;
  message.text = request.message.text;
  services_.traces.tell_child(request.message, *call, message);
  std::string text = request_for_member(request.message, route, tag, message.inserted);
  call->place = call::CallPlace::in_flight;
  call->written = now();
  out.call = std::move(call);
  out.kept = std::move(kept);
  call::CallContext context = out.kept == nullptr ? request.context : out.kept->context();
  // What its client repeats in the head is not what the member gets.
  if (route.tools != nullptr) context.mirrored.reset();
  send(std::move(out), tag, std::move(text), context);
}

void Aggregate::send(MemberCall out, session::Tag tag, std::string text,
                     const call::CallContext& context) {
  call::CallContext own = context;
  own.tag = tag;
  own.params = nullptr;
  VirtualSession* const session = sessions_.find(context.session);
  if (session != nullptr && !session->greeting.empty()) {
    rpc::FaultReport why;
    Part* const part = sessions_.part_for(*session, out.member, why);
    if (part == nullptr) return fail(std::move(out), why);
    out.part = part;
    under_way_.add(tag, std::move(out));
    return part->hand_over(tag, std::move(text), own);
  }
  if (context.era == Era::modern) members_[out.member]->note_modern_call();
  backend::Upstream& upstream = *out.upstream;
  own.caller = caller_.caller();
  own.session = {};
  own.is_of_server = true;
  // The answer may come while the member takes it, and the context may be of what is kept.
  const Kept kept = out.kept;
  under_way_.add(tag, std::move(out));
  const rpc::KnownMessage known(text);
  upstream.accept({known.envelope()}, own);
}

// --- Up ------------------------------------------------------------------------------------------

void Aggregate::on_member_reply(session::Tag tag, const session::Reply& reply) {
  std::optional<MemberCall> ended = under_way_.take(tag);
  if (!ended) return;
  std::string text;
  text.reserve(reply.size());
  text.append(reply.head).append(reply.id).append(reply.tail);
  const rpc::KnownMessage known(text);
  const rpc::Envelope& answer = known.envelope();
  if (reply.fault) return fail(std::move(*ended), report_of(reply, answer.payload));
  if (ended->call == nullptr) {
    if (answer.kind == rpc::MessageKind::result) lose(std::move(*ended));
    return;
  }
  members_[ended->member]->count(answer.kind == rpc::MessageKind::result ? MemberEnd::result
                                                                         : MemberEnd::error);
  if (is_not_found(answer)) {
    if (try_next(*ended)) return;
    // The one that could not be asked may know it.
    if (ended->kept != nullptr && ended->kept->fault) {
      return services_.chain.on_fault(std::move(ended->call), *ended->kept->fault);
    }
  }
  note_answer(*ended, answer);
  std::string other = shown_answer(*ended, answer);
  if (other.empty()) return services_.chain.on_answer(std::move(ended->call), answer);
  const rpc::KnownMessage shown(other);
  services_.chain.on_answer(std::move(ended->call), shown.envelope());
}

std::string Aggregate::shown_answer(const MemberCall& call, const rpc::Envelope& answer) {
  if (answer.kind != rpc::MessageKind::result) return {};
  const std::string& name = members_[call.member]->name();
  std::string shown = tasks_.shown(answer, {call.member, name}, call.call->session);
  if (call.call->client_era != Era::modern) return shown;
  if (shown.empty()) return with_asking_member(answer, name);
  const rpc::KnownMessage known(shown);
  std::string asking = with_asking_member(known.envelope(), name);
  return asking.empty() ? std::string(known.envelope().text) : asking;
}

void Aggregate::lose(MemberCall listener) {
  lost_.push_back(std::move(listener));
  if (!listen_timer_.armed()) listen_timer_.arm(now() + ListChanges::kRetry);
}

void Aggregate::fail(MemberCall call, const rpc::FaultReport& report) {
  if (call.call == nullptr) return lose(std::move(call));
  members_[call.member]->count(MemberEnd::fault);
  const Kept kept = call.kept;
  if (kept != nullptr && !kept->fault) kept->fault = report;
  if (try_next(call)) return;
  services_.chain.on_fault(std::move(call.call), kept == nullptr ? report : *kept->fault);
}

// A resource that this member does not know, or cannot give, may be another one's.
bool Aggregate::try_next(MemberCall& call) {
  if (call.others.empty() || call.kept == nullptr || is_draining_) return false;
  Route route;
  route.kind = Route::Kind::member;
  route.members = std::move(call.others);
  const Kept kept = std::move(call.kept);
  std::string text = kept->text;
  const rpc::KnownMessage known(text);
  const auto intent = intent_of(known.envelope(), kept->method, kept->context());
  STDGATE_CHECK(intent.has_value());
  const call::Request request{known.envelope(), kept->method, *intent, kept->context()};
  hand_over(std::move(call.call), request, route, kept);
  return true;
}

void Aggregate::note_answer(const MemberCall& call, const rpc::Envelope& answer) {
  if (answer.kind != rpc::MessageKind::result) return;
  routes_.note_result(call.member, *call.call, answer.payload);
  if (call.kept == nullptr || !is_subscription(call.kept->method)) return;
  VirtualSession* const session = sessions_.find(call.call->session);
  if (session == nullptr) return;
  std::string text = call.kept->text;
  const rpc::KnownMessage known(text);
  std::string scratch;
  const std::string uri(rpc::decode_string(
      rpc::string_content(rpc::member_or_empty(known.envelope().params, "uri")), scratch));
  if (call.kept->method == "resources/unsubscribe") {
    session->unsubscribe(uri);
  } else {
    session->subscribe(uri, call.member);
  }
}

void Aggregate::on_member_fault(session::Tag tag, const rpc::FaultReport& report) {
  std::optional<MemberCall> ended = under_way_.take(tag);
  if (ended) fail(std::move(*ended), report);
}

// Nobody but the member has cancelled it.
void Aggregate::on_member_cancelled(session::Tag tag) {
  on_member_fault(tag, rpc::faults::child_failed("the server has cancelled the call"));
}

std::optional<session::Tag> Aggregate::client_tag(session::Tag tag) {
  const MemberCall* const call = under_way_.find(tag);
  if (call == nullptr || call->call == nullptr) return std::nullopt;
  return call->call->tag;
}

size_t Aggregate::own_callers() const {
  const auto has_slot = [](const auto& member) { return member->has_caller(); };
  const auto of_members = std::ranges::count_if(members_, has_slot);
  return static_cast<size_t>(of_members) + (caller_.is_none() ? 0 : 1);
}

bool Aggregate::has_calls(Part& part) {
  if (part.is_over()) {
    for (const session::Tag tag :
         under_way_.tags([&part](const MemberCall& call) { return call.part == &part; })) {
      on_member_fault(tag, rpc::faults::child_failed("the session at this server has ended"));
    }
  }
  return under_way_.uses(part);
}

void Aggregate::tell_caller(session::Tag tag, std::string_view notification) {
  const MemberCall* const call = under_way_.find(tag);
  if (call == nullptr) return;
  if (call->listener != 0) return listening_.on_event(call->listener, notification);
  session::ReplySink* const sink = services_.callers.find(call->call->caller);
  if (sink == nullptr) return;
  const std::string& name = members_[call->member]->name();
  std::string text(notification);
  const rpc::KnownMessage known(text);
  std::string shown = tasks_.shown(known.envelope(), {call->member, name}, call->call->session);
  const rpc::KnownMessage message(shown.empty() ? text : shown);
  sink->on_event(call->call->tag, with_logger(message.envelope(), name));
}

// --- Ends ----------------------------------------------------------------------------------------

bool Aggregate::cancel(session::Caller caller, std::string_view id) {
  const call::Call* const call = services_.calls.index().find(caller, id);
  if (call == nullptr) return false;
  const session::Tag tag = call->tag;
  session::ReplySink* const sink = services_.callers.find(caller);
  if (const session::Tag at_member = under_way_.tag_of(*call); at_member != 0) {
    const std::optional<MemberCall> ended = under_way_.take(at_member);
    cancel_at_member(*ended, at_member);
    services_.chain.end(*ended->call, Outcome::cancelled(), "client_cancelled");
  } else {
    end_calls([call](const call::Call& some) { return &some == call; }, "client_cancelled",
              nullptr);
  }
  if (sink != nullptr) sink->on_cancelled(tag);
  return true;
}

void Aggregate::end_calls(const std::function<bool(const call::Call&)>& fits,
                          std::string_view detail, const rpc::FaultReport* report) {
  std::vector<call::CallPtr> ended;
  std::erase_if(waiting_, [&](Waiting& waiting) {
    if (!fits(*waiting.call)) return false;
    ended.push_back(std::move(waiting.call));
    return true;
  });
  const auto is_one = [&](const MemberCall& call) {
    return call.call != nullptr && fits(*call.call);
  };
  for (const session::Tag tag : under_way_.tags(is_one)) {
    std::optional<MemberCall> call = under_way_.take(tag);
    cancel_at_member(*call, tag);
    ended.push_back(std::move(call->call));
  }
  const size_t listeners = listening_.size();
  for (const uint64_t key : listening_.withdraw(fits, Outcome::cancelled(), detail)) {
    for (const session::Tag tag :
         under_way_.tags([key](const MemberCall& call) { return call.listener == key; })) {
      cancel_at_member(*under_way_.take(tag), tag);
    }
  }
  if (listening_.size() != listeners) changes_.note_clients();
  for (call::CallPtr& call : ended) {
    if (report == nullptr) {
      services_.chain.end(*call, Outcome::cancelled(), detail);
    } else {
      services_.chain.on_fault(std::move(call), *report);
    }
  }
}

void Aggregate::cancel_at_member(const MemberCall& call, session::Tag tag) {
  if (call.part != nullptr) return call.part->cancel(tag);
  std::string text = cancel_notice(tag);
  const rpc::KnownMessage known(text);
  call::CallContext context;
  context.caller = caller_.caller();
  context.arrived = now();
  call.upstream->take_cancel({known.envelope()}, context);
}

void Aggregate::end_listening() {
  listening_.end_all();
  changes_.note_clients();
  lost_.clear();
  for (const session::Tag tag :
       under_way_.tags([](const MemberCall& call) { return call.listener != 0; })) {
    cancel_at_member(*under_way_.take(tag), tag);
  }
}

// --- What members offer --------------------------------------------------------------------------

void Aggregate::on_lists(Member& member, MemberView& view, uint8_t news) {
  Audience audience{view.identity};
  if (view.part != nullptr) audience.session = view.part->session().id;
  changes_.gather(&member, audience, news);
  if (!waiting_.empty()) review_timer_.arm(now());
}

void Aggregate::on_lists_changed(Member& member, std::string_view identity, uint8_t lists) {
  changes_.gather(&member, {std::string(identity)}, lists);
}

void Aggregate::describe(pool::BackendStatus& status) const {
  status.sessions = sessions_.size();
  status.in_flight = under_way_.size();
  status.queued = waiting_.size();
  answers_.describe(status);
}

}  // namespace stdgate::servers
