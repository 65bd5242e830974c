#include "tests/fuzz/era_world.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/mcp/modern_request.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/json_oracle.h"

namespace stdgate::test {

namespace {

using std::chrono::seconds;

constexpr size_t kDepth = 12;
// The gateway may write messages that are this much deeper than the messages that it reads.
constexpr size_t kMoreDepth = 8;
constexpr std::string_view kListen = "subscriptions/listen";

constexpr const char* kDiscovery =
    R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":)"
    R"({"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{}},)"
    R"("ttlMs":1000,"cacheScope":"public"})";
constexpr const char* kGreeting =
    R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":)"
    R"({"subscribe":true,"listChanged":true},"logging":{}},"serverInfo":{"name":"s","version":"1"}})";

backend::BackendOptions options_of(const EraSetup& setup) {
  backend::BackendOptions options = plain_options();
  options.config.protocol = config::Protocol::mcp;
  options.config.isolation = setup.isolation;
  options.config.revision = setup.revision;
  options.config.bridge = setup.bridge ? config::Bridge::on : config::Bridge::automatic;
  options.config.serves_one = setup.serves_one;
  options.config.cache = setup.cache;
  options.config.revive = true;
  options.config.pool.min = 1;
  options.config.pool.max = 3;
  options.config.pool.max_in_flight = 4;
  options.config.pool.queue = 8;
  options.config.pool.sessions = EraWorld::kClients;
  options.config.pool.parked = 2;
  options.limits.depth = kDepth;
  options.limits.batch = 4;
  options.limits.message = 16 << 10;
  return options;
}

std::string joined(std::span<const std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

std::string with(std::string_view text, TextPlace place, std::string_view by) {
  return joined(with_replaced(text, place, by));
}

std::string decoded(std::string_view raw) {
  std::string scratch;
  return std::string(rpc::decode_string(raw, scratch));
}

// Whether _meta is an object, or can be added.
bool has_room_for_meta(const rpc::Envelope& message) {
  if (message.params.empty()) return true;
  if (message.params.front() != '{') return false;
  const auto meta = rpc::find_member(message.params, "_meta");
  return meta ? meta->front() == '{' : meta.error() == rpc::MemberError::absent;
}

// Whether the header fields agree with the body. Fields that are not in `fields` are taken from the
// body.
bool is_repeated_by(const rpc::Envelope& request, std::string_view fields) {
  constexpr std::string_view kName = "mcp-name:";
  const std::string method = decoded(request.method);
  mcp::ModernHeaders headers{{"2026-07-28"}, {method}, {}};
  mcp::MetaMemory memory;
  const mcp::McpParams params = mcp::read_params(request.params, memory);
  if (!fields.starts_with(kName)) return !mcp::check_modern(request, params).has_value();
  const std::string_view name = fields.substr(kName.size());
  headers.name.value = name.substr(0, name.find('\n'));
  const bool is_right = !mcp::check_modern(request, params, headers).has_value();
  const bool has_name = method == "tools/call" || method == "prompts/get";
  if (is_right && has_name) {
    const std::string_view named = rpc::find_member(request.params, "name").value_or("\"\"");
    std::string scratch;
    const auto repeated = mcp::decode_header(*headers.name.value, scratch);
    STDGATE_CHECK(repeated && *repeated == decoded(named.substr(1, named.size() - 2)));
  }
  return is_right;
}

// Whether a part of the message may be sealed or opened on its way. Escapes could spell any key.
bool may_hold_sealed(const std::string& message) {
  constexpr std::array<const char*, 5> kSigns = {"requestState", "nextCursor", "taskId", "task",
                                                 "\\"};
  return std::ranges::any_of(
      kSigns, [&](const char* sign) { return message.find(sign) != std::string::npos; });
}

}  // namespace

// A client with a session, which also sends requests that stand alone.
class EraWorld::Client final : public session::SessionSink {
 public:
  explicit Client(EraWorld& world) : caller(*world.bench_.callers.add(*this)), world_(world) {}
  ~Client() override { world_.bench_.callers.remove(caller); }

  void on_reply(session::Tag tag, const session::Reply& reply) override {
    const std::array<std::string_view, 3> parts = {reply.head, reply.id, reply.tail};
    const std::string text = joined(parts);
    const auto waiting = waits.extract(tag);
    world_.require_that(!waiting.empty(), "a request is answered once");
    rpc::EnvelopeParser parser = world_.wide_parser();
    const rpc::Envelope answer = read(parser, text);
    world_.require_that(answer.id == waiting.mapped(), "an answer has its request's id");
    world_.require_that(
        answer.kind == rpc::MessageKind::result || answer.kind == rpc::MessageKind::error,
        "a request is answered by a response");
    const auto state = rpc::find_member(answer.payload, "requestState");
    if (state && state->size() > 2 && state->front() == '"') {
      world_.state_ = state->substr(1, state->size() - 2);
    }
    last = text;
  }
  void on_event(session::Tag tag, std::string_view notification) override {
    world_.require_that(waits.contains(tag), "an event belongs to a call that waits");
    rpc::EnvelopeParser parser = world_.wide_parser();
    read(parser, std::string(notification));
  }
  void on_cancelled(session::Tag tag) override {
    world_.require_that(waits.erase(tag) == 1, "a call that waits is cancelled");
  }
  void on_message(std::optional<session::Tag> /*of_call*/,
                  std::span<const std::string_view> parts) override {
    world_.require_that(!session.is_none(), "a message is for a session");
    rpc::EnvelopeParser parser = world_.wide_parser();
    const rpc::Envelope message = read(parser, joined(parts));
    if (message.kind == rpc::MessageKind::request) world_.question_ = message.id;
  }
  void set_reading(bool /*reading*/) override {}
  void on_session_end(session::SessionEnd /*end*/, std::string_view /*message*/) override {
    world_.require_that(!std::exchange(has_ended, true), "a session ends once");
  }

  const session::Caller caller;
  session::SessionId session;
  bool has_ended = false;                     // and must be closed
  std::map<session::Tag, std::string> waits;  // raw ids of unanswered requests
  std::string last;                           // the latest answer

 private:
  // The views are valid as long as text_ and the parser are.
  rpc::Envelope read(rpc::EnvelopeParser& parser, std::string text) {
    world_.require_that(oracle_accepts(text), "a client is given JSON");
    world_.require_that(text.find('\n') == std::string::npos, "a client is given one line");
    text_ = std::move(text);
    const auto document = parser.parse(text_);
    world_.require_that(document && !document->batch && document->messages[0].ok(),
                        "a client is given a message");
    return document->messages[0].envelope;
  }

  EraWorld& world_;
  std::string text_;
};

EraWorld::EraWorld(const EraSetup& setup, std::string_view input)
    : setup_(setup),
      input_(input),
      bench_(options_of(setup), std::make_unique<mcp::McpDialect>("1")) {
  bench_.services.states = &seal_;
  principal_.name = "eve";
  for (size_t i = 0; i <= kClients; ++i) clients_.push_back(std::make_unique<Client>(*this));
  settle();
}

EraWorld::~EraWorld() = default;

void EraWorld::require_that(bool holds, const char* what) const { require(holds, what, input_); }

rpc::EnvelopeParser EraWorld::wide_parser() const {
  return rpc::EnvelopeParser({.depth = kDepth + kMoreDepth});
}

// --- Clients --------------------------------------------------------------------------------

std::string EraWorld::filled(std::string text) {
  const auto child = asked_child();
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char next = text[at] == '$' && at + 1 < text.size() ? text[at + 1] : '\0';
    const size_t number = static_cast<size_t>(next - '0');
    if (next == 's') {
      out += state_;
    } else if (next == 'q') {
      out += question_;
    } else if (next >= '0' && next <= '9') {
      const auto state = child ? children_.find(*child) : children_.end();
      const bool is_known = state != children_.end() && number < state->second.asked.size();
      out += is_known ? state->second.asked[number].id : "7";
    } else {
      out += text[at];
      continue;
    }
    ++at;
  }
  return out;
}

call::CallContext EraWorld::context_of(Client& client) const {
  call::CallContext context;
  context.caller = client.caller;
  context.arrived = bench_.clock.now();
  if (&client == clients_[1].get()) context.principal = &principal_;
  return context;
}

void EraWorld::hand_over(Client& client, const rpc::ParsedMessage& message,
                         const call::CallContext& context) {
  call::CallContext own = context;
  own.tag = ++tags_;
  const rpc::Envelope& envelope = message.envelope;
  const bool waits = !message.ok() || envelope.kind == rpc::MessageKind::request;
  if (waits) client.waits[own.tag] = envelope.id.empty() ? "null" : std::string(envelope.id);
  const bool is_plain = envelope.params.find("progressToken") == std::string_view::npos &&
                        envelope.params.find('\\') == std::string_view::npos;
  if (waits && message.ok() && context.peer_kind == PeerKind::stateless && is_plain) {
    passing_ = Passing{std::string(envelope.text), place_of(envelope.id, envelope.text), own.tag};
  }
  const backend::Admission admission = bench_.backend.accept(message, own);
  require_that((admission == backend::Admission::answered_by_reply) == waits,
               "requests alone are answered");
  settle();
  passing_.reset();
}

void EraWorld::say_in_session(size_t index, std::string text) {
  Client& client = *clients_[index];
  if (client.session.is_none()) {
    const auto session = bench_.backend.open_session(client.caller, client, {});
    if (!session) return;
    client.session = *session;
    settle();
  }
  text = filled(std::move(text));
  rpc::EnvelopeParser parser(bench_.backend.envelope_limits());
  const auto document = parser.parse(text);
  if (!document) return;
  if (mcp::has_modern(*document)) return say_modern(index, std::move(text), std::nullopt);
  call::CallContext context = context_of(client);
  context.transport = Transport::websocket;
  context.session = client.session;
  for (const rpc::ParsedMessage& message : document->messages) {
    if (!client.session.is_none()) hand_over(client, message, context);
  }
}

void EraWorld::say_modern(size_t index, std::string text, std::optional<std::string> fields) {
  Client& client = *clients_[index];
  text = filled(std::move(text));
  rpc::EnvelopeParser parser(bench_.backend.envelope_limits());
  const auto document = parser.parse(text);
  if (!document || document->batch || !document->messages[0].ok()) return;
  const rpc::Envelope& envelope = document->messages[0].envelope;
  if (envelope.kind == rpc::MessageKind::request) {
    if (envelope.id == "null") return;
    if (!is_repeated_by(envelope, fields.value_or(std::string()))) return;
  } else if (envelope.kind != rpc::MessageKind::notification) {
    return;
  }
  call::CallContext context = context_of(client);
  context.transport = Transport::mcp;
  context.peer_kind = PeerKind::stateless;
  context.wants_events = true;
  if (fields) context.mirrored = *fields;
  hand_over(client, document->messages[0], context);
}

void EraWorld::say_plain(std::string text) {
  text = filled(std::move(text));
  rpc::EnvelopeParser parser(bench_.backend.envelope_limits());
  const auto document = parser.parse(text);
  if (!document || mcp::has_modern(*document)) return;
  Client& client = *clients_[kClients];
  for (const rpc::ParsedMessage& message : document->messages) {
    hand_over(client, message, context_of(client));
  }
}

void EraWorld::leave(size_t index) {
  Client& client = *clients_[index];
  bench_.backend.cancel_calls_of(client.caller);
  if (!client.session.is_none()) bench_.backend.close_session(client.session, {});
  client.session = {};
  client.has_ended = false;
  client.waits.clear();
  settle();
}

// --- Children -------------------------------------------------------------------------------

std::optional<size_t> EraWorld::asked_child() {
  for (size_t index = bench_.launcher.launched(); index > 0; --index) {
    const auto state = children_.find(index - 1);
    if (bench_.child(index - 1).running() && state != children_.end() &&
        !state->second.asked.empty())
      return index - 1;
  }
  return std::nullopt;
}

void EraWorld::child_says(std::string text) {
  text = filled(std::move(text));
  for (size_t index = bench_.launcher.launched(); index > 0; --index) {
    if (!bench_.child(index - 1).running()) continue;
    // The answered request is unknown, because an id may be used again.
    std::erase_if(children_[index - 1].asked, [&](const Asked& asked) {
      return text.find("\"id\":" + asked.id) != std::string::npos;
    });
    bench_.child(index - 1).say(text);
    break;
  }
  settle();
}

void EraWorld::child_answers(std::string_view member) {
  const auto index = asked_child();
  if (!index) return;
  ChildState& state = children_[*index];
  const Asked asked = state.asked.front();
  state.asked.erase(state.asked.begin());
  const std::string head = R"({"jsonrpc":"2.0","id":)";
  const std::string tail = "," + filled(std::string(member)) + "}";
  std::string text = head + asked.id + tail;
  std::string copy = text;
  rpc::EnvelopeParser parser(bench_.backend.envelope_limits());
  const auto document = parser.parse(copy);
  const bool is_answer = document && document->messages[0].ok() &&
                         document->messages[0].envelope.id == asked.id && copy == text;
  const bool is_plain = is_answer && asked.tag && asked.method != kListen && !may_hold_sealed(tail);
  Client* waiting = nullptr;
  std::string id;
  for (const auto& client : clients_) {
    if (!is_plain || !client->waits.contains(*asked.tag)) continue;
    waiting = client.get();
    id = client->waits[*asked.tag];
  }
  bench_.child(*index).say(text);
  if (waiting != nullptr) {
    require_that(waiting->last == head + id + tail, "an answer passes as it is");
  }
  settle();
}

void EraWorld::kill_child() {
  for (size_t index = bench_.launcher.launched(); index > 0; --index) {
    if (!bench_.child(index - 1).running()) continue;
    children_[index - 1].asked.clear();
    bench_.child(index - 1).die(9);
    break;
  }
  settle();
}

// Reads the messages to children, and does what a correct child would do.
void EraWorld::settle() {
  for (size_t index = 0; index < bench_.launcher.launched(); ++index) settle_child(index);
  bench_.backend.check_invariants();
  for (const auto& client : clients_) {
    if (client->has_ended) leave(static_cast<size_t>(&client - clients_.data()));
  }
}

void EraWorld::settle_child(size_t index) {
  FakeChild& child = bench_.child(index);
  ChildState& state = children_[index];
  if (!std::exchange(state.is_started, true)) child.start();
  std::vector<std::string> lines = child.take_lines();
  while (!lines.empty()) {
    for (std::string& line : lines) check_line(index, std::move(line));
    lines = child.take_lines();
  }
  if (child.running() && !child.ends().empty()) {
    state.asked.clear();
    child.exit(0);
  }
}

void EraWorld::check_line(size_t index, std::string line) {
  require_that(oracle_accepts(line), "a child is sent JSON");
  const std::string text = line;
  rpc::EnvelopeParser parser = wide_parser();
  const auto document = parser.parse(line);
  require_that(document && !document->batch && document->messages[0].ok(),
               "a child is sent a message");
  const rpc::Envelope& message = document->messages[0].envelope;
  ChildState& state = children_[index];
  const std::string method = decoded(message.method);
  check_era(state, message, method);
  if (message.kind != rpc::MessageKind::request) return;
  require_that(rpc::parse_wire_id(message.id).has_value(), "a child sees wire ids");
  const auto is_same = [&](const Asked& asked) { return asked.id == message.id; };
  require_that(std::ranges::none_of(state.asked, is_same), "an id is used once at a time");
  Asked asked{std::string(message.id), method};
  const bool is_greeting = method == "initialize" || method == "server/discover";
  if (is_greeting && setup_.is_polite && bench_.child(index).running()) {
    return greet(bench_.child(index), state, asked);
  }
  check_passed(index, text, asked);
  state.asked.push_back(std::move(asked));
}

// Checks a request that has just passed the gateway, if `asked` is that request.
void EraWorld::check_passed(size_t index, const std::string& line, Asked& asked) {
  if (!passing_ || children_[index].peer_kind != PeerKind::stateless) return;
  if (may_hold_sealed(passing_->text)) return;
  const std::string expected = with(passing_->text, passing_->id, asked.id);
  std::string copy = passing_->text;
  rpc::EnvelopeParser parser = wide_parser();
  const auto document = parser.parse(copy);
  if (decoded(document->messages[0].envelope.method) != asked.method) return;
  require_that(line == expected, "a request passes as it is");
  asked.tag = passing_->tag;
  passing_.reset();
}

void EraWorld::check_era(const ChildState& state, const rpc::Envelope& message,
                         const std::string& method) const {
  if (state.peer_kind == PeerKind::stateless) {
    require_that(message.kind != rpc::MessageKind::result, "a modern child is sent no result");
    require_that(method != "initialize" && method != "notifications/initialized",
                 "a modern child is not greeted");
    const bool says_version = message.params.find(mcp::kVersionKey) != std::string_view::npos ||
                              message.params.find('\\') != std::string_view::npos;
    require_that(
        message.kind != rpc::MessageKind::request || says_version || !has_room_for_meta(message),
        "a request at a modern child says its version");
  } else if (state.peer_kind == PeerKind::stateful) {
    require_that(message.kind != rpc::MessageKind::request || mcp::modern_version(message).empty(),
                 "a request at a legacy child says no version");
  }
}

// Answers a greeting as a child of its era does. A greeting of the other era is refused.
void EraWorld::greet(FakeChild& child, ChildState& state, const Asked& asked) {
  const PeerKind peer_kind =
      asked.method == "initialize" ? PeerKind::stateful : PeerKind::stateless;
  if (peer_kind != setup_.children) {
    return child.say(R"({"jsonrpc":"2.0","id":)" + asked.id +
                     R"(,"error":{"code":-32601,"message":"no"}})");
  }
  state.peer_kind = peer_kind;
  child.answer(asked.id, peer_kind == PeerKind::stateless ? kDiscovery : kGreeting);
}

// --- Time and end ---------------------------------------------------------------------------

void EraWorld::pass(Duration time) {
  bench_.advance(time);
  settle();
}

void EraWorld::stop() {
  bench_.backend.drain();
  settle();
  pass(std::chrono::hours(1));
  bench_.backend.fail_calls(rpc::faults::shutting_down());
  settle();
  for (const auto& client : clients_) {
    require_that(client->waits.empty(), "a request is answered");
  }
  require_that(bench_.backend.calls() == 0, "no call is left");
  for (size_t index = 0; index < clients_.size(); ++index) leave(index);
  bench_.backend.end_children(seconds(0));
  settle();
  require_that(!testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed(),
               "the core keeps to its interfaces");
}

}  // namespace stdgate::test
