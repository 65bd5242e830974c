#include "gateway/call/schema_filter.h"

#include <utility>
#include <vector>

#include "gateway/rpc/json_text.h"

namespace stdgate::call {

namespace {

// {"errors":[{"place":"/path","expected":"string, not number"}]}
std::string data_of(const std::vector<schema::Misfit>& misfits) {
  std::string data = R"({"errors":[)";
  for (const schema::Misfit& misfit : misfits) {
    if (data.back() == '}') data += ',';
    data += R"({"place":)";
    rpc::append_json_string(data, misfit.place);
    data += R"(,"expected":)";
    rpc::append_json_string(data, misfit.expected);
    data += '}';
  }
  return data + "]}";
}

}  // namespace

SchemaFilter::SchemaFilter(Chain& chain, const ChainServices& services)
    : chain_(chain),
      services_(services),
      config_(services.config.check),
      document_(*services.config.document.document) {
  if (!config_.any()) return;
  for (const auto& [place, why] : document_.unchecked()) {
    services_.observer.on_check_failed(services_.backend, CheckFailure::schema);
    services_.log.write(LogLevel::warn, "a schema cannot be compiled, and checks nothing",
                        {{"backend", services_.config.name},
                         {"file", services_.config.schema},
                         {"place", place},
                         {"reason", why}});
  }
}

bool SchemaFilter::fits(const Method& method, const rpc::Envelope& message) {
  repeated_.reset();
  // Left out, they are none.
  const std::string_view none = method.is_by_position ? "[]" : "{}";
  const std::string_view params = message.params.empty() ? none : message.params;
  if (check_.check(document_.compiled(), method.params, params) != schema::Fit::fits) return false;
  repeated_ = check_.repeated_key();
  return !repeated_;
}

void SchemaFilter::on_request(CallPtr& call, const Request& request) {
  // The message could be read as another method, which the document knows.
  if (config_.any() && request.message.has_lookalikes) {
    return chain_.on_fault(
        std::move(call),
        rpc::faults::because(rpc::Fault::invalid_request, "readers could see different requests"));
  }
  if (request.method == kDiscover) return chain_.on_result(std::move(call), document_.text());
  const Method* const method = config_.arguments ? document_.find(request.method) : nullptr;
  if (method != nullptr && !fits(*method, request.message)) refuse(call, *method);
}

void SchemaFilter::refuse(CallPtr& call, const Method& method) {
  services_.observer.on_check_failed(services_.backend, CheckFailure::arguments);
  std::vector<schema::Misfit> misfits = check_.misfits();
  if (repeated_) misfits.assign(1, *repeated_);
  const int code = method.refusal.value_or(rpc::rpc_error_code(rpc::RpcError::invalid_params));
  const std::string member = rpc::error_member(code, "Invalid params", data_of(misfits));
  const CallPtr refused = std::move(call);
  chain_.answer(*refused, Outcome::error(), member, code, text_of(misfits, "params"));
}

Passage SchemaFilter::on_notification(const Notification& notification) {
  const Method* const method = config_.arguments ? document_.find(notification.method) : nullptr;
  const bool is_clear = !config_.any() || !notification.message.has_lookalikes;
  if (is_clear && (method == nullptr || fits(*method, notification.message))) return Passage::open;
  services_.observer.on_check_failed(services_.backend, CheckFailure::arguments);
  return Passage::denied;
}

void SchemaFilter::on_answer(CallPtr& call, Answer& answer) {
  const Method* const method = config_.results ? document_.find(call->method_name) : nullptr;
  if (method == nullptr || method->result == schema::kNoNode) return;
  const auto misfit = misfit_of_result(*method, answer);
  if (!misfit) return;
  services_.observer.on_check_failed(services_.backend, CheckFailure::result);
  chain_.on_fault(
      std::move(call),
      rpc::faults::child_failed("the result does not fit the schema of its method", *misfit));
}

std::optional<std::string> SchemaFilter::misfit_of_result(const Method& method,
                                                          const Answer& answer) {
  if (answer.message.has_lookalikes) return "readers could see different results";
  if (answer.message.kind != rpc::MessageKind::result) return std::nullopt;
  const auto fit = check_.check(document_.compiled(), method.result, answer.payload);
  if (fit != schema::Fit::fits) return text_of(check_.misfits(), "result");
  return std::nullopt;
}

}  // namespace stdgate::call
