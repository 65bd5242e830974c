#include "gateway/backend/returning_calls.h"

#include <algorithm>
#include <utility>

#include "gateway/rpc/json_string.h"
#include "gateway/rpc/known_message.h"

namespace stdgate::backend {

ReturningCalls::ReturningCalls(const pool::PoolServices& services, pool::Pool& pool,
                               pool::ChildListener& next, pool::PoolEvents& events, TripEnds& ends,
                               const ModernCalls& modern, const Duration& input_timeout)
    : pool_(pool),
      next_(next),
      events_(events),
      ends_(ends),
      modern_(modern),
      filter_(services.dialect.make_filter({services, pool, next, input_timeout})) {}

// --- Requests -------------------------------------------------------------------------------

std::optional<pool::CallFilter::Ruling> ReturningCalls::judge(const rpc::Envelope& request,
                                                              std::string_view method,
                                                              const call::CallContext& context,
                                                              call::Call& call) {
  if (filter_ == nullptr) return std::nullopt;
  // What is given out for the call is given to this client.
  if (context.principal != nullptr) call.identity = identity_of(context.principal);
  return filter_->on_client_request(
      {request, method, context.params, call.identity, context.era, context.session});
}

void ReturningCalls::take_misdirected(call::CallPtr call, std::string_view method,
                                      const call::Outgoing& message) {
  if (call->listens) return take_lost_listener(std::move(call), rpc::faults::child_failed("gone"));
  if (call->rounds > 0) {
    return events_.on_fault(std::move(call),
                            rpc::faults::child_failed("the child that has asked has ended"));
  }
  if (const auto error = error_of(*call, method, message)) {
    const int code = rpc::rpc_error_code(error->error);
    std::string member = R"("error":)";
    rpc::append_error(member, code, error->message, error->data);
    return ends_.end_call(*call, Outcome::error(), member, code);
  }
  if (!message.is_bound) {
    // It has waited while a server of the other era was installed.
    return events_.on_fault(std::move(call),
                            rpc::faults::child_failed("the server is another one now"));
  }
  call::Outgoing anywhere = message;
  anywhere.child = 0;
  anywhere.is_bound = false;
  if (const auto taken = pool_.submit(call, anywhere); !taken) {
    events_.on_fault(std::move(call), taken.error());
  }
}

// What was judged for a server of one era is judged again for that of the other one.
std::optional<call::Absence> ReturningCalls::error_of(const call::Call& call,
                                                      std::string_view method,
                                                      const call::Outgoing& message) {
  if (filter_ == nullptr) return std::nullopt;
  if (message.is_bound || call.resumes) return filter_->error_of_lost(method);
  std::string text(message.text);
  const rpc::KnownMessage known(text);
  auto ruling = filter_->on_client_request(
      {known.envelope(), method, nullptr, call.identity, call.client_era, call.session});
  return ruling ? std::move(ruling->error) : std::nullopt;
}

void ReturningCalls::take_lost_listener(call::CallPtr call, const rpc::FaultReport& report) {
  if (filter_ != nullptr && call->bound != 0) {
    auto request = filter_->listening_without(*call);
    if (!request) return events_.on_fault(std::move(call), report);
    call->request = *std::move(request);
  }
  if (!modern_.listen_again(call)) events_.on_fault(std::move(call), report);
}

// --- Answers --------------------------------------------------------------------------------

std::optional<tl::expected<std::string, call::Absence>> ReturningCalls::changed_payload(
    const call::Call& call, std::string_view method, std::string_view payload, uint64_t child) {
  if (filter_ == nullptr) return std::nullopt;
  return filter_->on_result(call, {method, payload, child});
}

// What a session's own child gives out comes back to it in any case.
std::optional<tl::expected<std::string, call::Absence>> ReturningCalls::changed(
    const call::Call& call, std::string_view method, const rpc::Envelope& answer) {
  if (!call.alone && pool_.has_lease(call.session)) return std::nullopt;
  // A call that may need a child of its own has none at children of the modern era.
  const bool has_own_child = call.alone && call.child_era != Era::modern;
  auto payload = changed_payload(call, method, answer.payload, has_own_child ? 0 : call.child);
  if (!payload || !*payload) return payload;
  const auto parts = with_replaced(answer.text, place_of(answer.payload, answer.text), **payload);
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

// --- What it has given out ------------------------------------------------------------------

bool ReturningCalls::gave(const rpc::Envelope& request, const call::CallContext& context) const {
  if (filter_ == nullptr || !context.session.is_none()) return false;
  std::string scratch;
  const std::string identity = identity_of(context.principal);
  return filter_->gave({request, rpc::decode_string(request.method, scratch), context.params,
                        identity, context.era, context.session});
}

bool ReturningCalls::holds_work() const {
  return filter_ != nullptr && std::ranges::any_of(pool_.children(), [this](const auto& child) {
           const pool::CallFilter::Work work = filter_->work_of(child->number());
           return work.states > 0 || work.tasks > 0;
         });
}

void ReturningCalls::describe(pool::BackendStatus& status) const {
  if (filter_ == nullptr) return;
  for (pool::ChildStatus& child : status.children) {
    const pool::CallFilter::Work work = filter_->work_of(child.number);
    child.states = work.states;
    child.tasks = work.tasks;
  }
}

}  // namespace stdgate::backend
