#include "gateway/pool/handshake.h"

#include <utility>

#include "gateway/base/check.h"
#include "gateway/pool/child_output.h"

namespace stdgate::pool {

Handshake::Handshake(const PoolServices& services, std::function<void()> on_late)
    : services_(services), timer_(services.core.timers, std::move(on_late)) {}

void Handshake::start_timer() {
  timer_.arm(services_.core.clock.now() + services_.config.pool.start_timeout);
}

tl::expected<std::string, std::string> Handshake::finish(const rpc::Envelope& answer) {
  auto completion = services_.dialect.finish_handshake(answer);
  if (completion) {
    answer_ = answer.text;
    learn(answer);
  } else if (const auto hint = services_.dialect.greeting_hint(); !hint.empty()) {
    completion.error().append("; ").append(hint);
  }
  return completion;
}

// Parsed each time, by a parser of its own: the child's may be in the middle of a batch.
rpc::Envelope Handshake::answer() {
  rpc::EnvelopeParser parser(ChildOutput::envelope_limits(services_.limits));
  const auto document = parser.parse(answer_);
  STDGATE_CHECK(document && !document->messages.empty());
  return document->messages[0].envelope;
}

void Handshake::learn(const rpc::Envelope& answer) {
  if (answer.kind == rpc::MessageKind::result) facts_ = services_.dialect.facts(answer);
}

void Handshake::note_request(rpc::WireId id) {
  if (request_) return;
  request_ = id;
  start_timer();
}

void Handshake::note_answered(rpc::WireId id) {
  if (request_ != id) return;
  request_.reset();
  stop_timer();
}

std::string Handshake::give_up(bool is_running) {
  was_given_up_ = true;
  const std::string_view greeting = services_.dialect.greeting();
  if (!is_running || greeting.empty()) return "the child did not get ready in time";
  return "the child did not answer " + std::string(greeting) + " in time";
}

}  // namespace stdgate::pool
