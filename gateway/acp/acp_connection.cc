#include "gateway/acp/acp_connection.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "gateway/acp/acp_connections.h"
#include "gateway/acp/acp_dialect.h"
#include "gateway/backend/upstream.h"
#include "gateway/base/check.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/session/session.h"

namespace stdgate::acp {

namespace {

constexpr std::string_view kQuotedCancel = R"("$/cancel_request")";

std::string joined(std::span<const std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

}  // namespace

AcpConnection::AcpConnection(const AcpServices& services, AcpConnections& owner, Id id, Kind kind,
                             const policy::Client& client)
    : services_(services),
      owner_(owner),
      id_(std::move(id.text)),
      name_(id.name),
      kind_(kind),
      principal_(client.principal),
      share_({client.account.get(), services.backend.held()}, Holding::sessions),
      session_(services.backend, services.callers),
      log_(services.limits.replay_events, services.limits.replay, services.storages,
           share_.payer()),
      used_(services.clock.now()),
      stream_timer_(services.timers, [this] { stop_waiting(); }),
      pressure_timer_(services.timers, [this] { hold_or_release_child(); }) {
  charge();
}

void AcpConnection::close() {
  if (session_.is_none()) return;
  over_ = true;
  session_.close("the connection has ended");
  if (socket_ != nullptr) {
    socket_->on_session_end(session::SessionEnd::finished, "the connection has ended");
  }
  socket_ = nullptr;
  end_streams();
}

void AcpConnection::end_streams() {
  if (initialize_ != nullptr) std::exchange(initialize_, nullptr)->end_stream();
  if (stream_.sink != nullptr) std::exchange(stream_.sink, nullptr)->end_stream();
  for (auto& [id, stream] : sessions_) {
    if (stream.sink != nullptr) std::exchange(stream.sink, nullptr)->end_stream();
  }
}

std::optional<TimePoint> AcpConnection::alone_since() const {
  const bool is_carried =
      socket_ != nullptr || initialize_ != nullptr || stream_.sink != nullptr ||
      std::ranges::any_of(sessions_, [](const auto& one) { return one.second.sink != nullptr; });
  return is_carried ? std::nullopt : std::optional(used_);
}

session::ClientHold AcpConnection::hold() const {
  if (alone_since()) return session::ClientHold::nothing;
  return kind_ == Kind::websocket ? session::ClientHold::connection : session::ClientHold::stream;
}

void AcpConnection::charge() {
  share_.set(sizeof(AcpConnection) + id_.capacity() + ask_bytes_ + id_bytes_ + answers_.bytes() +
             sessions_.size() * sizeof(Streams::value_type) +
             asks_.size() * sizeof(decltype(asks_)::value_type) +
             answered_.size() * sizeof(decltype(answered_)::value_type) +
             calls_.size() * sizeof(decltype(calls_)::value_type));
}

// --- A WebSocket ----------------------------------------------------------------------------

AcpConnection::Kept AcpConnection::attach(session::SessionSink& socket) {
  if (socket_ != nullptr) {
    socket_->on_session_end(session::SessionEnd::replaced, "its client has come back on another");
  }
  socket_ = &socket;
  is_told_ = false;
  return {session_.id(), session_.caller()};
}

void AcpConnection::replay(session::SessionSink& socket) {
  if (socket_ != &socket || is_told_) return;
  is_told_ = true;
  if (!reading_) socket.set_reading(false);
  tell_again(stream_, std::nullopt);
}

bool AcpConnection::detach(session::SessionSink& socket) {
  if (socket_ != &socket) return false;
  socket_ = nullptr;
  used_ = services_.clock.now();
  services_.backend.hold_child(session_.id(), false);
  return true;
}

// --- What is posted -------------------------------------------------------------------------

AcpConnection::Posted AcpConnection::post(const rpc::Envelope& message, std::string_view session,
                                          call::CallContext context, session::EventSink& sink) {
  used_ = services_.clock.now();
  std::string of;
  if (const auto wrong = check_session(message, session, of)) return *wrong;
  const bool is_request = message.kind == rpc::MessageKind::request;
  // Answers and cancels are taken even now: the agent may be waiting for them.
  if (is_request && (!reading_ || calls_.size() + answers_.untold() >= kMaxCalls)) {
    return Posted::overloaded;
  }
  const bool is_response =
      message.kind == rpc::MessageKind::result || message.kind == rpc::MessageKind::error;
  if (is_response) note_answer(message.id);
  context.caller = session_.caller();
  context.session = session_.id();
  if (is_request) {
    context.tag = ++last_tag_;
    Call call;
    call.initializes = is_method(message, "initialize");
    call.creates_session = is_method(message, "session/new") || is_method(message, "session/fork");
    const bool loads = is_method(message, "session/load");
    if (loads || is_method(message, "session/resume")) add_session(of);
    const auto known = sessions_.find(of);
    if (!loads && known != sessions_.end()) call.stream = known->second.number;
    if (call.initializes) initialize_ = &sink;
    calls_.emplace(context.tag, call);
    charge();
  }
  if (const auto known = sessions_.find(of); known != sessions_.end()) await_stream(known->second);
  const bool initializes = initialize_ == &sink;
  rpc::ParsedMessage parsed;
  parsed.envelope = message;
  const auto admission = services_.backend.accept(parsed, context);
  if (initializes) return Posted::under_way;
  if (admission == backend::Admission::refused_overloaded) return Posted::overloaded;
  return Posted::taken;
}

std::optional<AcpConnection::Posted> AcpConnection::check_session(const rpc::Envelope& message,
                                                                  std::string_view named,
                                                                  std::string& session) const {
  if (!message.method.empty()) {
    session = session_in(message.params);
  } else if (const auto ask = asks_.find(message.id);
             ask != asks_.end() && ask->second.stream != 0) {
    const auto asked = std::ranges::find_if(
        sessions_, [&](const auto& one) { return one.second.number == ask->second.stream; });
    if (asked != sessions_.end()) session = asked->first;
  }
  if (session.empty()) return std::nullopt;
  if (!named.empty()) return named == session ? std::nullopt : std::optional(Posted::other_session);
  return needs_session(message) ? std::optional(Posted::lacks_session) : std::nullopt;
}

void AcpConnection::keep_ask(std::string_view id, Ask ask) {
  // More than the core lets be asked: the oldest ones have been given up.
  if (asks_.size() >= session::Asks::kMaxAsks) note_answer(asks_.begin()->first);
  ask_bytes_ += ask.text.capacity();
  asks_.insert_or_assign(std::string(id), std::move(ask));
  charge();
}

void AcpConnection::note_answer(std::string_view request) {
  const auto ask = asks_.find(request);
  if (ask == asks_.end()) return;
  if (ask->second.number > 0) answered_.insert(ask->second.number);
  while (answered_.size() > services_.limits.replay_events) answered_.erase(answered_.begin());
  ask_bytes_ -= ask->second.text.capacity();
  asks_.erase(ask);
  charge();
}

AcpConnection::Stream* AcpConnection::add_session(std::string session) {
  if (const auto known = sessions_.find(session); known != sessions_.end()) return &known->second;
  if (session.empty() || session.size() > kMaxSessionId) return nullptr;
  if (sessions_.size() >= kMaxSessions) {
    const auto silent = std::ranges::min_element(sessions_, {}, [](const auto& one) {
      return std::pair(one.second.sink != nullptr, one.second.number);
    });
    if (silent->second.sink != nullptr) return nullptr;
    if (silent->second.number != 0) carry(silent->second);
    id_bytes_ -= silent->first.size();
    sessions_.erase(silent);
  }
  id_bytes_ += session.size();
  Stream& stream = sessions_[std::move(session)];
  stream.number = ++last_stream_;
  charge();
  return &stream;
}

AcpConnection::Stream* AcpConnection::find_stream(uint32_t number) {
  if (number == 0) return &stream_;
  const auto found = std::ranges::find_if(
      sessions_, [number](const auto& one) { return one.second.number == number; });
  return found == sessions_.end() ? &stream_ : &found->second;
}

// --- From the agent -------------------------------------------------------------------------

void AcpConnection::on_reply(session::Tag tag, const session::Reply& reply) {
  if (kind_ == Kind::websocket) {
    if (socket_ != nullptr && is_told_) return socket_->on_reply(tag, reply);
    const std::array parts{reply.head, reply.id, reply.tail};
    return tell_answer(stream_, joined(parts));
  }
  const auto found = calls_.find(tag);
  if (found == calls_.end()) return;
  const Call call = found->second;
  calls_.erase(found);
  charge();
  if (call.initializes) return answer_initialize(reply);
  const std::array parts{reply.head, reply.id, reply.tail};
  const std::string text = joined(parts);
  if (call.creates_session) add_session(session_in(rpc::member_or_empty(text, "result")));
  tell_answer(*find_stream(call.stream), text);
}

void AcpConnection::answer_initialize(const session::Reply& reply) {
  const std::array parts{reply.head, reply.id, reply.tail};
  const std::string text = joined(parts);
  const auto result = rpc::find_member(text, "result");
  if (result) {
    const std::string_view able = rpc::member_or_empty(*result, "agentCapabilities");
    const std::string_view of_sessions = rpc::member_or_empty(able, "sessionCapabilities");
    may_load_ = rpc::member_or_empty(able, "loadSession") == "true" ||
                rpc::find_member(of_sessions, "resume").has_value();
  } else if (!std::exchange(over_, true)) {
    owner_.on_connection_over(*this);
  }
  if (initialize_ == nullptr) return;
  const std::string told = result ? with_connection_id(text, *result, id_) : text;
  const std::string_view body = told;
  std::exchange(initialize_, nullptr)->respond({&body, 1});
}

void AcpConnection::on_event(session::Tag /*tag*/, std::string_view notification) {
  on_message(std::nullopt, {&notification, 1});
}

void AcpConnection::on_message(std::optional<session::Tag> call,
                               std::span<const std::string_view> parts) {
  const std::string text = joined(parts);
  const auto [id, method, params] = rpc::find_members<3>(text, {"id", "method", "params"});
  const bool asks = id.has_value() && method.has_value();
  if (method == kQuotedCancel) {
    return take_back(rpc::member_or_empty(params.value_or("{}"), "requestId"), call, text);
  }
  if (kind_ == Kind::websocket) {
    if (socket_ == nullptr || !is_told_) return tell(stream_, text, asks ? *id : "");
    if (asks) keep_ask(*id, Ask{0, 0, text});
    return socket_->on_message(call, parts);
  }
  const auto known = sessions_.find(session_in(params.value_or(std::string_view())));
  tell(known == sessions_.end() ? stream_ : carrier(known->second), text, asks ? *id : "");
}

// A question that the agent has withdrawn, or that has expired, is not asked again. Its client
// hears of the end where it has heard the question, or of neither.
void AcpConnection::take_back(std::string_view id, std::optional<session::Tag> call,
                              const std::string& text) {
  const auto ask = asks_.find(id);
  if (ask == asks_.end()) return;  // it has been answered, or taken back before
  Stream& stream = *find_stream(ask->second.stream);
  const bool was_told = ask->second.number <= stream.delivered;
  note_answer(id);
  if (!was_told) return;
  if (kind_ == Kind::http || socket_ == nullptr || !is_told_) return tell(stream, text, {});
  const std::string_view part = text;
  socket_->on_message(call, {&part, 1});
}

// `asked`: the raw id of a request; empty: it is none.
void AcpConnection::tell(Stream& stream, std::string_view text, std::string_view asked) {
  const uint64_t number = log_.add(stream.number, {&text, 1});
  if (!asked.empty()) keep_ask(asked, Ask{number, stream.number, std::string(text)});
  write(stream, number, text);
}

void AcpConnection::tell_answer(Stream& stream, std::string_view text) {
  const uint64_t number = log_.add(stream.number, {&text, 1});
  answers_.add(number, stream.number, text);
  write(stream, number, text);
  charge();
}

void AcpConnection::write(Stream& stream, uint64_t number, std::string_view text) {
  if (kind_ == Kind::websocket) {
    if (socket_ == nullptr || !is_told_) return;
    stream.delivered = std::max(stream.delivered, number);
    answers_.note_told(number, false);
    return socket_->on_message(std::nullopt, {&text, 1});
  }
  if (stream.sink == nullptr) return;
  stream.delivered = std::max(stream.delivered, number);
  answers_.note_told(number, true);
  const std::string id = number == 0 ? std::string() : std::to_string(number);
  stream.sink->write_event({.id = id, .data = {&text, 1}});
  if (held_ || stream.sink->is_backed_up()) pressure_timer_.arm(services_.clock.now());
}

// Open requests and answers that the log does not give again come first, because they are older
// than what it gives. `after`: the last event that the client has, as it says itself.
void AcpConnection::tell_again(Stream& stream, std::optional<uint64_t> after) {
  const uint64_t from = after.value_or(stream.delivered);
  std::set<uint64_t> kept;
  log_.replay(stream.number, from, [&](uint64_t number, const auto&) { kept.insert(number); });
  for (const auto& [id, ask] : asks_) {
    const bool is_had = after && ask.number <= *after;
    if (ask.stream == stream.number && !kept.contains(ask.number) && !is_had) {
      write(stream, ask.number, ask.text);
    }
  }
  if (after) answers_.forget_through(stream.number, *after);
  for (const Answers::Lost& lost : answers_.lost(stream.number, from, kept)) {
    write(stream, lost.event, lost.text);
  }
  charge();
  log_.replay(stream.number, from, [&](uint64_t number, const auto& text) {
    if (!answered_.contains(number)) write(stream, number, text.view());
  });
}

void AcpConnection::set_reading(bool reading) {
  reading_ = reading;
  if (socket_ != nullptr && is_told_) socket_->set_reading(reading);
}

void AcpConnection::on_session_end(session::SessionEnd end, std::string_view message) {
  if (std::exchange(over_, true)) return;
  if (socket_ != nullptr) socket_->on_session_end(end, message);
  owner_.on_connection_over(*this);
}

// --- Streams --------------------------------------------------------------------------------

bool AcpConnection::has_session(std::string_view session) const {
  return sessions_.contains(session) || (may_load_ && session.size() <= kMaxSessionId);
}

void AcpConnection::listen(session::EventSink& sink, std::string_view session,
                           std::optional<uint64_t> after) {
  used_ = services_.clock.now();
  Stream* const stream = session.empty() ? &stream_ : add_session(std::string(session));
  if (stream == nullptr) return sink.end_stream();
  if (stream->sink != nullptr) stream->sink->end_stream();
  stream->sink = &sink;
  if (!session.empty() && stream->number == 0) stream->number = ++last_stream_;
  stream->was_opened = true;
  stream->awaited.reset();
  if (session.empty()) stream_timer_.arm(used_ + kStreamPatience);
  if (held_) pressure_timer_.arm(used_);  // the former one may have been the slow one
  sink.begin_stream();
  tell_again(*stream, after);
}

// A client may open the stream of a session at the same time as it sends its first message there.
void AcpConnection::await_stream(Stream& stream) {
  if (stream.was_opened || stream.number == 0) return;
  if (!stream.awaited) stream.awaited = used_;
  if (!stream_timer_.armed()) stream_timer_.arm(*stream.awaited + kStreamPatience);
}

void AcpConnection::stop_waiting() {
  if (stream_.sink == nullptr) return;  // listen() arms the timer again
  const TimePoint now = services_.clock.now();
  std::optional<TimePoint> next;
  for (auto& [id, stream] : sessions_) {
    if (!stream.awaited) continue;
    const TimePoint due = *stream.awaited + kStreamPatience;
    if (due <= now) {
      carry(stream);
    } else {
      next = std::min(next.value_or(due), due);
    }
  }
  if (next) stream_timer_.arm(*next);
}

// The stream of the connection carries this session from now on, and what has been kept for it.
void AcpConnection::carry(Stream& stream) {
  stream.awaited.reset();
  const uint32_t former = std::exchange(stream.number, 0);
  answers_.forget_through(former, stream.delivered);
  std::map<uint64_t, Ask*> asks;
  for (auto& [id, ask] : asks_) {
    if (ask.stream != former) continue;
    ask.stream = 0;
    if (ask.number > stream.delivered) asks.emplace(ask.number, &ask);
  }
  const auto move = [&](uint64_t number, std::string_view text) {
    const uint64_t moved = log_.add(0, {&text, 1});
    if (const auto ask = asks.find(number); ask != asks.end()) {
      ask->second->number = moved;
      asks.erase(ask);
    }
    answers_.move(number, moved);
    write(stream_, moved, text);
  };
  std::vector<uint64_t> numbers;
  log_.replay(former, stream.delivered,
              [&](uint64_t number, const auto&) { numbers.push_back(number); });
  const auto kept = log_.take_after(former, stream.delivered);
  // As tell_again(): what is not kept is older than what is.
  const std::set<uint64_t> known(numbers.begin(), numbers.end());
  for (auto ask = asks.begin(); ask != asks.end();) {
    const auto [number, question] = *ask++;  // move() erases it
    if (!known.contains(number)) move(number, question->text);
  }
  for (const Answers::Lost& lost : answers_.lost(former, stream.delivered, known)) {
    move(lost.event, lost.text);
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!answered_.contains(numbers[i])) move(numbers[i], kept[i].view());
  }
}

void AcpConnection::detach(session::EventSink& sink) {
  used_ = services_.clock.now();
  if (stream_.sink == &sink) stream_.sink = nullptr;
  for (auto& [id, stream] : sessions_) {
    if (stream.sink == &sink) stream.sink = nullptr;
  }
  if (initialize_ == &sink) {  // its id has been told to nobody
    initialize_ = nullptr;
    if (!std::exchange(over_, true)) owner_.on_connection_over(*this);
  }
  hold_or_release_child();
}

void AcpConnection::end_listening() {
  if (kind_ == Kind::http && calls_.empty()) end_streams();
}

// A client that takes too little holds its own agent.
void AcpConnection::hold_or_release_child() {
  if (session_.is_none() || kind_ == Kind::websocket) return;
  const auto is_full = [](const Stream& stream) {
    return stream.sink != nullptr && stream.sink->is_backed_up();
  };
  const bool is_backed_up =
      is_full(stream_) ||
      std::ranges::any_of(sessions_, [&](const auto& one) { return is_full(one.second); });
  if (std::exchange(held_, is_backed_up) != is_backed_up) {
    services_.backend.hold_child(session_.id(), is_backed_up);
  }
}

void AcpConnection::check_invariants() const {
  STDGATE_CHECK(sessions_.size() <= kMaxSessions && calls_.size() <= kMaxCalls);
  STDGATE_CHECK(kind_ == Kind::websocket || answers_.size() <= kMaxCalls);
  STDGATE_CHECK(!session_.is_none() || over_);
  STDGATE_CHECK(kind_ == Kind::websocket ? sessions_.empty() && calls_.empty()
                                         : socket_ == nullptr);
}

}  // namespace stdgate::acp
