#include "tests/sim/sim_sessions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "gateway/rpc/json_reader.h"

namespace stdgate::sim {

void SimStarts::note(const ClientAddress& client, TimePoint now) {
  if (per_second_ == 0) return;
  std::vector<TimePoint>& starts = starts_[client.to_string()];
  starts.push_back(now);
  for (size_t i = 0; i < starts.size(); ++i) {
    const std::chrono::duration<double> passed = now - starts[i];
    const auto count = static_cast<double>(starts.size() - i);
    EXPECT_LE(count, burst_ + passed.count() * per_second_ + 1e-6);
  }
}

SimSession::SimSession(SimWorld& world, session::Callers& callers, SimOwners& owners,
                       backend::Backend& backend, const config::BackendConfig& config,
                       SimStarts& starts, SimRecords& records, const ClientAddress& client)
    : world_(world),
      callers_(callers),
      owners_(owners),
      backend_(backend),
      config_(config),
      starts_(starts),
      records_(records),
      client_(client),
      sent_(backend.envelope_limits()),
      told_(rpc::EnvelopeLimits{}) {}

SimSession::~SimSession() { leave(); }

uint64_t SimSession::requests() const {
  return requests_ + (visit_ == nullptr ? 0 : visit_->calls.requests());
}

void SimSession::open() {
  ++visits_;
  visit_ = std::make_unique<Visit>(SimCalls(world_, owners_, config_, records_, owners_.next()));
  visit_->caller = *callers_.add(*this);
  visit_->waits_when_told = world_.chance(0.7);
  if (world_.chance(0.5)) visit_->hold = session::ClientHold::nothing;
  // A connected client of MCP gets a child with its first message, not with its session.
  const bool is_silent =
      visit_->hold == session::ClientHold::connection && config_.protocol == config::Protocol::mcp;
  const bool takes_child = !shares_children();
  visit_->calls.share(!takes_child);
  const bool is_old =
      config_.protocol == config::Protocol::mcp && config_.revive && world_.chance(0.3);
  const auto id = is_old ? take_over() : backend_.open_session(visit_->caller, *this, client());
  if (id) {
    visit_->id = *id;
    if (is_old) return;
    if (takes_child && !is_silent) starts_.note(client_, world_.now());
    if (config_.protocol == config::Protocol::mcp && world_.chance(0.8)) {
      send(visit_->calls.new_greeting());
    }
  } else {
    const bool is_limited =
        id.error().fault == rpc::Fault::rate_limited && takes_child && !is_silent;
    EXPECT_TRUE(is_limited || id.error().fault == rpc::Fault::overloaded);
    EXPECT_EQ(is_limited, is_limited && id.error().retry_after > Duration{0});
    callers_.remove(visit_->caller);
    visit_.reset();
  }
}

// Adopts a session that began in another process.
tl::expected<session::SessionId, rpc::FaultReport> SimSession::take_over() {
  world_.tally().note(Seen::taken_over);
  visit_->is_old = true;
  const std::string greeting = visit_->calls.old_greeting();
  return backend_.adopt_session(visit_->caller, *this, client(), {greeting, "2025-11-25"});
}

void SimSession::leave() {
  if (visit_ == nullptr) return;
  requests_ += visit_->calls.requests();
  const std::unique_ptr<Visit> visit = std::move(visit_);
  backend_.close_session(visit->id, {});
  callers_.remove(visit->caller);
}

void SimSession::act() {
  if (visit_ == nullptr) {
    open();
  } else {
    act_in_session();
  }
}

void SimSession::act_in_session() {
  const uint64_t dice = world_.pick(0, 99);
  if (dice < 4) return leave();
  if (dice < 15) return set_held(!visit_->is_held);
  if (config_.revive && world_.chance(0.1)) {
    backend_.park_session(visit_->id);
    return;
  }
  if (visit_->waits_when_told && !visit_->reading) return;
  visit_->calls.share(shares_children());
  if (dice < 75) {
    send(visit_->calls.new_request());
  } else if (dice < 82) {
    send(R"({"jsonrpc":"2.0","method":"note","params":{"a":1}})");
  } else if (dice < 93) {
    send(visit_->calls.new_cancel());
  } else if (dice < 97) {
    send(R"({"jsonrpc":"2.0","id":2147483647,"result":1})");
  } else {
    send(visit_->calls.new_broken_request());
  }
}

void SimSession::set_held(bool held) {
  visit_->is_held = held;
  backend_.hold_child(visit_->id, held);
}

backend::Admission SimSession::send(SimCalls::Request request, session::Caller caller,
                                    session::SessionId session) {
  const auto document = sent_.parse(request.text);
  EXPECT_TRUE(document.has_value()) << request.text;
  call::CallContext context;
  context.caller = caller;
  context.session = session;
  context.tag = request.tag;
  context.transport = Transport::websocket;
  context.arrived = world_.now();
  context.timeout = request.timeout;
  const AccountRef account = world_.accounts().of({nullptr, client_});
  context.account = account.get();
  return backend_.accept(document->messages[0], context);
}

// --- Messages from the core -----------------------------------------------------------------

void SimSession::check_heard() const {
  // A held child may still be read in two cases. A revived child is told what its predecessor was
  // told, and a parked child may still cancel its questions.
  if (!visit_->is_held || !owners_.are_exclusive() || config_.revive) return;
  const pool::BackendStatus status = backend_.status();
  if (status.isolation == config::Isolation::shared) return;  // the session has no child of its own
  EXPECT_TRUE(std::any_of(status.children.begin(), status.children.end(), [](const auto& child) {
    return child.leased && child.state == ChildState::draining;
  })) << "a held child is heard though it has not been asked to go";
}

void SimSession::on_reply(session::Tag tag, const session::Reply& reply) {
  if (!may_be_told()) return;
  // The refusal of a greeting may be delayed while the gateway asks another child for its era.
  const SimCalls::Call* const call = visit_->calls.find(tag);
  const bool may_be_kept = config_.share_modern && call != nullptr && call->is_of_gateway;
  if (!reply.fault && !may_be_kept) check_heard();
  visit_->calls.share(shares_children());
  visit_->calls.check_reply(tag, reply);
}

void SimSession::on_event(session::Tag /*tag*/, std::string_view notification) {
  ADD_FAILURE() << "a session's messages come through on_message(): " << notification;
}

void SimSession::on_cancelled(session::Tag tag) {
  if (!may_be_told()) return;
  visit_->calls.check_cancelled(tag);
}

void SimSession::on_message(std::optional<session::Tag> call,
                            std::span<const std::string_view> parts) {
  if (!may_be_told()) return;
  EXPECT_FALSE(visit_->has_ended) << "a message after the end";
  std::string text;
  for (const std::string_view part : parts) text += part;
  if (text.find(R"("logger":"stdgate")") != std::string::npos) {
    EXPECT_TRUE(config_.revive) << "what is gone ends the session";
    return;
  }
  const auto document = told_.parse(text);
  ASSERT_TRUE(document.has_value() && !document->batch && document->messages[0].ok()) << text;
  const rpc::Envelope& envelope = document->messages[0].envelope;
  if (!is_withdrawal(envelope)) check_heard();
  if (envelope.kind == rpc::MessageKind::request) {
    note_ask(envelope, call);
  } else {
    ASSERT_EQ(envelope.kind, rpc::MessageKind::notification) << text;
    check_notification(envelope);
  }
}

// The gateway's own cancel is right only after the time of the question has passed.
bool SimSession::is_withdrawal(const rpc::Envelope& message) const {
  if (message.method.find("cancel") == std::string_view::npos) return false;
  const auto ask = visit_->asks.find(cancelled_ask(message));
  return ask != visit_->asks.end() && world_.now() >= ask->second + records_.life.input_timeout();
}

std::string SimSession::cancelled_ask(const rpc::Envelope& cancel) const {
  const std::string_view key = config_.protocol == config::Protocol::mcp ? "requestId" : "id";
  return std::string(rpc::find_member(cancel.params, key).value_or("none"));
}

void SimSession::check_notification(const rpc::Envelope& notification) {
  if (notification.method.find("cancel") != std::string_view::npos) {
    const std::string id = cancelled_ask(notification);
    EXPECT_EQ(visit_->asks.count(id), 1U) << "what was never asked is cancelled: " << id;
    return;
  }
  // A change without a stamp is the gateway's own. The gateway cannot know what another process has
  // said about the lists, or it remembered another list.
  const bool is_bare = notification.params.empty() || notification.params == R"({"_meta":{}})";
  if (is_bare && notification.method.ends_with("/list_changed")) {
    EXPECT_TRUE(visit_->is_old || config_.pool.remember) << notification.text;
    return;
  }
  visit_->calls.check_stamp(notification.params);
  // A session that has not greeted its own child keeps that child, even if others share modern
  // children by then.
  const bool is_of_many = !owners_.are_exclusive() || is_of_modern(notification.params);
  if (config_.protocol == config::Protocol::mcp && is_of_many) {
    check_change(notification);
  }
  // Only these notifications have one receiver, whose call has caused them. Other ones of a shared
  // child go to all sessions.
  if (owners_.are_exclusive() || config_.protocol == config::Protocol::mcp) {
    visit_->calls.check_cause(notification.params);
  }
  if (notification.method.find("/progress") != std::string_view::npos && is_of_many &&
      config_.protocol == config::Protocol::mcp) {
    visit_->calls.check_progress(notification.text);
  }
}

// The change comes from a modern child, where the gateway listens for the sessions that have
// greeted the child.
void SimSession::check_change(const rpc::Envelope& notification) {
  const bool is_update = notification.method == "notifications/resources/updated";
  const bool is_change = notification.method.ends_with("/list_changed");
  const auto meta = rpc::find_member(notification.params, "_meta");
  EXPECT_TRUE(!meta || *meta == "{}") << "the gateway's own tag: " << notification.text;
  if (is_update) visit_->calls.check_update(notification.params);
  if (is_change) records_.kept.note_change(notification.method);
  if (!meta) return;
  if (is_update) world_.tally().note(Seen::session_heard_update);
  if (is_change) world_.tally().note(Seen::session_heard_change);
}

// `call`: set if the question comes from a modern child, which does not wait for the answer.
void SimSession::note_ask(const rpc::Envelope& ask, std::optional<session::Tag> call) {
  if (call) {
    visit_->calls.check_question(*call, ask.params);
  } else {
    visit_->calls.check_stamp(ask.params);
  }
  EXPECT_TRUE(visit_->asks.emplace(std::string(ask.id), world_.now()).second)
      << "an id is used twice: " << ask.id;
  if (!owners_.are_exclusive() || call) {
    EXPECT_TRUE(visit_->calls.open() > 0 || visit_->calls.has_abandoned())
        << "asked though no call of it is under way";
  }
  visit_->calls.check_cause(ask.params);
  const auto number = rpc::find_member(ask.params, "ask").value_or("0");
  const auto from = rpc::find_member(ask.params, "from").value_or("0");
  const std::string body = R"({"ask":)" + std::string(number) + R"(,"from":)" + std::string(from) +
                           R"(,"by":)" + std::to_string(visit_->calls.caller()) + "}";
  const std::string head = R"({"jsonrpc":"2.0","id":)" + std::string(ask.id);
  if (world_.chance(0.15)) return;
  const std::string text = world_.chance(0.2)
                               ? head + R"(,"error":{"code":1,"message":"no","data":)" + body + "}}"
                               : head + R"(,"result":)" + body + "}";
  answer_later(text);
  if (world_.chance(0.15)) answer_later(text);
}

void SimSession::answer_later(std::string text) {
  const Duration delay = world_.pick_duration(Duration{1}, std::chrono::seconds(3));
  world_.after(delay, [this, text = std::move(text), visit = visits_, caller = visit_->caller,
                       id = visit_->id]() mutable {
    if (visit == visits_ && visit_ != nullptr) {
      send({0, std::move(text)}, caller, id);
    } else {
      EXPECT_EQ(send({0, std::move(text)}, caller, id), backend::Admission::dropped)
          << "an answer of a session that has left";
    }
  });
}

void SimSession::set_reading(bool reading) {
  if (!may_be_told()) return;
  EXPECT_FALSE(visit_->has_ended) << "told after the end";
  EXPECT_NE(reading, visit_->reading) << "told twice";
  visit_->reading = reading;
}

void SimSession::on_session_end(session::SessionEnd /*end*/, std::string_view message) {
  if (!may_be_told()) return;
  EXPECT_FALSE(std::exchange(visit_->has_ended, true)) << "a session ends once";
  EXPECT_FALSE(message.empty());
  EXPECT_EQ(visit_->calls.open(), 0U) << "the calls have had their faults";
  // Most transports close at the end of the turn. Some take longer, and send messages meanwhile.
  const Duration delay =
      world_.chance(0.7) ? Duration{0} : world_.pick_duration(Duration{1}, std::chrono::seconds(2));
  world_.after(delay, [this, visit = visits_] {
    if (visit == visits_) leave();
  });
}

}  // namespace stdgate::sim
