#include "gateway/servers/aggregate.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/base/text.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/servers/server_messages.h"

namespace stdgate::servers {

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
      under_way_({services.chain, services.calls, services.traces, services.callers, members_,
                  routes_, tasks_, sessions_, changes_, services.core.clock, services.payer}),
      listening_(services.chain, services.calls, services.callers, clients_),
      ends_(members_, listening_, tasks_, services.callers, services.core.clock,
            services.core.timers),
      sessions_(members_, under_way_, clients_, tasks_, services.callers, services.core.clock,
                services.core.timers, services.max_sessions, services.payer.held),
      changes_(members_, sessions_, listening_, clients_, services.core.clock,
               services.core.timers),
      clashes_(services.config.name, services.core.log),
      own_({services.config, services.chain, services.dialect, members_, answers_, sessions_,
            changes_}),
      review_timer_(services.core.timers, [this] { services_.chain.release(*this); }),
      presence_timer_(services.core.timers, [this] { changes_.note_clients(); }) {
  take_members();
}

void Aggregate::take_members() {
  const auto renewed =
      members_.replace(services_.config.members, [&](const config::MemberConfig& member) {
        return std::make_unique<Member>(member_services_, *this, member);
      });
  for (const size_t place : renewed) sessions_.forget_lists(place);
  if (services_.chain.held_requests() > 0) review_timer_.arm(now());  // for members that have gone
}

void Aggregate::attach(const backend::Upstreams& upstreams, const config::Config& config) {
  bool is_changed = false;
  for (const size_t place : members_.order()) {
    Member* const member = members_[place].get();
    backend::Upstream* const upstream = upstreams.find(member->name());
    const auto backend =
        std::ranges::find(config.backends, member->name(), &config::BackendConfig::name);
    is_changed = is_changed || upstream != member->upstream();
    member->attach(upstream, backend == config.backends.end() ? nullptr : &*backend, config.roles);
  }
  if (is_changed) note_changed();
  sessions_.settle();
}

void Aggregate::drain() {
  is_draining_ = true;
  changes_.stop();
  under_way_.stop();
  for (const auto& member : members_.all()) member->stop();
}

// --- Requests ------------------------------------------------------------------------------------

void Aggregate::check_invariants() const {
  const auto check = [this](const call::Call& call) {
    STDGATE_CHECK(call.caller.is_none() || services_.callers.find(call.caller) != nullptr);
    STDGATE_CHECK(call.session.is_none() || sessions_.find(call.session) != nullptr);
  };
  services_.chain.for_each_held(check);
  under_way_.for_each_call(check);
  STDGATE_CHECK(clients_.size() == sessions_.size() + listening_.size());
}

// A call has the deadline of its member. Before that, MemberConfig::wait bounds its time.
void Aggregate::on_begin(call::Call& call, const call::Arrival& arrival) {
  call.deadline = TimePoint::max();
  if (arrival.context.peer_kind == PeerKind::stateless) {
    call.revision = mcp::kModernRevision;
  } else if (const VirtualSession* const session = sessions_.find(call.session)) {
    call.session_name = session->sink->name();
    call.revision = session->revision;
  }
}

void Aggregate::take(call::CallPtr call, const call::Request& request) {
  if (request.intent.listens) return listen(std::move(call), request);
  switch (own_.take(call, request)) {
    case OwnRequests::Taking::answered:
      return;
    case OwnRequests::Taking::open:
      return hold(std::move(call), request);
    case OwnRequests::Taking::of_member:
      break;
  }
  const Route route = routes_.route_of(request);
  switch (route.kind) {
    case Route::Kind::member:
      if (lacks_room(request, route)) {
        return services_.chain.on_fault(
            std::move(call), rpc::faults::overloaded("too many subscriptions of this session"));
      }
      return under_way_.hand_over(std::move(call), request, route);
    case Route::Kind::open:
      return hold(std::move(call), request);
    case Route::Kind::malformed:
      return services_.chain.answer_error(*call, {rpc::RpcError::invalid_params, route.problem});
    case Route::Kind::unknown:
      break;
  }
  if (const Member* const missing = routes_.missing_member(route, request.context)) {
    return services_.chain.on_fault(
        std::move(call), rpc::faults::child_failed("the server '" + missing->name() + "' " +
                                                   missing->why_missing()));
  }
  const PeerKind peer_kind = call->client_kind.value_or(PeerKind::stateful);
  services_.chain.answer_error(
      *call, services_.dialect.absence(request.method, route.element, route.name, peer_kind));
}

// Whether the request is one more subscription than the session may have.
bool Aggregate::lacks_room(const call::Request& request, const Route& route) {
  if (!same_text(request.method, "resources/subscribe")) return false;
  const VirtualSession* const session = sessions_.find(request.context.session);
  return session != nullptr && !session->may_subscribe(std::string(route.name));
}

void Aggregate::listen(call::CallPtr call, const call::Request& request) {
  // The call has waited; calls that listened before have already been ended.
  if (is_draining_) {
    return services_.chain.on_fault(std::move(call), rpc::faults::shutting_down());
  }
  auto wished = Listening::wishes_of(request.message.params);
  if (!wished) {
    return services_.chain.answer_error(*call, {rpc::RpcError::invalid_params, wished.error()});
  }
  const bool is_open = std::ranges::any_of(
      wished->uris, [&](const std::string& uri) { return routes_.is_open(uri, request.context); });
  if (is_open) return hold(std::move(call), request);
  std::map<size_t, ListenedWishes> at_members;
  ListenedWishes heard;
  for (std::string& uri : wished->uris) {
    const std::vector<size_t> members = routes_.members_of(uri, request.context);
    if (members.empty()) continue;
    heard.uris.push_back(uri);
    at_members[members.front()].uris.push_back(std::move(uri));
  }
  // Tasks of others, and tasks that are over, are left out, as a backend leaves them out.
  for (std::string& id : wished->tasks) {
    auto place = routes_.member_of_task(id, request.context);
    if (!place) continue;
    heard.tasks.push_back(std::move(id));
    at_members[place->member].tasks.push_back(std::move(place->own));
  }
  call->request = request.message.text;
  call->identity = policy::identity_of(request.context.principal);
  // The wishes are kept for the members too, and the request for when it is made again there.
  if (!at_members.empty()) call->kept_bytes += 2 * call->request.size();
  call->charge({request.context.account, services_.payer.held});
  const Kept kept = at_members.empty() ? nullptr : std::make_shared<RetriedRequest>(request);
  const uint64_t key = ++last_listener_;
  listening_.begin(key, std::move(call), request.intent.lists, heard);
  changes_.note_clients();
  changes_.arm_retry();
  for (auto& [member, wishes] : at_members) ends_.open(key, member, std::move(wishes), kept);
}

void Aggregate::hold(call::CallPtr call, const call::Request& request) {
  if (is_draining_) {
    return services_.chain.on_fault(std::move(call), rpc::faults::shutting_down());
  }
  TimePoint due = TimePoint::max();
  for (const ListKind kind : kListed) {
    due = std::min(due, answers_.waited_until(kind, request.context));
  }
  if (services_.chain.hold(call, request, due)) return;
  services_.chain.on_fault(std::move(call), rpc::faults::overloaded("too many calls wait for the "
                                                                    "lists of the members"));
}

size_t Aggregate::own_callers() const {
  const auto has_slot = [](const auto& member) { return member->has_caller(); };
  const auto of_members = std::ranges::count_if(members_.all(), has_slot);
  return static_cast<size_t>(of_members) + (under_way_.has_caller() ? 1 : 0) +
         (ends_.has_caller() ? 1 : 0);
}

std::vector<std::string> Aggregate::member_names() const {
  std::vector<std::string> names;
  for (const size_t place : members_.order()) names.push_back(members_[place]->name());
  return names;
}

// --- Ends ----------------------------------------------------------------------------------------

bool Aggregate::cancel(session::Caller caller, std::string_view id) {
  const call::Call* const call = services_.calls.index().find(caller, id);
  if (call == nullptr) return false;
  session::ReplySink* const sink = services_.callers.find(caller);
  call::CallPtr cancelled = services_.chain.take_held(caller, id);
  if (!cancelled) cancelled = under_way_.withdraw(*call);
  if (!cancelled) return false;
  const session::Tag tag = cancelled->tag;
  services_.chain.end(*cancelled, Outcome::cancelled(), "client_cancelled");
  if (sink != nullptr) sink->on_cancelled(tag);
  return true;
}

void Aggregate::end_calls(const std::function<bool(const call::Call&)>& fits,
                          std::string_view detail, const rpc::FaultReport* report) {
  std::vector<call::CallPtr> ended = services_.chain.take_held(fits);
  for (call::CallPtr& call : under_way_.withdraw(fits)) ended.push_back(std::move(call));
  for (call::CallPtr& call : ended) {
    if (report == nullptr) {
      services_.chain.end(*call, Outcome::cancelled(), detail);
    } else {
      services_.chain.on_fault(std::move(call), *report);
    }
  }
}

// A call that listens ends with the calls at the members that serve it.
void Aggregate::on_end(const call::Call& call, call::End& /*end*/) {
  const auto key = listening_.note_end(call);
  if (!key) return;
  ends_.close(*key);
  presence_timer_.arm(now());  // once for all that end in this turn
}

void Aggregate::end_listening() { listening_.end_all(); }

// --- What members offer --------------------------------------------------------------------------

void Aggregate::on_lists(Member& member, MemberView& view, uint8_t news) {
  Audience audience{view.identity};
  if (view.part != nullptr) audience.session = view.part->session().id;
  changes_.gather(&member, audience, news);
  if (&view == member.common_view()) clashes_.review(members_.all());
  if (services_.chain.held_requests() > 0) review_timer_.arm(now());
}

void Aggregate::on_lists_changed(Member& member, std::string_view identity, uint8_t lists) {
  changes_.gather(&member, {std::string(identity)}, lists);
}

void Aggregate::describe(pool::BackendStatus& status) const {
  status.sessions = sessions_.size();
  status.in_flight = under_way_.size() + listening_.size();
  status.queued = services_.chain.held_requests();
  answers_.describe(status);
}

}  // namespace stdgate::servers
