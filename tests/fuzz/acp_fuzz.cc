// Fuzz target: an agent and its client, over both transports of ACP, with connections that break
// and return. Each message is JSON in one line. Clients get no message that rules deny. The request
// initialize is answered once. At the end no call, no question and no connection remains.
//
// The first byte of the input chooses whether there are rules, and whether agents linger. Each
// further line is an event, whose first letter is its kind. `$q` in a text stands for the id of the
// latest question to a client.
//   O     the text opens a connection over HTTP
//   P, p  a client posts the text, without a session or in "s";  D  it ends its connection
//   L, l  it listens to the stream of the connection, or of "s"; the text is the last event's id
//   B     its streams become full, or empty again;  X  they break
//   W, w  a WebSocket opens a connection, or returns to it;  V  it breaks
//   M     the client at the WebSocket sends the text
//   C     the agent sends the text;  A, E  it answers with this result, or error;  K  it is killed
//   T, H  a second passes, or ten minutes

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gateway/acp/acp_connections.h"
#include "gateway/acp/acp_dialect.h"
#include "gateway/rpc/json_text.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/json_oracle.h"
#include "tests/support/backend_bench.h"
#include "tests/support/fake_seal.h"

namespace stdgate::test::acp_fuzz {
namespace {

constexpr size_t kMaxLines = 64;
constexpr size_t kDepth = 12;
// The gateway's additions may make a message this much deeper.
constexpr size_t kMoreDepth = 4;

using acp::AcpConnection;

struct Setup {
  bool has_rules = false;
  bool lingers = false;
};

Duration linger_of(const Setup& setup) {
  return setup.lingers ? std::chrono::minutes(30) : Duration{0};
}

backend::BackendOptions options_of(const Setup& setup) {
  backend::BackendOptions options = session_options(3);
  options.config.protocol = config::Protocol::acp;
  options.config.pool.sessions = 2;
  options.config.pool.max_in_flight = 4;
  options.config.pool.queue = 4;
  options.config.linger = linger_of(setup);
  options.limits.depth = kDepth;
  options.limits.message = 16 << 10;
  if (setup.has_rules) {
    options.config.rules = {
        {.allow = {"*"}, .methods = {"*"}, .from_agent = {"*"}, .except = {"fs/*"}}};
  }
  return options;
}

std::string joined(std::span<const std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

class World {
 public:
  World(const Setup& setup, std::string_view input)
      : input_(input),
        setup_(setup),
        bench_(options_of(setup), std::make_unique<acp::AcpDialect>()),
        ids_([this] { return "connection-" + std::to_string(++opened_); }) {
    limits_.replay = 4 << 10;
    limits_.replay_events = 8;
    connections_ = std::make_unique<acp::AcpConnections>(
        acp::AcpServices{bench_.backend, bench_.callers, bench_.timers, bench_.clock, limits_,
                         bench_.storages, linger_of(setup)},
        ids_);
  }

  void act(char what, std::string text);
  void stop();

 private:
  // The response to a POST or GET.
  struct Sink final : session::EventSink {
    Sink(World& of, bool is_greeting) : world(of), connection(of.http_), initializes(is_greeting) {}
    void respond(std::span<const std::string_view> json) override {
      world.require_that(!std::exchange(over, true) && initializes, "initialize is answered once");
      world.check_told(joined(json));
    }
    void respond_scope(std::span<const std::string_view> json, std::string_view) override {
      respond(json);
    }
    void begin_stream() override {
      world.require_that(!over, "a stream is begun while it is open");
    }
    void write_event(const session::StreamEvent& event) override {
      world.require_that(!over, "an event is written to an open stream");
      world.check_told(joined(event.data));
    }
    void end_stream() override { world.require_that(!std::exchange(over, true), "one end"); }
    [[nodiscard]] bool is_backed_up() const override { return world.is_backed_up_; }

    World& world;
    const std::string connection;  // the connection's id
    const bool initializes;
    bool over = false;
  };

  struct Socket final : session::SessionSink {
    explicit Socket(World& of) : world(of) {}
    void on_reply(session::Tag /*tag*/, const session::Reply& reply) override {
      const std::array parts{reply.head, reply.id, reply.tail};
      world.check_told(joined(parts));
    }
    void on_event(session::Tag /*tag*/, std::string_view notification) override {
      world.check_told(std::string(notification));
    }
    void on_cancelled(session::Tag /*tag*/) override {}
    void on_message(std::optional<session::Tag> /*of_call*/,
                    std::span<const std::string_view> parts) override {
      world.check_told(joined(parts));
    }
    void set_reading(bool /*reading*/) override {}
    void on_session_end(session::SessionEnd /*end*/, std::string_view /*message*/) override {
      world.require_that(!std::exchange(over, true), "a socket is told one end");
    }

    World& world;
    bool over = false;
  };

  void require_that(bool holds, const char* what) const { require(holds, what, input_); }
  void check_told(std::string text);
  std::string filled(std::string_view text) const;
  AcpConnection* http() const {
    return connections_->find(http_, AcpConnection::Kind::http, nullptr);
  }

  void open(std::string text);
  void post(std::string text, std::string_view session);
  void listen(std::string_view session, std::string_view last);
  void break_streams();
  void attach(bool is_new);
  void detach();
  void say(std::string text);
  void child_answers(std::string_view member, std::string_view text);
  FakeChild* child();
  void settle();

  const std::string_view input_;
  const Setup setup_;
  config::LimitsConfig limits_;
  BackendBench bench_;
  int opened_ = 0;
  RandomSessionIds ids_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::vector<std::unique_ptr<Socket>> sockets_;
  std::unique_ptr<acp::AcpConnections> connections_;
  std::string http_;  // the id of the latest connection of each kind
  std::string socket_;
  acp::AcpConnection::Kept kept_;  // by the latest socket
  session::Tag tag_ = 0;
  bool is_backed_up_ = false;
  std::string question_ = "7";
  struct Agent {
    bool is_started = false;
    std::vector<std::string> asked;  // raw ids of requests that it has not answered
  };
  std::vector<Agent> agents_;  // by child
};

void World::check_told(std::string text) {
  require_that(oracle_accepts(text), "a client is told JSON");
  require_that(text.find('\n') == std::string::npos, "a client is told one line");
  rpc::EnvelopeParser parser({.depth = kDepth + kMoreDepth});
  const auto document = parser.parse(text);
  require_that(document && !document->batch && document->messages[0].ok(),
               "a client is told a message");
  const rpc::Envelope& message = document->messages[0].envelope;
  if (message.kind == rpc::MessageKind::request) question_ = message.id;
  std::string scratch;
  const bool is_denied = rpc::decode_string(message.method, scratch).starts_with("fs/");
  require_that(!setup_.has_rules || !is_denied, "what rules deny is told to nobody");
}

std::string World::filled(std::string_view text) const {
  std::string out(text);
  for (size_t at = out.find("$q"); at != std::string::npos; at = out.find("$q", at)) {
    out.replace(at, 2, question_);
    at += question_.size();
  }
  return out;
}

// Opens a connection, as AcpEndpoint does.
void World::open(std::string text) {
  rpc::EnvelopeParser parser(bench_.backend.envelope_limits());
  const auto document = parser.parse(text);
  if (!document || document->batch || !document->messages[0].ok()) return;
  const rpc::Envelope& message = document->messages[0].envelope;
  if (message.kind != rpc::MessageKind::request ||
      !rpc::json_string_equals(message.method, "initialize")) {
    return;
  }
  const auto opened = connections_->open(AcpConnection::Kind::http, {});
  if (!opened) return;
  http_ = (*opened)->id();
  Sink& sink = *sinks_.emplace_back(std::make_unique<Sink>(*this, true));
  if ((*opened)->post(message, {}, {}, sink) == AcpConnection::Posted::under_way) return;
  sink.over = true;
  connections_->close(**opened);
}

void World::post(std::string text, std::string_view session) {
  AcpConnection* const connection = http();
  if (connection == nullptr) return;
  rpc::EnvelopeParser parser(bench_.backend.envelope_limits());
  const auto document = parser.parse(text);
  if (!document || document->batch || !document->messages[0].ok()) return;
  const rpc::Envelope& message = document->messages[0].envelope;
  const bool greets = message.kind == rpc::MessageKind::request &&
                      rpc::json_string_equals(message.method, "initialize");
  if (greets) return;
  Sink none(*this, false);
  none.over = true;
  connection->post(message, session, {}, none);
}

void World::listen(std::string_view session, std::string_view last) {
  AcpConnection* const connection = http();
  if (connection == nullptr) return;
  if (!session.empty() && !connection->has_session(session)) return;
  std::optional<uint64_t> after;
  uint64_t number = 0;
  if (std::from_chars(last.data(), last.data() + last.size(), number).ec == std::errc()) {
    after = number;
  }
  connection->listen(*sinks_.emplace_back(std::make_unique<Sink>(*this, false)), session, after);
}

void World::break_streams() {
  for (const auto& sink : sinks_) {
    if (!std::exchange(sink->over, true)) connections_->detach(sink->connection, *sink);
  }
}

void World::attach(bool is_new) {
  if (is_new) {
    const auto opened = connections_->open(AcpConnection::Kind::websocket, {});
    if (!opened) return;
    detach();
    socket_ = (*opened)->id();
  } else if (connections_->find(socket_, AcpConnection::Kind::websocket, nullptr) == nullptr) {
    return;
  }
  Socket& socket = *sockets_.emplace_back(std::make_unique<Socket>(*this));
  const auto kept = connections_->attach(socket_, socket);
  require_that(kept.has_value(), "a connection that is found is attached to");
  kept_ = *kept;
  connections_->replay(socket_, socket);
}

void World::detach() {
  if (sockets_.empty()) return;
  sockets_.back()->over = true;
  connections_->detach(socket_, *sockets_.back());
}

void World::say(std::string text) {
  if (sockets_.empty() || sockets_.back()->over) return;
  rpc::EnvelopeParser parser(bench_.backend.envelope_limits());
  const auto document = parser.parse(text);
  if (!document || document->batch) return;
  const rpc::ParsedMessage& message = document->messages[0];
  const rpc::MessageKind kind = message.envelope.kind;
  if (message.ok() && (kind == rpc::MessageKind::result || kind == rpc::MessageKind::error)) {
    connections_->note_answer(socket_, message.envelope.id);
  }
  call::CallContext context;
  context.caller = kept_.caller;
  context.session = kept_.session;
  context.transport = Transport::websocket;
  context.tag = ++tag_;
  bench_.backend.accept(message, context);
}

// The youngest running child.
FakeChild* World::child() {
  for (size_t index = bench_.launcher.launched(); index > 0; --index) {
    if (bench_.child(index - 1).running()) return &bench_.child(index - 1);
  }
  return nullptr;
}

void World::child_answers(std::string_view member, std::string_view text) {
  for (size_t index = agents_.size(); index > 0; --index) {
    std::vector<std::string>& asked = agents_[index - 1].asked;
    if (asked.empty() || !bench_.child(index - 1).running()) continue;
    std::string answer = R"({"jsonrpc":"2.0","id":)" + asked.front() + ",\"";
    asked.erase(asked.begin());
    answer.append(member).append("\":").append(text).append("}");
    return bench_.child(index - 1).say(answer);
  }
}

void World::settle() {
  bench_.settle();
  agents_.resize(bench_.launcher.launched());
  for (size_t index = 0; index < bench_.launcher.launched(); ++index) {
    FakeChild& one = bench_.child(index);
    Agent& agent = agents_[index];
    if (!std::exchange(agent.is_started, true) && one.running()) one.start();
    for (const std::string& line : one.take_lines()) {
      require_that(oracle_accepts(line), "an agent is sent JSON");
      std::string copy = line;
      rpc::EnvelopeParser parser({.depth = kDepth + kMoreDepth});
      const auto document = parser.parse(copy);
      require_that(document && !document->batch && document->messages[0].ok(),
                   "an agent is sent a message");
      const rpc::Envelope& message = document->messages[0].envelope;
      if (message.kind == rpc::MessageKind::request) agent.asked.emplace_back(message.id);
    }
    if (one.running() && !one.ends().empty()) one.exit(0);
  }
  bench_.settle();
  bench_.backend.check_invariants();
  connections_->check_invariants();
  if (!sockets_.empty() && sockets_.back()->over) detach();
}

void World::act(char what, std::string text) {
  text = filled(text);
  switch (what) {
    case 'O':
      open(std::move(text));
      break;
    case 'P':
    case 'p':
      post(std::move(text), what == 'p' ? "s" : "");
      break;
    case 'D':
      if (AcpConnection* const connection = http()) connections_->close(*connection);
      break;
    case 'L':
    case 'l':
      listen(what == 'l' ? "s" : "", text);
      break;
    case 'B':
      is_backed_up_ = !is_backed_up_;
      connections_->on_sink_writable(http_);
      break;
    case 'X':
      break_streams();
      break;
    case 'W':
    case 'w':
      attach(what == 'W');
      break;
    case 'V':
      detach();
      break;
    case 'M':
      say(std::move(text));
      break;
    case 'C':
      if (FakeChild* const one = child()) one->say(text);
      break;
    case 'A':
    case 'E':
      child_answers(what == 'A' ? "result" : "error", text);
      break;
    case 'K':
      if (FakeChild* const one = child()) one->die(9);
      break;
    case 'T':
      bench_.advance(std::chrono::seconds(1));
      break;
    case 'H':
      bench_.advance(std::chrono::minutes(10));
      break;
    default:
      return;
  }
  settle();
}

void World::stop() {
  connections_->drain();
  settle();
  connections_->close_all();
  settle();
  require_that(connections_->size() == 0, "no connection is left");
  require_that(bench_.backend.calls() == 0, "no call is left");
  require_that(bench_.observer.questions == 0, "no question is left");
  bench_.backend.end_children(std::chrono::seconds(0));
  settle();
  require_that(!testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed(),
               "the core keeps to its interfaces");
}

void check(std::string_view input) {
  if (input.empty()) return;
  const auto how = static_cast<uint8_t>(input[0]);
  World world({.has_rules = (how & 1) != 0, .lingers = (how & 2) != 0}, input);
  std::string_view rest = input.substr(1);
  for (size_t lines = 0; !rest.empty() && lines < kMaxLines; ++lines) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.empty()) world.act(line[0], std::string(line.substr(1)));
  }
  world.stop();
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::acp_fuzz
