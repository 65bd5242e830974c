#include "gateway/servers/aggregate.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/mcp/modern_members.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"
#include "gateway/rpc/known_message.h"
#include "gateway/servers/message_texts.h"
#include "gateway/servers/text_edits.h"

namespace stdgate::servers {

namespace {

constexpr std::string_view kEmptyResult = "{}";
constexpr std::array kListed = {ListKind::tools, ListKind::prompts, ListKind::resources,
                                ListKind::templates};

std::optional<ListKind> list_of(std::string_view method) {
  for (const ListKind kind : kListed) {
    if (facts_of(kind).method == method) return kind;
  }
  return std::nullopt;
}

}  // namespace

Aggregate::Aggregate(const AggregateServices& services)
    : services_(services),
      stamp_(mcp::stamp_of_gateway("stdgate", services.version)),
      greeting_(greeting_of_gateway(services.version)),
      member_services_{services.core, services.callers, services.config.name, stamp_, greeting_},
      answers_(services.config, members_, services.version,
               [this](size_t member, const call::CallContext& context) {
                 return sessions_.own_view(context.session, member);
               }),
      routes_(members_, answers_),
      under_way_(services.calls),
      listening_(services.chain, services.callers),
      sessions_(members_, *this, services.callers, services.core.clock, services.core.timers,
                services.max_sessions, services.payer.held),
      changes_(members_, sessions_, listening_, services.core.clock, services.core.timers),
      review_timer_(services.core.timers, [this] { review(); }) {
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
  answers_.forget_index();
  if (is_changed) changes_.gather(kAllLists);
  sessions_.settle();
}

tl::expected<call::ClientIntent, const char*> Aggregate::intent_of(
    const rpc::Envelope& request, std::string_view method, const call::CallContext& context) const {
  if (context.era == Era::modern) {
    return services_.dialect.read_modern_client(request, method, context.params);
  }
  return services_.dialect.read_client(request, method, config::Isolation::shared);
}

// --- Down ----------------------------------------------------------------------------------------

void Aggregate::take(call::CallPtr call, const call::Request& request, Kept kept) {
  if (call->link == nullptr) services_.calls.index().add(*call);
  call->place = call::CallPlace::waiting;
  if (answer_here(call, request, kept)) return;
  const Route route = routes_.route_of(request.message, request.method, request.context);
  switch (route.kind) {
    case Route::Kind::member:
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

// False: it is for a member.
bool Aggregate::answer_here(call::CallPtr& call, const call::Request& request, Kept& kept) {
  const std::string_view method = request.method;
  const bool is_searched = services_.config.expose.is_search && method == "tools/call" &&
                           rpc::json_string_equals(request.intent.tool, kFindTool);
  if (const auto kind = list_of(method)) {
    list(std::move(call), request, *kind, std::move(kept));
  } else if (method == "server/discover" && request.context.era == Era::modern) {
    discover(std::move(call), request, std::move(kept));
  } else if (request.intent.listens) {
    listen(std::move(call), request);
  } else if (method == "initialize") {
    greet(call, request);
  } else if (method == "ping") {
    services_.chain.answer_result(*call, kEmptyResult);
  } else if (method == "logging/setLevel") {
    set_level(*call, request);
  } else if (is_searched) {
    find_tool(std::move(call), request, std::move(kept));
  } else {
    return false;
  }
  return true;
}

void Aggregate::list(call::CallPtr call, const call::Request& request, ListKind kind, Kept kept) {
  const call::CallContext& context = request.context;
  // What members can do, is asked while they are awake; nobody waits for that.
  answers_.prepare(ListKind::greeting, context);
  if (!answers_.prepare(kind, context)) return hold(std::move(call), request, std::move(kept));
  if (const Member* const missing = answers_.missing_required(kind, context)) {
    changes_.arm_retry();
    return services_.chain.on_fault(std::move(call),
                                    rpc::faults::child_failed("the server '" + missing->name() +
                                                              "' is required here, and is down"));
  }
  if (context.era == Era::modern && answers_.is_refused(context)) return refuse_era(*call);
  const auto result = answers_.list(kind, request.message.params, context);
  changes_.arm_retry();
  if (!result) {
    return services_.chain.answer_error(*call, {rpc::RpcError::invalid_params, result.error()});
  }
  services_.chain.on_result(std::move(call), *result);
}

// As a server that has sessions alone.
void Aggregate::refuse_era(const call::Call& call) {
  const bool is_probe = call.method_name == services_.dialect.probe_method();
  services_.chain.answer(call, is_probe ? Outcome::other_era() : Outcome::error(),
                         R"("error":)" + services_.dialect.wrong_era_error(),
                         rpc::rpc_error_code(rpc::RpcError::unsupported_version));
}

void Aggregate::discover(call::CallPtr call, const call::Request& request, Kept kept) {
  const bool may_refuse =
      std::ranges::all_of(members_, [](const auto& member) { return member->may_refuse_modern(); });
  if (may_refuse && !answers_.prepare(ListKind::tools, request.context)) {
    return hold(std::move(call), request, std::move(kept));
  }
  if (may_refuse && answers_.is_refused(request.context)) return refuse_era(*call);
  services_.chain.on_result(std::move(call), answers_.discovery(request.context));
}

void Aggregate::find_tool(call::CallPtr call, const call::Request& request, Kept kept) {
  if (!answers_.prepare(ListKind::tools, request.context)) {
    return hold(std::move(call), request, std::move(kept));
  }
  const auto result = answers_.search(request.message.params, request.context);
  if (!result) {
    return services_.chain.answer_error(*call,
                                        {rpc::RpcError::invalid_params, "say what to find: query"});
  }
  services_.chain.on_result(std::move(call), *result);
}

void Aggregate::greet(const call::CallPtr& call, const call::Request& request) {
  const std::string_view params = request.message.params;
  VirtualSession* const session = sessions_.find(request.context.session);
  if (session != nullptr) {
    if (params.size() > VirtualSession::kMaxGreeting) {
      return services_.chain.answer_error(
          *call, {rpc::RpcError::invalid_params, "initialize has more than 64 KiB of params"});
    }
    session->greeting = params.empty() ? "{}" : params;
    session->revision = mcp::agreed_mcp_revision(params);
    session->transport = request.context.transport;
    session->held.set(sizeof(VirtualSession) + session->greeting.size());
  }
  services_.chain.answer_result(*call, answers_.greeting(params, request.context));
}

void Aggregate::set_level(const call::Call& call, const call::Request& request) {
  const auto refuse = [&](const char* why) {
    services_.chain.answer_error(call, {rpc::RpcError::invalid_params, why});
  };
  VirtualSession* const session = sessions_.find(request.context.session);
  if (session == nullptr) {
    return refuse("a log level belongs to a session, and this call has none");
  }
  if (!request.intent.severity) return refuse("no such log level");
  sessions_.set_level(*session, session::severity_name(*request.intent.severity));
  services_.chain.answer_result(call, kEmptyResult);
}

void Aggregate::listen(call::CallPtr call, const call::Request& request) {
  const uint64_t key = ++last_listener_;
  std::map<size_t, std::vector<std::string>> uris;
  std::vector<std::string> heard;
  for (std::string& uri : Listening::wished_uris(request.message.params)) {
    const std::vector<size_t> members = routes_.members_of(uri, request.context);
    if (members.empty()) continue;
    heard.push_back(uri);
    uris[members.front()].push_back(std::move(uri));
  }
  call->request = request.message.text;
  call->charge({request.context.account, services_.payer.held});
  listening_.begin(key, std::move(call), request.intent.lists, heard);
  changes_.note_clients();
  changes_.arm_retry();
  const std::string_view meta = rpc::member_or_empty(request.message.params, "_meta");
  for (const auto& [member, wanted] : uris) {
    const session::Tag tag = under_way_.next_tag();
    MemberCall own;
    own.member = member;
    own.upstream = members_[member]->upstream();
    own.listener = key;
    call::CallContext context = request.context;
    context.session = {};
    context.wants_events = true;
    context.mirrored.reset();
    send(std::move(own), tag, Listening::request_for(tag, meta, wanted), context);
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
    kept = std::make_unique<KeptRequest>(request.message.text, request.method, request.context);
    call->held.move_to({request.context.account, services_.payer.held});
    call->held.set(sizeof(call::Call) + kept->text.size());
  }
  waiting_.push_back({std::move(call), std::move(kept)});
  if (due != TimePoint::max() && (!review_timer_.armed() || due < review_timer_.due())) {
    review_timer_.arm(due);
  }
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
    kept = std::make_unique<KeptRequest>(request.message.text, request.method, request.context);
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
    if (part == nullptr) return services_.chain.on_fault(std::move(out.call), why);
    out.part = part;
    under_way_.add(tag, std::move(out));
    return part->hand_over(tag, std::move(text), own);
  }
  backend::Upstream& upstream = *out.upstream;
  own.caller = caller_.caller();
  own.session = {};
  // The answer may come, and end what was kept, while the member takes it.
  const Kept kept = std::exchange(out.kept, nullptr);
  if (kept != nullptr) out.kept = std::make_unique<KeptRequest>(kept->text, kept->method, context);
  under_way_.add(tag, std::move(out));
  const rpc::KnownMessage known(text);
  upstream.accept({known.envelope()}, own);
}

// --- Up ------------------------------------------------------------------------------------------

void Aggregate::on_member_reply(session::Tag tag, const session::Reply& reply) {
  std::optional<MemberCall> ended = under_way_.take(tag);
  if (!ended || ended->call == nullptr) return;
  std::string text(reply.head);
  text.append(reply.id).append(reply.tail);
  const rpc::KnownMessage known(text);
  const rpc::Envelope& answer = known.envelope();
  if (reply.fault) {
    return services_.chain.on_fault(std::move(ended->call), report_of(reply, answer.payload));
  }
  if (try_next(*ended, answer)) return;
  note_answer(*ended, answer);
  services_.chain.on_answer(std::move(ended->call), answer);
}

// A resource that this member does not know may be another one's.
bool Aggregate::try_next(MemberCall& call, const rpc::Envelope& answer) {
  const auto code = rpc::error_code(answer);
  const bool is_unknown = code == rpc::rpc_error_code(rpc::RpcError::resource_not_found) ||
                          code == rpc::rpc_error_code(rpc::RpcError::invalid_params) ||
                          code == rpc::rpc_error_code(rpc::RpcError::method_not_found);
  if (call.others.empty() || !is_unknown || call.kept == nullptr) return false;
  Route route;
  route.kind = Route::Kind::member;
  route.members = std::move(call.others);
  const KeptRequest& kept = *call.kept;
  std::string text = kept.text;
  const std::string method = kept.method;
  const rpc::KnownMessage known(text);
  const auto intent = intent_of(known.envelope(), method, kept.context());
  STDGATE_CHECK(intent.has_value());
  const call::Request request{known.envelope(), method, *intent, kept.context()};
  hand_over(std::move(call.call), request, route, std::move(call.kept));
  return true;
}

void Aggregate::note_answer(const MemberCall& call, const rpc::Envelope& answer) {
  if (answer.kind != rpc::MessageKind::result) return;
  routes_.note_result(call.member, call.call->method_name, answer.payload);
  if (call.kept == nullptr || !is_subscription(call.kept->method)) return;
  VirtualSession* const session = sessions_.find(call.call->session);
  if (session == nullptr) return;
  std::string text = call.kept->text;
  const rpc::KnownMessage known(text);
  std::string scratch;
  const std::string uri(rpc::decode_string(
      rpc::string_content(rpc::member_or_empty(known.envelope().params, "uri")), scratch));
  if (call.kept->method == "resources/unsubscribe") {
    session->subscriptions.erase(uri);
  } else if (session->subscriptions.size() < VirtualSession::kMaxSubscriptions) {
    session->subscriptions[uri] = call.member;
  }
}

void Aggregate::on_member_fault(session::Tag tag, const rpc::FaultReport& report) {
  std::optional<MemberCall> ended = under_way_.take(tag);
  if (ended && ended->call != nullptr) services_.chain.on_fault(std::move(ended->call), report);
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
  std::string text(notification);
  const rpc::KnownMessage known(text);
  sink->on_event(call->call->tag, with_logger(known.envelope(), members_[call->member]->name()));
}

// --- Ends ----------------------------------------------------------------------------------------

bool Aggregate::cancel(session::Caller caller, std::string_view id) {
  const call::Call* const call = services_.calls.index().find(caller, id);
  if (call == nullptr) return false;
  const session::Tag tag = call->tag;
  session::ReplySink* const sink = services_.callers.find(caller);
  end_calls([call](const call::Call& some) { return &some == call; }, "client_cancelled", nullptr);
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
  for (const session::Tag tag :
       under_way_.tags([](const MemberCall& call) { return call.listener != 0; })) {
    cancel_at_member(*under_way_.take(tag), tag);
  }
}

// --- What members offer --------------------------------------------------------------------------

void Aggregate::on_lists(MemberView& view, uint8_t news) {
  answers_.forget_index();
  if (news != 0 && view.part != nullptr) {
    VirtualSession& session = view.part->session();
    session.changed = static_cast<uint8_t>(session.changed | news);
    changes_.gather(0);
  } else if (news != 0) {
    changes_.gather(news);
  }
  if (!waiting_.empty()) review_timer_.arm(now());
}

void Aggregate::on_lists_changed(Member& /*member*/, uint8_t lists) { changes_.gather(lists); }

void Aggregate::describe(pool::BackendStatus& status) const {
  status.sessions = sessions_.size();
  status.in_flight = under_way_.size();
  status.queued = waiting_.size();
  answers_.describe(status);
}

}  // namespace stdgate::servers
