#include "transports/websocket/client_messages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "gateway/backend/upstream.h"
#include "gateway/base/check.h"
#include "gateway/mcp/modern_request.h"
#include "gateway/rpc/message_text.h"
#include "transports/http/server.h"

namespace stdgate::websocket {

namespace {
// For this message and others that follow, which are small if they are many.
constexpr size_t kRoom = 64 << 10;
}  // namespace

void KeptMessages::push(std::string_view text, TimePoint arrived) {
  const Head head{text.size(), arrived};
  std::array<char, sizeof(head)> spelled;
  std::memcpy(spelled.data(), &head, sizeof(head));
  const size_t size = spelled.size() + text.size();
  bytes_.make_room(size, std::max(size, kRoom));
  bytes_.append({spelled.data(), spelled.size()});
  bytes_.append(text);
}

KeptMessages::Head KeptMessages::front_head() const {
  Head head;
  STDGATE_CHECK(bytes_.size() >= sizeof(head));
  std::memcpy(&head, bytes_.view().data(), sizeof(head));
  STDGATE_CHECK(head.length <= bytes_.size() - sizeof(head));
  return head;
}

std::span<char> KeptMessages::front() {
  return bytes_.bytes().subspan(sizeof(Head), front_head().length);
}

void KeptMessages::pop() {
  bytes_.consume(sizeof(Head) + front_head().length);
  bytes_.release_if_empty();
}

namespace {

Handle batch_of(session::Tag tag) {
  return {static_cast<uint32_t>(tag & UINT32_MAX), static_cast<uint32_t>(tag >> 32)};
}

// The tag of a call that is no part of a batch; generations begin with 1.
constexpr session::Tag kSingle = 0;

}  // namespace

ClientMessages::ClientMessages(http::Server& server, const Route& route, Label label,
                               AnswerWriter write_answer)
    : server_(server),
      backend_(route.backend),
      parser_(route.parser),
      label_(std::move(label)),
      write_answer_(std::move(write_answer)),
      keeper_(route.keeper),
      kept_id_(route.kept_id),
      own_(route.backend, server.services().callers),
      kept_(server.services().loop.storages()) {}

tl::expected<void, rpc::FaultReport> ClientMessages::open_session(session::SessionSink& sink,
                                                                  const ClientAddress& client) {
  client_ = client;
  if (keeper_ != nullptr) return attach(sink);
  return own_.open(sink, {client, label_.principal, AccountRef(label_.payer.account)});
}

tl::expected<void, rpc::FaultReport> ClientMessages::attach(session::SessionSink& sink) {
  const auto kept = keeper_->attach(kept_id_, sink);
  if (!kept) return tl::unexpected(kept.error());
  sink_ = &sink;
  lent_ = *kept;
  return {};
}

void ClientMessages::close_session() {
  if (own_.is_none() && lent_.caller.is_none()) return;
  if (keeper_ != nullptr) {
    keeper_->detach(kept_id_, *sink_);
    lent_ = {};
  } else {
    own_.close({});
  }
  batches_.reset();
  kept_.clear();
  calls_ = 0;
}

// --- From the client -----------------------------------------------------------------------------

call::CallContext ClientMessages::context() const {
  call::CallContext context;
  context.caller = keeper_ == nullptr ? own_.caller() : lent_.caller;
  context.session = session();
  context.transport = Transport::websocket;
  context.connection = label_.connection;
  context.trace = &label_.trace;
  context.client = &client_;
  context.principal = label_.principal.get();
  context.account = label_.payer.account;
  context.arrived = server_.services().loop.now();
  return context;
}

void ClientMessages::hand_over(std::span<char> text, const call::CallContext& context) {
  bytes_ = text.size();
  const auto document = parser_.parse(text);
  if (!document) {
    return refuse(rpc::report_of(document.error()), context);
  }
  omits_version_ = document->omits_version;
  if (backend_.protocol() == config::Protocol::mcp && mcp::has_modern(*document)) {
    hand_over_modern(*document, context);
  } else if (document->batch) {
    accept_batch(*document, context);
  } else {
    dispatch_single(*document, context);
  }
}

void ClientMessages::dispatch_single(const rpc::Document& document,
                                     const call::CallContext& context) {
  const rpc::MessageKind kind = document.messages[0].envelope.kind;
  note_answer(document.messages[0]);
  has_legacy_ = has_legacy_ || (kind == rpc::MessageKind::request && !context.peer_kind);
  backend::dispatch(
      backend_, document, context, backend::Tags::shared,
      [this](const rpc::ParsedMessage&, const call::CallContext&) { ++calls_; },
      [this] { end_call(); });
}

void ClientMessages::hand_over_modern(const rpc::Document& document, call::CallContext context) {
  // Its client may never begin the session, which then needs no child and no place.
  if (!std::exchange(has_modern_, true) && !has_legacy_) backend_.park_session(own_.id());
  const rpc::Envelope& envelope = document.messages[0].envelope;
  context.session = {};
  context.peer_kind = PeerKind::stateless;
  context.wants_events = true;
  const char* const problem = document.batch          ? "this revision of MCP has no batches"
                              : envelope.id == "null" ? "the id of a request must not be null"
                                                      : nullptr;
  if (problem != nullptr) {
    return refuse(rpc::faults::because(rpc::Fault::invalid_request, problem), context);
  }
  mcp::MetaMemory none;
  mcp::McpParams params;
  if (envelope.kind == rpc::MessageKind::request) {
    params = mcp::read_params(envelope.params, none);
    if (const auto wrong = mcp::check_modern(envelope, params)) {
      return refuse_modern(envelope.id, context, wrong->error, wrong->reason);
    }
    context.params = &params;
  }
  dispatch_single(document, context);
}

void ClientMessages::refuse_modern(std::string_view id, const call::CallContext& context,
                                   std::string_view error, const char* reason) {
  backend_.count_refused(rpc::faults::because(rpc::Fault::invalid_request, reason), {id, bytes_},
                         context);
  const std::string text = rpc::error_text(id, error);
  const std::string_view whole = text;
  write_answer_({&whole, 1});
}

bool ClientMessages::hand_over_next() {
  if (kept_.empty()) return false;
  call::CallContext kept = context();
  kept.arrived = kept_.front_arrived();
  hand_over(kept_.front(), kept);
  kept_.pop();
  return true;
}

// Hands over the messages that may overtake: answers to children, which need no room and may
// unblock a child, and cancels of calls under way. A batch is kept without its answers, but with
// its cancels, as these may be meant for its own requests.
void ClientMessages::keep(std::span<char> text) {
  bytes_ = text.size();
  const auto document = parser_.parse(text);
  if (!document) return refuse(rpc::report_of(document.error()), context());
  omits_version_ = document->omits_version;
  if (!document->batch) {
    const rpc::ParsedMessage& message = document->messages[0];
    const bool is_taken = take_answer(message) || backend_.take_cancel(message, context());
    if (!is_taken) kept_.push({text.data(), text.size()}, context().arrived);
    return;
  }
  std::string rest;
  for (const rpc::ParsedMessage& message : document->messages) {
    if (take_answer(message)) continue;
    rest += rest.empty() ? '[' : ',';
    rest += message.envelope.text;
  }
  if (rest.empty()) return;
  rest += ']';
  const std::string_view whole = rest;
  kept_.push(omits_version_ ? rpc::without_version({&whole, 1}) : rest, context().arrived);
}

void ClientMessages::note_answer(const rpc::ParsedMessage& message) {
  const rpc::MessageKind kind = message.envelope.kind;
  const bool is_answer = kind == rpc::MessageKind::result || kind == rpc::MessageKind::error;
  if (keeper_ != nullptr && message.ok() && is_answer) {
    keeper_->note_answer(kept_id_, message.envelope.id);
  }
}

bool ClientMessages::take_answer(const rpc::ParsedMessage& message) {
  const rpc::MessageKind kind = message.envelope.kind;
  if (!message.ok() || (kind != rpc::MessageKind::result && kind != rpc::MessageKind::error))
    return false;
  note_answer(message);
  backend_.accept(message, context());
  return true;
}

void ClientMessages::refuse(const rpc::FaultReport& report, const call::CallContext& context) {
  ++calls_;
  backend_.refuse(report, {.bytes = bytes_}, context);
}

void ClientMessages::accept_batch(const rpc::Document& batch, call::CallContext context) {
  // Its answers would have to be collected beyond the connection's end.
  if (keeper_ != nullptr) {
    return refuse(rpc::faults::because(rpc::Fault::invalid_request, "no batches here"), context);
  }
  if (batches_ == nullptr) batches_ = std::make_unique<Batches>(kMaxOpenBatches);
  const auto handle = batches_->acquire();
  if (!handle) return refuse(rpc::faults::overloaded("too many batches at once"), context);
  context.tag = session::Tag{handle->generation} << 32 | handle->index;
  session::BatchAnswer& answer = *batches_->find(*handle);
  answer.begin_messages(backend_.codes(), server_.services().limits.message);
  answer.set_payer(label_.payer);
  const auto expect = [&](const rpc::ParsedMessage&, const call::CallContext&) {
    ++calls_;
    answer.expect();
  };
  const auto leave_out = [&] {
    end_call();
    answer.leave_out();
  };
  backend::dispatch(backend_, batch, context, backend::Tags::shared, expect, leave_out);
  answer.end_messages();
  if (answer.complete()) finish_batch(*handle);
}

// --- From the core -------------------------------------------------------------------------------

void ClientMessages::finish(session::Tag tag, const session::Reply& reply) {
  if (tag == kSingle) {
    const std::array parts{reply.head, reply.id, reply.tail};
    write_answer_(parts);
  } else {
    const Handle handle = batch_of(tag);
    session::BatchAnswer& answer = batch(handle);
    answer.add(reply);
    if (answer.complete()) finish_batch(handle);
  }
  end_call();
}

void ClientMessages::finish_cancelled(session::Tag tag) {
  if (tag != kSingle) {
    const Handle handle = batch_of(tag);
    session::BatchAnswer& answer = batch(handle);
    answer.leave_out();
    if (answer.complete()) finish_batch(handle);
  }
  end_call();
}

// Calls of a session that was kept may be older than the connection, which has not counted them.
void ClientMessages::end_call() {
  if (calls_ == 0 && keeper_ != nullptr) return;
  STDGATE_CHECK(calls_ > 0);
  --calls_;
}

session::BatchAnswer& ClientMessages::batch(Handle handle) {
  session::BatchAnswer* const answer = batches_ == nullptr ? nullptr : batches_->find(handle);
  STDGATE_CHECK(answer != nullptr);
  return *answer;
}

void ClientMessages::finish_batch(Handle handle) {
  session::BatchAnswer& answer = batch(handle);
  if (!answer.empty()) {
    const std::string_view text = answer.close();
    write_answer_(std::span(&text, 1));
  }
  answer.clear();
  batches_->release(handle);
}

void ClientMessages::release_memory() {
  if (batches_ != nullptr && batches_->size() == 0) batches_.reset();
}

}  // namespace stdgate::websocket
