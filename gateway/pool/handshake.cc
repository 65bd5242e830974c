#include "gateway/pool/handshake.h"

#include <utility>

#include "gateway/base/check.h"
#include "gateway/base/encodings.h"
#include "gateway/config/backend_facts.h"
#include "gateway/pool/child_output.h"
#include "gateway/rpc/fault.h"

namespace stdgate::pool {

bool refuses_peer_kind(const rpc::Envelope& answer) {
  return rpc::error_code(answer) == rpc::rpc_error_code(rpc::RpcError::unsupported_version);
}

PeerVerdict::PeerVerdict(config::Revision revision, Greeting first)
    : revision_(revision), first_(first) {
  if (revision == config::Revision::legacy) peer_kind_ = PeerKind::stateful;
  if (revision == config::Revision::modern) peer_kind_ = PeerKind::stateless;
}

Greeting PeerVerdict::greeting() const {
  if (!peer_kind_) return first_;
  return *peer_kind_ == PeerKind::stateless ? Greeting::discovery : Greeting::handshake;
}

bool PeerVerdict::learn(PeerKind peer_kind) {
  if (revision_ != config::Revision::automatic) return false;
  is_shown_ = true;
  return std::exchange(peer_kind_, peer_kind) != peer_kind;
}

bool PeerVerdict::excuses(Greeting greeting, StartFailure failure) {
  if (revision_ != config::Revision::automatic) return false;
  if (greeting == Greeting::probe) {
    peer_kind_ = PeerKind::stateful;
    return failure == StartFailure::while_asked;
  }
  if (failure != StartFailure::refused) return false;
  const bool was_shown = std::exchange(is_shown_, false);
  // A child that was greeted as a stateful one without a probe may be a stateless one: that comes
  // next.
  const bool is_untried = greeting == Greeting::handshake && !peer_kind_;
  peer_kind_ = is_untried ? std::optional(PeerKind::stateless) : std::nullopt;
  return is_untried || was_shown;
}

void PeerVerdict::doubt() {
  if (revision_ == config::Revision::automatic && peer_kind_ == PeerKind::stateful)
    peer_kind_.reset();
}

Handshake::Handshake(const PoolServices& services, Greeting greeting, Introduction client,
                     std::function<void()> on_late)
    : services_(services),
      client_(std::move(client)),
      begun_(greeting),
      greeting_(greeting),
      timer_(services.core.timers, std::move(on_late)) {}

void Handshake::start_timer() {
  deadline_ = services_.core.clock.now() + config::start_time_of(services_.config);
  timer_.arm(deadline_);
}

std::string Handshake::request(rpc::WireId id) {
  if (greeting_ == Greeting::handshake) {
    return services_.dialect.greet(id, client_.params.empty()
                                           ? std::nullopt
                                           : std::optional<std::string_view>(client_.params));
  }
  probe_ = id;
  if (greeting_ == Greeting::probe) {
    const config::PoolConfig& pool = services_.config.pool;
    Duration patience = pool.start_timeout / kPatienceShare;
    if (config::may_fetch(services_.config)) patience += pool.fetch_timeout / kFetchShare;
    timer_.arm(services_.core.clock.now() + patience);
  }
  return services_.dialect.probe(id);
}

bool Handshake::fall_back() {
  if (greeting_ != Greeting::probe) return false;
  greeting_ = Greeting::handshake;
  timer_.arm(deadline_);
  return true;
}

bool Handshake::finish_late(rpc::WireId id, const rpc::Envelope& answer) {
  if (probe_ != id || is_probing()) return false;
  is_probe_answered_ = true;
  if (!services_.dialect.facts(answer, services_.dialect.traits().probe)) return false;
  peer_kind_ = PeerKind::stateless;
  return true;
}

tl::expected<std::string, std::string> Handshake::finish_probe(const rpc::Envelope& answer) {
  is_probe_answered_ = true;
  auto facts = services_.dialect.facts(answer, services_.dialect.traits().probe);
  was_refused_ = !facts;
  if (!facts) {
    return tl::unexpected("the child is not of the modern era: it answered " +
                          std::string(services_.dialect.traits().probe) + " with " +
                          std::string(cut_utf8(answer.payload, ChildFacts::kMaxNameBytes)));
  }
  answer_ = answer.text;
  facts_ = std::move(*facts);
  peer_kind_ = PeerKind::stateless;
  return std::string();
}

tl::expected<std::string, std::string> Handshake::finish(const rpc::Envelope& answer) {
  if (is_probing()) return finish_probe(answer);
  auto completion = services_.dialect.finish_handshake(answer);
  was_refused_ = !completion;
  if (completion) {
    answer_ = answer.text;
    peer_kind_ = PeerKind::stateful;
    learn(answer);
  } else if (const auto hint = services_.dialect.refusal_hint(answer); !hint.empty()) {
    completion.error().append("; ").append(hint);
  }
  return completion;
}

// Uses a parser of its own, because the child's parser may be in the middle of a batch.
rpc::Envelope Handshake::answer() {
  rpc::EnvelopeParser parser(ChildOutput::envelope_limits(services_.limits));
  const auto document = parser.parse(answer_);
  STDGATE_CHECK(document && !document->messages.empty());
  return document->messages[0].envelope;
}

void Handshake::learn(const rpc::Envelope& answer) {
  if (answer.kind != rpc::MessageKind::result) return;
  if (auto facts = services_.dialect.facts(answer, services_.dialect.traits().greeting)) {
    facts_ = *std::move(facts);
  }
}

void Handshake::note_request(rpc::WireId id) {
  if (request_) return;
  request_ = id;
  start_timer();
}

void Handshake::end_request() {
  request_.reset();
  stop_timer();
}

std::string Handshake::give_up(bool is_running) {
  was_given_up_ = true;
  const bool may_fetch = config::may_fetch(services_.config);
  const std::string keys =
      may_fetch ? " (pool.start_timeout and pool.fetch_timeout)" : " (pool.start_timeout)";
  const std::string_view greeting =
      is_probing() ? services_.dialect.traits().probe : services_.dialect.traits().greeting;
  if (!is_running || greeting.empty()) return "the child did not get ready in time" + keys;
  return "the child did not answer " + std::string(greeting) + " in time" + keys;
}

}  // namespace stdgate::pool
