#include "transports/http/rpc_exchange.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stdgate {

namespace {

constexpr size_t kKeptMemory = 16 << 10;
constexpr Duration kDefaultRetry = std::chrono::seconds(1);

FaultReport report_of(const DocumentError& error) {
  FaultReport report;
  report.fault = error.fault;
  report.message = fault_message(error.fault);
  report.message += ": ";
  report.message += error.reason;
  if (error.fault == Fault::parse_error) {
    report.message += " at byte " + std::to_string(error.offset);
  }
  return report;
}

constexpr HttpError kNoOrigin{503, "too many clients", {}, kDefaultRetry};

}  // namespace

void RpcExchange::start(const Route& route, std::span<char> text, bool wants_events,
                        Responder& client) {
  const auto document = route.parser.parse(text);
  if (!document) return refuse(route.backend, report_of(document.error()), client);
  auto context = client.call_context();
  if (!context) return client.fail(kNoOrigin);
  client_ = &client;
  answer_limit_ = route.answer_limit;
  events_ = context->wants_events = wants_events;
  dispatch(route.backend, *document, *context);
}

void RpcExchange::refuse(Backend& backend, const FaultReport& report, Responder& client) {
  const auto context = client.call_context();
  if (!context) return client.fail(kNoOrigin);
  client_ = &client;
  first_tag_ = context->tag;
  outstanding_ = 1;
  backend.refuse(report, {}, *context);
}

void RpcExchange::dispatch(Backend& backend, const Document& document, CallContext context) {
  first_tag_ = context.tag;
  backend_ = backend.id();
  codes_ = backend.codes();
  batch_ = document.batch;
  dispatching_ = true;
  for (const ParsedMessage& message : document.messages) {
    ++outstanding_;  // beforehand: the answer may come inside of accept()
    const Admission admission = backend.accept(message, context);
    ++context.tag;
    if (admission == Admission::answered_by_reply) continue;
    --outstanding_;
    if (admission == Admission::refused_overloaded) {
      refused_ = true;
    } else {
      delivered_ = true;
    }
  }
  dispatching_ = false;
  finish_dispatch();
}

void RpcExchange::finish_dispatch() {
  if (client_ == nullptr) return;  // a single request that has been answered
  if (outstanding_ == 0) return finish();
  if (events_) begin_stream();
}

void RpcExchange::on_reply(Tag tag, const Reply& reply) {
  if (client_ == nullptr || tag >> 32 != first_tag_ >> 32) return;
  --outstanding_;
  // Until the stream has begun a refusal can still have its own HTTP status.
  const bool refused_at_once = dispatching_ && reply.fault.has_value();
  if (!batch_ && (!events_ || refused_at_once)) return respond_single(reply);
  if (events_) {
    const std::array parts{reply.head, reply.id, reply.tail};
    write_event(parts);
  } else {
    collect(reply);
  }
  if (outstanding_ == 0 && !dispatching_) finish();
}

void RpcExchange::on_event(Tag tag, std::string_view notification) {
  if (client_ == nullptr || !events_ || tag >> 32 != first_tag_ >> 32) return;
  write_event({&notification, 1});
}

void RpcExchange::begin_stream() {
  if (streaming_) return;
  streaming_ = true;
  client_->begin_stream(backend_);
}

void RpcExchange::write_event(std::span<const std::string_view> parts) {
  begin_stream();
  client_->write_event(parts);
}

void RpcExchange::respond_single(const Reply& reply) {
  const std::array body{reply.head, reply.id, reply.tail};
  Response response;
  response.content_type = kJsonType;
  response.body = body;
  if (reply.fault) {
    response.status = fault_http_status(*reply.fault);
    response.retry_after = reply.retry_after;
    if (*reply.fault == Fault::overloaded || *reply.fault == Fault::rate_limited) {
      response.retry_after = std::max(response.retry_after, kDefaultRetry);
    }
  }
  std::exchange(client_, nullptr)->respond(response);
}

void RpcExchange::collect(const Reply& reply) {
  answers_ += answers_.empty() ? '[' : ',';
  // A fault of the gateway is small already, and it has its id in its text.
  if (!reply.fault && reply.size() + answers_.size() + 1 > answer_limit_) {
    FaultReport report;
    report.fault = Fault::too_large;
    return append_fault_response(answers_, reply.id, report, codes_, false);
  }
  answers_ += reply.head;
  answers_ += reply.id;
  answers_ += reply.tail;
}

// All messages have been handed over and all requests answered.
void RpcExchange::finish() {
  Responder& client = *std::exchange(client_, nullptr);
  if (streaming_) return client.end_stream();
  Response response;
  if (answers_.empty()) {
    response.status = 204;
    if (refused_ && !delivered_) {
      response.status = fault_http_status(Fault::overloaded);
      response.retry_after = kDefaultRetry;
    }
    return client.respond(response);
  }
  answers_ += ']';
  const std::string_view body = answers_;
  response.content_type = kJsonType;
  response.body = {&body, 1};
  client.respond(response);
}

void RpcExchange::clear() {
  std::string answers = std::move(answers_);
  answers.clear();
  if (answers.capacity() > kKeptMemory) answers = std::string();
  *this = RpcExchange();
  answers_ = std::move(answers);
}

}  // namespace stdgate
