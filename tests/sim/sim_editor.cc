#include "tests/sim/sim_editor.h"

#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <utility>

#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::sim {

namespace {

constexpr auto kFlight = std::chrono::milliseconds(20);

std::string joined(std::span<const std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

std::string text_in(std::string_view object, std::string_view member) {
  const std::string_view raw = rpc::member_or_empty(object, member);
  return raw.size() < 2 ? std::string() : std::string(raw.substr(1, raw.size() - 2));
}

uint64_t number_in(std::string_view object, std::string_view member) {
  const std::string_view raw = rpc::member_or_empty(object, member);
  uint64_t number = 0;
  std::from_chars(raw.data(), raw.data() + raw.size(), number);
  return number;
}

}  // namespace

struct SimEditor::Socket final : session::SessionSink {
  explicit Socket(SimEditor& of) : editor(of), id(of.id_) {}
  void hear(const std::string& text) {
    EXPECT_FALSE(is_over) << "told after its end";
    if (this == editor.socket_) editor.hear(text);
  }
  void on_reply(session::Tag /*tag*/, const session::Reply& reply) override {
    const std::array parts{reply.head, reply.id, reply.tail};
    hear(joined(parts));
  }
  void on_event(session::Tag /*tag*/, std::string_view notification) override {
    hear(std::string(notification));
  }
  void on_cancelled(session::Tag /*tag*/) override {}
  void on_message(std::optional<session::Tag> /*call*/,
                  std::span<const std::string_view> parts) override {
    hear(joined(parts));
  }
  void set_reading(bool /*reading*/) override {}
  void on_session_end(session::SessionEnd end, std::string_view /*message*/) override {
    EXPECT_FALSE(std::exchange(is_over, true)) << "a socket ends once";
    if (end == session::SessionEnd::replaced) return;
    const bool may_have_missed = editor.services_.is_tight && editor.returns_ > 0;
    EXPECT_TRUE(editor.calls_.empty() || this != editor.socket_ || may_have_missed)
        << "the calls have had their faults";
    editor.world_.after(Duration{0}, [this] {
      if (this == editor.socket_) editor.forget();
    });
  }

  SimEditor& editor;
  const std::string id;
  bool is_over = false;
};

struct SimEditor::Stream final : session::EventSink {
  Stream(SimEditor& of, std::string of_session)
      : editor(of), id(of.id_), session(std::move(of_session)) {}
  void respond(std::span<const std::string_view> json) override {
    EXPECT_FALSE(std::exchange(is_over, true));
    arrive(0, joined(json));
  }
  void respond_scope(std::span<const std::string_view> json, std::string_view) override {
    respond(json);
  }
  void begin_stream() override { EXPECT_FALSE(is_over); }
  void write_event(const session::StreamEvent& event) override {
    EXPECT_FALSE(is_over) << "written to after its end";
    uint64_t number = 0;
    std::from_chars(event.id.data(), event.id.data() + event.id.size(), number);
    EXPECT_GT(number, 0U) << "an event without a number";
    arrive(number, joined(event.data));
  }
  void end_stream() override {
    EXPECT_FALSE(std::exchange(is_over, true)) << "a stream ends once";
    arrive(0, {});
  }
  [[nodiscard]] bool is_backed_up() const override { return under_way.size() > 4; }
  void arrive(uint64_t number, std::string text) {
    under_way.emplace_back(number, std::move(text));
    editor.world_.after(editor.world_.pick_duration(Duration{1}, kFlight), [this] { take(); });
  }
  void take();

  SimEditor& editor;
  const std::string id;
  const std::string session;
  bool is_over = false;  // the gateway has ended it
  bool is_cut = false;   // the client has lost it
  std::deque<std::pair<uint64_t, std::string>> under_way;
};

void SimEditor::Stream::take() {
  if (is_cut || under_way.empty()) return;
  auto [number, text] = std::move(under_way.front());
  under_way.pop_front();
  if (number > 0) editor.last_event_[session] = number;
  if (!text.empty()) {
    const bool is_update = text.find("session/update") != std::string::npos;
    if (session.empty() && is_update) editor.services_.tally.note(AgentEvent::carried);
    editor.hear(text);
  } else if (is_over && editor.streams_[session] == this) {
    editor.streams_.erase(session);
    if (editor.connection() == nullptr) editor.forget();
  }
  if (!is_over && under_way.size() == 4) editor.services_.connections.on_sink_writable(id);
}

SimEditor::SimEditor(EditorServices& services, Kind kind, bool one_stream,
                     policy::PrincipalRef principal)
    : services_(services),
      world_(services.world),
      kind_(kind),
      one_stream_(one_stream),
      client_{ClientAddress::unix_user(principal == nullptr ? 1 : 2), principal,
              services.world.accounts().of(
                  {principal.get(), ClientAddress::unix_user(principal == nullptr ? 1 : 2)})} {}

acp::AcpConnection* SimEditor::connection() const {
  return id_.empty() ? nullptr : services_.connections.find(id_, kind_, client_.principal.get());
}

call::CallContext SimEditor::context() const {
  call::CallContext context;
  context.arrived = world_.now();
  context.client = &client_.address;
  context.principal = client_.principal.get();
  context.account = client_.account.get();
  context.transport = kind_ == Kind::http ? Transport::sse : Transport::websocket;
  return context;
}

// --- Actions ----------------------------------------------------------------------------------

void SimEditor::act() {
  const uint64_t dice = world_.pick(0, 99);
  if (id_.empty()) return connect();
  if (!is_online()) return dice < 70 ? come_back() : void();
  if (dice < 10) return cut();
  if (dice < 13) return come_back();  // the gateway still has its former connection
  if (dice < 14) return leave();
  if (!is_greeted_) return;
  if (sessions_.empty() || dice < 18) return begin_session();
  if (dice < 75) return prompt();
  if (dice < 85) return cancel();
  send(R"({"jsonrpc":"2.0","id":2147483647,"result":{}})", "");  // answers no question
}

void SimEditor::connect() {
  const auto opened = services_.connections.open(kind_, client_);
  if (!opened) {
    EXPECT_TRUE(opened.error().fault == rpc::Fault::overloaded ||
                opened.error().fault == rpc::Fault::rate_limited);
    return;
  }
  id_ = (*opened)->id();
  ++visit_;
  if (kind_ == Kind::websocket) {
    attach();
    request("initialize", "{}", "");
  } else {
    greet();
  }
}

void SimEditor::greet() {
  const int number = ++last_id_;
  const test::ParsedText message(R"({"jsonrpc":"2.0","id":)" + std::to_string(number) +
                                 R"(,"method":"initialize","params":{}})");
  calls_[number] = {"initialize", "", 0};
  Stream& response = *all_streams_.emplace_back(std::make_unique<Stream>(*this, "greeting"));
  acp::AcpConnection* const opened = connection();
  ASSERT_NE(opened, nullptr);
  if (opened->post(message.envelope, "", context(), response) ==
      acp::AcpConnection::Posted::under_way) {
    is_listening_ = true;
    return;
  }
  services_.connections.close(*opened);
  forget();
}

void SimEditor::attach() {
  socket_ = sockets_.emplace_back(std::make_unique<Socket>(*this)).get();
  const auto kept = services_.connections.attach(id_, *socket_);
  ASSERT_TRUE(kept) << "a connection that is found is attached to";
  kept_ = *kept;
  services_.connections.replay(id_, *socket_);
}

void SimEditor::cut() {
  services_.tally.note(AgentEvent::cut);
  if (!is_greeted_ && kind_ == Kind::http) return forget();  // no client knows its id yet
  lose_carriers();
}

void SimEditor::lose_carriers() {
  if (Socket* const socket = std::exchange(socket_, nullptr)) {
    services_.connections.detach(id_, *socket);
  }
  is_listening_ = false;
  streams_.clear();
  for (const auto& stream : all_streams_) {
    if (std::exchange(stream->is_cut, true) || stream->is_over) continue;
    services_.connections.detach(stream->id, *stream);
  }
}

void SimEditor::come_back() {
  if (kind_ == Kind::http && !is_greeted_) return;
  if (connection() == nullptr) {
    services_.tally.note(AgentEvent::lost);
    return forget();
  }
  services_.tally.note(is_online() ? AgentEvent::replaced : AgentEvent::came_back);
  ++returns_;
  if (kind_ == Kind::websocket) {
    Socket* const former = socket_;
    attach();
    if (former != nullptr) services_.connections.detach(id_, *former);
    return;
  }
  for (const auto& stream : all_streams_) stream->is_cut = true;
  listen("");
  for (const std::string& session : sessions_) {
    if (!one_stream_ && last_event_.contains(session)) listen(session);
  }
}

void SimEditor::listen(const std::string& session) {
  acp::AcpConnection* const opened = connection();
  if (opened == nullptr) return;
  is_listening_ = true;
  EXPECT_TRUE(session.empty() || opened->has_session(session)) << session;
  Stream& stream = *all_streams_.emplace_back(std::make_unique<Stream>(*this, session));
  streams_[session] = &stream;
  const auto last = last_event_.try_emplace(session, 0).first->second;
  opened->listen(stream, session, last);
}

void SimEditor::begin_session() { request("session/new", R"({"cwd":"/"})", ""); }

void SimEditor::prompt() {
  const std::string session = sessions_[world_.pick(0, sessions_.size() - 1)];
  if (kind_ == Kind::http && !one_stream_ && !streams_.contains(session)) {
    // Some clients open the session's stream beside the prompt, so it comes in time, or too late.
    if (world_.chance(0.5)) {
      listen(session);
    } else {
      world_.after(world_.pick_duration(Duration{1}, std::chrono::milliseconds(1500)),
                   [this, visit = visit_, session] {
                     if (visit == visit_ && is_online() && !streams_.contains(session)) {
                       listen(session);
                     }
                   });
    }
  }
  request("session/prompt",
          R"({"sessionId":")" + session + R"(","nonce":)" + std::to_string(last_id_ + 1) + "}",
          session);
}

void SimEditor::cancel() {
  const std::string session = sessions_[world_.pick(0, sessions_.size() - 1)];
  if (world_.chance(0.5)) {
    return send(
        R"({"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":")" + session + "\"}}",
        session);
  }
  send(R"({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":)" +
           std::to_string(last_id_) + "}}",
       "");
}

int SimEditor::request(const std::string& method, const std::string& params,
                       const std::string& session) {
  const int number = ++last_id_;
  calls_[number] = {method, session, returns_};
  send(R"({"jsonrpc":"2.0","id":)" + std::to_string(number) + R"(,"method":")" + method +
           R"(","params":)" + params + "}",
       session);
  return number;
}

void SimEditor::send(std::string text, const std::string& session) {
  const test::ParsedText message(std::move(text));
  const rpc::MessageKind kind = message.envelope.kind;
  const bool is_answer = kind == rpc::MessageKind::result || kind == rpc::MessageKind::error;
  if (kind_ == Kind::websocket) {
    if (socket_ == nullptr || socket_->is_over) return;
    if (is_answer) services_.connections.note_answer(id_, message.envelope.id);
    call::CallContext with = context();
    with.caller = kept_.caller;
    with.session = kept_.session;
    with.tag = static_cast<session::Tag>(last_id_);
    rpc::ParsedMessage parsed;
    parsed.envelope = message.envelope;
    services_.backend.accept(parsed, with);
    return;
  }
  acp::AcpConnection* const opened = connection();
  if (opened == nullptr) return forget();
  Stream none(*this, "none");
  const auto posted = opened->post(message.envelope, session, context(), none);
  EXPECT_NE(posted, acp::AcpConnection::Posted::other_session);
  EXPECT_NE(posted, acp::AcpConnection::Posted::lacks_session);
  if (posted == acp::AcpConnection::Posted::overloaded && kind == rpc::MessageKind::request) {
    calls_.erase(last_id_);
  }
}

void SimEditor::try_id(const std::string& id) const {
  if (id.empty() || id == id_) return;
  services_.tally.note(AgentEvent::stranger);
  const Kind other = kind_ == Kind::http ? Kind::websocket : Kind::http;
  EXPECT_EQ(services_.connections.find(id, kind_, client_.principal.get()), nullptr);
  EXPECT_EQ(services_.connections.find(id_, other, client_.principal.get()), nullptr);
}

// --- Messages from the gateway ----------------------------------------------------------------

void SimEditor::hear(const std::string& text) {
  const test::ParsedText message(text);
  const rpc::Envelope& envelope = message.envelope;
  if (envelope.kind == rpc::MessageKind::request) return hear_ask(envelope);
  if (envelope.kind != rpc::MessageKind::notification) return hear_answer(envelope);
  const std::string session = text_in(envelope.params, "sessionId");
  if (message.method() == "$/cancel_request") {
    const bool is_known =
        asks_.contains(std::string(rpc::member_or_empty(envelope.params, "requestId")));
    // The question may have been lost with a connection.
    EXPECT_TRUE(is_known || returns_ > 0) << "what was never asked is cancelled: " << text;
  } else {
    EXPECT_TRUE(heard_[session].insert(number_in(envelope.params, "seq")).second)
        << "told twice: " << text;
  }
}

void SimEditor::hear_ask(const rpc::Envelope& envelope) {
  const std::string id(envelope.id);
  const auto [ask, is_new] =
      asks_.try_emplace(id, Ask{std::string(envelope.params), returns_, false});
  if (!is_new) {
    services_.tally.note(AgentEvent::asked_again);
    EXPECT_FALSE(ask->second.is_answered) << "asked again, though it has been answered";
    EXPECT_GT(returns_, ask->second.returns) << "asked twice";
    EXPECT_EQ(ask->second.params, envelope.params) << "an id is used twice";
    ask->second.returns = returns_;
  }
  if (world_.chance(0.1)) return;
  const Duration delay = world_.pick_duration(Duration{1}, std::chrono::seconds(6));
  const bool is_twice = world_.chance(0.15);
  world_.after(delay, [this, id, is_twice, visit = visit_] {
    if (visit != visit_ || !is_online()) return;
    answer(id, false);
    if (is_twice && visit == visit_) answer(id, true);
  });
}

void SimEditor::answer(const std::string& id, bool again) {
  Ask& ask = asks_.at(id);
  if (again) {
    services_.tally.note(AgentEvent::answered_twice);
  } else if (std::exchange(ask.is_answered, true)) {
    return;
  }
  const bool names_it = kind_ == Kind::http && world_.chance(0.5);
  send(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)" + ask.params + "}",
       names_it ? text_in(ask.params, "sessionId") : "");
}

void SimEditor::hear_answer(const rpc::Envelope& envelope) {
  int number = 0;
  std::from_chars(envelope.id.data(), envelope.id.data() + envelope.id.size(), number);
  const auto call = calls_.find(number);
  ASSERT_NE(call, calls_.end()) << "answered twice, or never asked: " << envelope.text;
  const Call asked = call->second;
  calls_.erase(call);
  if (envelope.kind == rpc::MessageKind::error) {
    if (asked.method == "initialize") forget();
    return;
  }
  if (asked.method == "initialize") {
    is_greeted_ = true;
    if (kind_ == Kind::http) listen("");
  } else if (asked.method == "session/new") {
    sessions_.push_back(text_in(envelope.payload, "sessionId"));
  } else {
    if (returns_ > asked.returns) services_.tally.note(AgentEvent::ended_meanwhile);
    EXPECT_EQ(number_in(envelope.payload, "nonce"), static_cast<uint64_t>(number));
    said_[asked.session] = std::max(said_[asked.session], number_in(envelope.payload, "said"));
  }
}

// --- Ends of connections ----------------------------------------------------------------------

void SimEditor::forget() {
  lose_carriers();
  id_.clear();
  ++visit_;
  returns_ = 0;
  is_greeted_ = false;
  last_event_.clear();
  sessions_.clear();
  calls_.clear();
  asks_.clear();
  heard_.clear();
  said_.clear();
}

void SimEditor::leave() {
  if (kind_ == Kind::http && world_.chance(0.5)) {
    if (acp::AcpConnection* const opened = connection()) services_.connections.close(*opened);
  } else if (!id_.empty()) {
    services_.tally.note(AgentEvent::lingered_out);
  }
  if (!id_.empty()) forget();
}

void SimEditor::settle() {
  if (id_.empty()) return;
  if (!is_online()) come_back();
  for (const std::string& session : std::vector(sessions_)) {
    const bool lacks_stream = kind_ == Kind::http && !one_stream_ && !streams_.contains(session);
    if (lacks_stream && is_online()) listen(session);
  }
}

void SimEditor::check_all_answered() const {
  if (id_.empty() || !is_online() || services_.is_tight) return;
  for (const auto& [number, call] : calls_) {
    ADD_FAILURE() << call.method << " " << number << " of " << call.session << " has no answer";
  }
  for (const auto& [session, count] : said_) {
    const auto heard = heard_.find(session);
    const auto& numbers = heard == heard_.end() ? std::set<uint64_t>() : heard->second;
    EXPECT_GE(numbers.size(), count) << "updates of " << session << " are lost";
  }
}

}  // namespace stdgate::sim
