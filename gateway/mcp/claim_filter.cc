#include "gateway/mcp/claim_filter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "gateway/mcp/mcp_input.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/policy/client.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {

namespace {

// The ends of the keys of claims. A search stops at each occurrence of the first letter, and these
// letters are rare.
constexpr std::string_view kStateEnd = "State\"";
constexpr std::string_view kTaskEnd = "Id\"";
constexpr std::string_view kCursorEnd = "Cursor\"";
constexpr std::string_view kTaskList = "tasks/list";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Whether params of a client may have a key with this end. A key may be spelled with escapes.
bool may_have(std::string_view params, std::string_view end) {
  return has(params, end) || has(params, "\\");
}

const call::Absence& unknown_claim(ClaimKind kind) {
  static const std::array<call::Absence, 3> kErrors = {
      call::Absence{rpc::RpcError::invalid_params, "requestState is not valid"},
      call::Absence{rpc::RpcError::invalid_params, "Task not found"},
      call::Absence{rpc::RpcError::invalid_params, "cursor is not valid"}};
  return kErrors[static_cast<size_t>(kind)];
}

call::Absence too_long(ClaimKind kind) {
  constexpr std::array<std::string_view, 3> kWhat = {"a requestState of more than 1 MiB",
                                                     "the id of a task of more than 1 KiB",
                                                     "a cursor of more than 1 MiB"};
  return {rpc::RpcError::internal_error, "the server has given " +
                                             std::string(kWhat[static_cast<size_t>(kind)]) +
                                             "; pool.sticky: false passes what it gives as it is"};
}

// Whether a notification names a task.
bool names_task(std::string_view params, std::string_view method) {
  if (method.starts_with("notifications/tasks")) return true;
  const bool may_name = has(params, kTaskEnd) || has(params, R"(taskIds")");
  return may_name && !claims_of_notification(params, method).empty();
}

bool declares_tasks(std::string_view capabilities) {
  return rpc::member_or_empty(rpc::member_or_empty(capabilities, "extensions"), kTasksExtension)
      .starts_with('{');
}

// Only the log gets the reason; clients are not told.
std::string_view reason_of(ReturnEnd end) {
  switch (end) {
    case ReturnEnd::unknown:
      return "it has not been given to this client by this backend";
    case ReturnEnd::expired:
      return "the client has come back too late: timeouts.input";
    case ReturnEnd::lost:
      return "the process that has given it has ended";
    case ReturnEnd::returned:
      break;
  }
  return {};
}

std::string in_quotes(std::string_view text) {
  return std::string(1, '"').append(text).append(1, '"');
}

}  // namespace

ClaimFilter::ClaimFilter(const pool::FilterServices& services)
    : services_(services.services),
      pool_(services.pool),
      chain_(services.services.chain),
      states_(services.services.calls.reserve<std::optional<GivenClaim>>()),
      seal_(services.services),
      ledger_(services.services.config.pool.tasks, services.input_timeout),
      listening_(services, *this) {}

bool ClaimFilter::is_running(uint64_t number) const {
  const pool::Child* const child = pool_.find_child(number);
  return child != nullptr && child->isolation() == config::Isolation::shared &&
         child->keeps_bound();
}

bool ClaimFilter::has_tasks() const {
  return has_given_tasks_ || std::ranges::any_of(pool_.children(), [](const auto& child) {
           return declares_tasks(child->facts().capabilities);
         });
}

// --- Requests -------------------------------------------------------------------------------

void ClaimFilter::take(call::CallPtr& call, const call::Request& request) {
  const call::CallContext& context = request.context;
  // Claims that are given out for this call belong to this client.
  if (context.principal != nullptr) call->identity = policy::identity_of(context.principal);
  auto ruling =
      judge({request.message, request.method, static_cast<const McpParams*>(context.params),
             call->identity, context.peer_kind});
  if (!ruling) return;
  if (!ruling->error) return go_on(std::move(call), request, *std::move(ruling));
  const call::CallPtr refused = std::move(call);
  chain_.answer_error(*refused, *ruling->error, Outcome::error(), ruling->detail);
}

void ClaimFilter::go_on(call::CallPtr call, const call::Request& former, Ruling ruling) {
  const rpc::KnownMessage known(ruling.text);
  const rpc::Envelope& message = known.envelope();
  call::CallContext context = former.context;
  context.params = nullptr;  // they describe the other message
  const pool::Dialect& dialect = services_.dialect;
  const auto intent = dialect.read_client(message, former.method, {.peer_kind = context.peer_kind});
  STDGATE_CHECK(intent.has_value());  // it has been read before
  call->route = ruling.route;
  if (ruling.state) {
    ledger_.close_state(ruling.state->child, ruling.state->number);
    states_.of(call->slots) = std::move(ruling.state);
  }
  if (!ruling.others.empty()) {
    listening_.begin(*call, std::move(ruling.others), services_.payer_for(context.account));
  }
  chain_.go_on(std::move(call), {message, former.method, *intent, context});
}

// Requests of clients of both eras are searched for claims, because a child reads the same keys.
// Most requests have been read before, which saves the search.
bool ClaimFilter::concerns(const Asked& asked) const {
  if (is_about_list(asked.method) || asked.method == kListenMethod) return true;
  // Legacy requests are written for legacy children, and reach no others.
  const bool is_legacy = asked.client_kind != PeerKind::stateless;
  if (is_legacy && pool_.peer_kind() == PeerKind::stateful) return false;
  return is_about_task(asked.method) || asked.params == nullptr || may_have_claims(*asked.params);
}

std::vector<ClaimFilter::Opened> ClaimFilter::open_all(const Asked& asked) const {
  std::vector<Opened> all;
  for (const Claim& claim : claims_of_request(asked.request.params, asked.method)) {
    Opened opened{claim, seal_.open(claim.kind, claim.raw, asked.identity)};
    if (opened.given) opened.end = end_of(claim, *opened.given);
    all.push_back(std::move(opened));
  }
  return all;
}

ReturnEnd ClaimFilter::end_of(const Claim& claim, const GivenClaim& given) const {
  if (!given.is_ours) return ReturnEnd::lost;  // the process that gave it out has been replaced
  if (claim.kind == ClaimKind::state && given.expires <= now()) return ReturnEnd::expired;
  return is_running(given.child) ? ReturnEnd::returned : ReturnEnd::lost;
}

std::optional<ClaimFilter::Ruling> ClaimFilter::judge(const Asked& asked) {
  if (asked.client_kind == PeerKind::stateless && asked.params == nullptr) {
    const McpParams read = read_params(asked.request.params, memory_);
    Asked again = asked;
    again.params = &read;
    return judge(again);
  }
  if (!concerns(asked)) return std::nullopt;
  // The modern era has no list of tasks. The list of a child may name tasks of all its clients.
  const bool is_task_list = asked.method == kTaskList;
  Ruling ruling;
  if (is_task_list) ruling.route.written_for = PeerKind::stateful;
  if (is_task_list && pool_.peer_kind() == PeerKind::stateless) {
    ruling.error = call::Absence();
    return ruling;
  }
  const std::vector<Opened> opened = open_all(asked);
  if (opened.empty() && asked.method != kListenMethod && !is_task_list) return std::nullopt;
  const bool is_legacy = pool_.peer_kind() == PeerKind::stateful;
  std::vector<TextEdit> edits;
  for (const Opened& one : opened) {
    const ClaimKind kind = one.claim.kind;
    if (one.claim.is_listened) continue;
    if (is_legacy && kind != ClaimKind::cursor && asked.method != kListenMethod) {
      // The request fits legacy children unchanged, and may wait until there is a modern one.
      ruling.route.written_for = PeerKind::stateful;
      continue;
    }
    // A method that is no part of MCP may have a member of the same name.
    const bool is_other = kind == ClaimKind::state && !is_about_task(asked.method) &&
                          !McpInput().may_need_input(asked.method);
    if (is_other && !one.given) continue;
    if (kind == ClaimKind::cursor ? !one.given : !one.is_alive()) return refuse(asked, one);
    edits.push_back({one.claim.raw, in_quotes(one.given->text)});
    if (!one.is_alive()) continue;
    const bool is_elsewhere = ruling.route.is_bound && ruling.route.child != one.given->child;
    if (is_elsewhere) return refuse(asked, one);
    ruling.route.child = one.given->child;
    ruling.route.is_bound = true;
    if (kind == ClaimKind::state) ruling.state = one.given;
  }
  if (asked.method == kListenMethod) return listen(asked, std::move(ruling), opened, edits);
  if (edits.empty() && !ruling.route.written_for) return std::nullopt;
  ruling.text = with_edits(asked.request.text, edits);
  if (edits.empty()) return ruling;
  services_.core.observer.on_return(services_.backend,
                                    ruling.route.is_bound ? ReturnEnd::returned : ReturnEnd::lost);
  return ruling;
}

// Until a child has run, the era of the server is not known. The state may be a parked call's, and
// a modern child must not get it.
ClaimFilter::Ruling ClaimFilter::refuse(const Asked& asked, const Opened& one) {
  const ClaimKind kind = one.claim.kind;
  Ruling ruling;
  const bool is_of_state = kind == ClaimKind::state && McpInput().may_need_input(asked.method);
  if (kind == ClaimKind::state && !pool_.peer_kind() && asked.client_kind == PeerKind::stateless &&
      is_of_state) {
    ruling.text = asked.request.text;
    ruling.route.written_for = PeerKind::stateful;
    return ruling;
  }
  const ReturnEnd end = one.is_alive() ? ReturnEnd::unknown : one.end;
  services_.core.observer.on_return(services_.backend, end);
  ruling.detail = reason_of(end);
  if (kind == ClaimKind::task && is_about_task(asked.method)) {
    if (!has_tasks()) {
      // The child answers itself that it does not know the task, or that it has no tasks.
      std::vector<TextEdit> edits;
      for (const Claim& claim : claims_of_request(asked.request.params, asked.method)) {
        if (claim.kind == ClaimKind::task) edits.push_back({claim.raw, R"("unknown")"});
      }
      ruling.text = with_edits(asked.request.text, edits);
      return ruling;
    }
    if (asked.client_kind == PeerKind::stateless &&
        !declares_tasks(asked.params->of_meta.capabilities.value_or(std::string_view()))) {
      ruling.error = McpInput().missing_capability(R"({"extensions":{")" +
                                                   std::string(kTasksExtension) + R"(":{}}})");
      return ruling;
    }
  }
  ruling.error = unknown_claim(kind);
  return ruling;
}

// Tasks of other clients, and tasks whose child has gone, are left out. The server tells the client
// which tasks it reports. No text that a client has written in the place of task ids reaches a
// child.
std::optional<ClaimFilter::Ruling> ClaimFilter::listen(const Asked& asked, Ruling ruling,
                                                       const std::vector<Opened>& opened,
                                                       const std::vector<TextEdit>& edits) {
  const rpc::Member named = TaskListening::tasks_of(asked.request);
  if (!named && !rpc::is_absent(named)) return refuse_listening("taskIds is there twice");
  const bool names_any = named && named->find_first_not_of("[] \t\r\n") != std::string_view::npos;
  if (names_any && asked.client_kind != PeerKind::stateless) {
    return refuse_listening("only clients of the revision 2026-07-28 listen for tasks");
  }
  if (!named && edits.empty()) return std::nullopt;
  std::map<uint64_t, std::string> tasks;  // by child: elements of an array
  std::map<uint64_t, size_t> counts;
  for (const Opened& one : opened) {
    if (!one.claim.is_listened || !one.is_alive()) continue;
    std::string& list = tasks[one.given->child];
    if (ruling.route.is_bound && one.given->child != ruling.route.child) {
      return refuse_listening("the related task runs in another process",
                              "taskIds has tasks of another process than the related task: listen "
                              "for them without io.modelcontextprotocol/related-task");
    }
    list.append(list.empty() ? "" : ",").append(in_quotes(one.given->text));
    ++counts[one.given->child];
  }
  const auto text_with = [&](std::string_view list, bool only) {
    std::vector<TextEdit> all = edits;
    if (auto edit = TaskListening::with_tasks(asked.request, list, only)) {
      all.push_back(*std::move(edit));
    }
    std::ranges::sort(all, {}, [](const TextEdit& edit) { return edit.part.data(); });
    return with_edits(asked.request.text, all);
  };
  if (tasks.empty()) {
    ruling.text = text_with({}, false);
    return ruling;
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  ruling.route.child = most->first;
  ruling.route.is_bound = true;
  for (const auto& [child, list] : tasks) {
    const bool is_its_own = child == ruling.route.child;
    std::string text = text_with(list, !is_its_own);
    if (is_its_own) {
      ruling.text = std::move(text);
    } else {
      ruling.others.push_back({child, std::move(text)});
    }
  }
  return ruling;
}

ClaimFilter::Ruling ClaimFilter::refuse_listening(std::string_view why, std::string_view message) {
  services_.core.observer.on_return(services_.backend, ReturnEnd::unknown);
  Ruling ruling;
  ruling.error = call::Absence{rpc::RpcError::invalid_params, std::string(message)};
  ruling.detail = why;
  return ruling;
}

bool ClaimFilter::gave(const call::Arrival& request) const {
  if (pool_.is_draining()) return false;
  const std::string_view params = request.message->params;
  if (!may_have(params, kStateEnd) && !has(params, kTaskEnd) && !has(params, R"(taskIds")")) {
    return false;
  }
  const std::string identity = policy::identity_of(request.context.principal);
  return std::ranges::any_of(
      open_all({*request.message, request.method, nullptr, identity, request.context.peer_kind}),
      [](const Opened& one) { return one.is_alive() && one.claim.kind != ClaimKind::cursor; });
}

// --- Requests that end here -----------------------------------------------------------------

std::optional<call::Absence> ClaimFilter::error_of_lost(std::string_view method) {
  if (is_about_list(method)) return std::nullopt;
  return unknown_claim(is_about_task(method) ? ClaimKind::task : ClaimKind::state);
}

void ClaimFilter::on_lost(call::CallPtr& call, std::string_view text,
                          const rpc::FaultReport& report) {
  if (call->listens) {
    if (!call->route.is_bound) return;
    auto request = listening_.without_child(*call);
    if (!request) return chain_.on_fault(std::move(call), report);
    call->request = *std::move(request);
    return;
  }
  std::optional<call::Absence> error;
  const rpc::KnownMessage known{std::string(text)};
  const bool resumes = call->client_kind == PeerKind::stateless && kInput.resumes(known.envelope());
  if (call->route.is_bound || resumes) {
    error = error_of_lost(call->method_name);
  } else {
    // The request was judged for a server of one era, so it is judged again for the other era.
    auto ruling =
        judge({known.envelope(), call->method_name, nullptr, call->identity, call->client_kind});
    if (ruling) error = std::move(ruling->error);
  }
  if (!error) return;
  const call::CallPtr refused = std::move(call);
  chain_.answer_error(*refused, *error);
}

void ClaimFilter::on_end(const call::Call& call, call::End& /*end*/) {
  listening_.end(call);
  const std::optional<GivenClaim>* const state = states_.find(call.slots);
  // A state that no child has received stays open.
  if (state == nullptr || call.child != 0 || !is_running((*state)->child)) return;
  ledger_.open_state((*state)->child, (*state)->number, (*state)->expires);
}

// --- Results --------------------------------------------------------------------------------

void ClaimFilter::seal(call::CallPtr& call, call::Answer& answer) {
  // A session's own child gets its claims back in any case.
  if (!call->alone && pool_.lane().has(call->session)) return;
  // A call that may need a child alone has none at modern children.
  const bool has_own_child = call->alone && call->child_kind != PeerKind::stateless;
  auto payload =
      sealed(*call, {call->method_name, answer.payload, has_own_child ? 0 : answer.child});
  if (!payload) return;
  if (*payload) {
    payload_ = **std::move(payload);
    answer.payload = payload_;
    return;
  }
  const call::CallPtr ended = std::move(call);
  chain_.answer_error(*ended, payload->error());
}

std::optional<tl::expected<std::string, call::Absence>> ClaimFilter::sealed(const call::Call& call,
                                                                            const Given& given) {
  if (given.method == kTaskList && call.child_kind != PeerKind::stateful) {
    return tl::unexpected(call::Absence());
  }
  const bool is_list = is_about_list(given.method);
  const bool is_task = is_about_task(given.method);
  if (is_list) {
    if (!has(given.payload, kCursorEnd)) return std::nullopt;
  } else if (call.child_kind != PeerKind::stateless) {
    return std::nullopt;
  } else if (!is_task) {
    // Such a result has no claims but tasks.
    if (begins_as_complete(given.payload) && !has_given_tasks_) return std::nullopt;
    if (!has(given.payload, kStateEnd) && !has(given.payload, kTaskEnd)) return std::nullopt;
  }
  const std::vector<Claim> claims = claims_of_result(given.payload, given.method);
  if (claims.empty()) return std::nullopt;
  for (const Claim& claim : claims) {
    const bool fits = ClaimSeal::fits(claim.kind, rpc::string_content(claim.raw));
    if (!fits) return tl::unexpected(too_long(claim.kind));
  }
  std::vector<TextEdit> edits;
  for (const Claim& claim : claims) {
    GivenClaim one{true, given.child, 0, {}, std::string(rpc::string_content(claim.raw))};
    if (claim.kind == ClaimKind::state) {
      one.number = ledger_.add_state(given.child, now());
      one.expires = ledger_.expiry(now());
    }
    auto text = seal_.seal(claim.kind, one, call.identity);
    if (!text) return tl::unexpected(too_long(claim.kind));
    has_given_tasks_ = has_given_tasks_ || claim.kind == ClaimKind::task;
    edits.push_back({claim.raw, in_quotes(*text)});
  }
  if (!is_list) note_tasks(given);
  return with_edits(given.payload, edits);
}

// Notes what a client is told about a task: that it exists, or how it has ended.
void ClaimFilter::note_tasks(const Given& given) {
  const TaskFacts facts = task_facts(given.payload);
  if (!facts.id.starts_with('"')) return;
  if (!ClaimSeal::fits(ClaimKind::task, rpc::string_content(facts.id))) return;
  std::optional<Duration> ttl;
  uint64_t count_ms = 0;
  const char* const end = facts.ttl_ms.data() + facts.ttl_ms.size();
  constexpr uint64_t kMostMs = std::chrono::hours(24 * 366) / std::chrono::milliseconds(1);
  if (std::from_chars(facts.ttl_ms.data(), end, count_ms).ec == std::errc()) {
    ttl = std::chrono::milliseconds(std::min(count_ms, kMostMs));
  }
  const bool has_ended =
      facts.status == "completed" || facts.status == "failed" || facts.status == "cancelled";
  ledger_.note_task(given.child, facts.id, ttl, has_ended, now());
}

void ClaimFilter::on_child_gone(const call::ChildRef& child) {
  const call::ChildWork lost = work_of(child.number);
  ledger_.lose(child.number);
  if (lost.states == 0 && lost.tasks == 0) return;
  services_.core.log.write(LogLevel::info, "work lost",
                           {{"backend", services_.config.name},
                            {"child", child.number},
                            {"states", uint64_t{lost.states}},
                            {"tasks", uint64_t{lost.tasks}}});
}

// --- Messages of children -------------------------------------------------------------------

std::optional<std::string> ClaimFilter::sealed_notification(const call::Call& call,
                                                            const rpc::Envelope& notification,
                                                            std::string_view method) {
  if (!has_given_tasks_ || !has(notification.params, kTaskEnd)) return std::nullopt;
  const std::vector<Claim> claims = claims_of_notification(notification.params, method);
  std::vector<TextEdit> edits;
  for (const Claim& claim : claims) {
    const GivenClaim one{true, call.child, 0, {}, std::string(rpc::string_content(claim.raw))};
    auto text = seal_.seal(claim.kind, one, call.identity);
    edits.push_back({claim.raw, in_quotes(text.value_or(std::string()))});
  }
  if (edits.empty()) return std::nullopt;
  return with_edits(notification.text, edits);
}

bool ClaimFilter::on_child_message(call::ChildMessage& message) {
  const call::Call* const call = message.call();
  if (call == nullptr) {
    // A message without a call goes to the client of the only call, see SessionDelivery. A task may
    // belong to another client, so a message that names a task is dropped.
    const call::ChildRef& child = message.child();
    const bool is_shared_modern = child.is_shared && child.peer_kind == PeerKind::stateless;
    if (!is_shared_modern || !names_task(message.message().params, message.method())) return true;
    services_.drop(DropReason::no_listener);
    return false;
  }
  if (auto text = sealed_notification(*call, message.message(), message.method())) {
    if (message.method().starts_with("notifications/tasks")) {
      note_tasks({message.method(), message.message().params, call->child});
    }
    message.replace(*std::move(text));
    const rpc::Envelope& sealed = message.message();
    const std::string_view token = services_.dialect.progress_token(sealed, message.method());
    message.set_progress_token(place_of(token, sealed.text));
  }
  return !call->listens || !listening_.take_event(*call, message.message());
}

}  // namespace stdgate::mcp
