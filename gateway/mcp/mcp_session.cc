#include "gateway/mcp/mcp_session.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include "gateway/backend/upstream.h"
#include "gateway/base/check.h"
#include "gateway/mcp/mcp_sessions.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/session/reply_message.h"

namespace stdgate::mcp {

namespace {

constexpr size_t kPrefixLength = 8;  // in event ids: the last bytes of the session's id

session::Tag tag_of(uint32_t stream, uint32_t message) {
  return session::Tag{stream} << 32 | message;
}

uint32_t number_of(const std::unique_ptr<McpStream>& stream) { return stream->number(); }

bool is_answered(const rpc::ParsedMessage& message) {
  return !message.ok() || message.envelope.kind == rpc::MessageKind::request;
}

struct EventId {
  uint32_t stream = 0;
  uint64_t number = 0;
};

// Takes "<number>" from the front of `text`, up to `end` or to the end of the text.
template <class Number>
bool take_number(std::string_view& text, char end, Number& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop == text.data()) return false;
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  if (text.empty()) return true;
  if (text.front() != end) return false;
  text.remove_prefix(1);
  return true;
}

// "<prefix>-<stream>-<number>"
std::optional<EventId> parse_event_id(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix) || text.size() == prefix.size() || text[prefix.size()] != '-') {
    return std::nullopt;
  }
  text.remove_prefix(prefix.size() + 1);
  EventId id;
  if (!take_number(text, '-', id.stream) || text.empty()) return std::nullopt;
  if (!take_number(text, '\0', id.number) || !text.empty()) return std::nullopt;
  return id;
}

}  // namespace

McpSession::McpSession(const McpSessionServices& services, McpSessions& owner, Id id, Kind kind,
                       const policy::Client& client, TimePoint expiry)
    : services_(services),
      owner_(owner),
      id_(std::move(id.text)),
      name_(id.name),
      kind_(kind),
      principal_(client.principal),
      share_({client.account.get(), services.backend.held()}, Holding::sessions),
      session_(services.backend, services.callers),
      events_{id_.substr(id_.size() - std::min(id_.size(), kPrefixLength)),
              session::ReplayLog(services.limits.replay_events, services.limits.replay,
                                 services.storages, share_.payer()),
              services.storages},
      listening_(0, *this),
      expiry_(expiry),
      used_(services.clock.now()),
      silence_timer_(services.timers, [this] { end_silence(); }),
      pressure_timer_(services.timers, [this] { hold_or_release_child(); }),
      first_stream_timer_(services.timers, [this] { stop_waiting(); }) {
  share_.set(sizeof(McpSession) + id_.capacity());
}

tl::expected<void, rpc::FaultReport> McpSession::open(const policy::Client& client) {
  if (const auto opened = session_.open(*this, client); !opened) return opened;
  // The only stream ends when no more messages come and all have been answered.
  if (kind_ == Kind::sse) {
    listening_.begin_messages(used_, false, services_.backend.codes(), services_.limits.message);
  }
  return {};
}

// Event ids here differ from the ones that the other process gave out.
tl::expected<void, rpc::FaultReport> McpSession::adopt(const policy::Client& client,
                                                       const session::CarriedSession& carried,
                                                       std::optional<McpRevision> revision) {
  const std::string_view agreed = revision ? mcp_revision_text(*revision) : std::string_view();
  auto adopted = session_.adopt(*this, client, {carried.initialize, agreed, carried.age});
  if (!adopted) return adopted;
  adopted_ = parked_ = initialized_ = true;
  revision_ = revision.value_or(revision_);
  events_.id_prefix += "." + std::to_string(used_.time_since_epoch().count());
  return {};
}

session::Parking McpSession::park() {
  const session::Parking parking = services_.backend.park_session(session_.id());
  parked_ = parking == session::Parking::parked;
  return parking;
}

void McpSession::close() {
  if (session_.is_none()) return;
  first_stream_timer_.disarm();
  over_ = true;
  session_.close("the session has ended");
  listening_.end();
  for (const auto& stream : streams_) stream->end();
  streams_.clear();
}

std::optional<TimePoint> McpSession::idle_since() const {
  if (!streams_.empty() || listening_.has_sink()) return std::nullopt;
  return used_;
}

// --- From the client ------------------------------------------------------------------------

McpSession::Posted McpSession::post(const rpc::Document& document, call::CallContext context,
                                    session::EventSink& sink) {
  used_ = services_.clock.now();
  parked_ = false;
  context.caller = session_.caller();
  context.session = session_.id();
  const bool has_answers =
      std::any_of(document.messages.begin(), document.messages.end(), is_answered);
  // Answers and cancels are taken even now, because the child may be waiting for them.
  if (has_answers && (!reading_ || streams_.size() >= kMaxStreams)) return Posted::overloaded;
  const uint32_t number = has_answers ? ++last_stream_ : 0;
  context.tag = tag_of(number, 0);
  if (!has_answers) {
    return hand_over(document, context, nullptr) ? Posted::taken : Posted::overloaded;
  }
  if (kind_ == Kind::sse) {
    hand_over(document, context, &listening_);
    return Posted::taken;
  }
  McpStream& stream = add_stream(number);
  stream.attach(sink);
  stream.begin_messages(used_, document.batch, services_.backend.codes(), services_.limits.message,
                        share_.payer());
  hand_over(document, context, &stream);
  stream.end_messages();
  settle(stream);
  if (!silence_timer_.armed()) silence_timer_.arm(used_ + services_.timeouts.keep_alive);
  return Posted::under_way;
}

bool McpSession::hand_over(const rpc::Document& document, const call::CallContext& context,
                           McpStream* stream) {
  const auto expect = [&](const rpc::ParsedMessage& message, const call::CallContext& call) {
    const rpc::Envelope& envelope = message.envelope;
    if (!initialized_ && message.ok() && envelope.kind == rpc::MessageKind::request &&
        rpc::json_string_equals(envelope.method, "initialize")) {
      initialize_ = call.tag;
    }
    if (stream != nullptr) stream->expect();
  };
  const auto leave_out = [stream] {
    if (stream != nullptr) stream->leave_out();
  };
  return backend::dispatch(services_.backend, document, context, backend::Tags::one_each, expect,
                           leave_out);
}

void McpSession::listen(session::EventSink& sink) {
  used_ = services_.clock.now();
  has_listened_ = true;
  first_stream_timer_.disarm();
  listening_.attach(sink);
  listening_.begin();
  listening_.write_undelivered();
  settle(listening_);
}

void McpSession::announce(std::string_view event_name, std::string_view data) {
  listening_.write(event_name, {&data, 1});
}

// Whether the session was served by another process when this event was sent. In the process where
// the session began, events have the plain prefix.
bool McpSession::is_of_another_process(std::string_view event_id) const {
  const std::string_view own =
      std::string_view(events_.id_prefix).substr(0, events_.id_prefix.find('.'));
  if (!event_id.starts_with(own)) return false;
  event_id.remove_prefix(own.size());
  return event_id.starts_with('.') || (adopted_ && event_id.starts_with('-'));
}

McpSession::Resumed McpSession::resume(session::EventSink& sink, std::string_view event_id) {
  const auto id = parse_event_id(event_id, events_.id_prefix);
  // Events of another process are gone.
  if (!id && is_of_another_process(event_id)) {
    listen(sink);
    return Resumed::yes;
  }
  if (!id || id->number > events_.log.last() || id->stream > last_stream_) {
    return Resumed::unknown_event;
  }
  McpStream* const known = id->stream == 0 ? &listening_ : find_stream(id->stream);
  const bool is_finished = known == nullptr;
  if (is_finished && !events_.log.knows(id->stream)) return Resumed::event_lost;
  if (!events_.log.reaches(id->stream, id->number)) return Resumed::event_lost;
  if (is_finished && !events_.log.has_after(id->stream, id->number)) return Resumed::over;
  used_ = services_.clock.now();
  McpStream& stream = is_finished ? add_stream(id->stream) : *known;
  stream.attach(sink);
  stream.replay_after(id->number);
  // A stream that is over is only read again.
  if (is_finished) {
    stream.end();
    remove_stream(id->stream);
  } else {
    settle(stream);
  }
  return Resumed::yes;
}

void McpSession::detach(session::EventSink& sink) {
  used_ = services_.clock.now();
  if (listening_.is_sink(sink)) listening_.detach();
  for (const auto& stream : streams_) {
    if (!stream->is_sink(sink)) continue;
    stream->detach();
    // The client left before it was told the session's id, so it cannot come back.
    if (initialize_ && stream_of(*initialize_) == stream.get() && stream->is_quiet()) end_session();
  }
  if (held_) pressure_timer_.arm(used_);
  // Without its only stream, the client of such a session can receive nothing.
  if (kind_ == Kind::sse) end_session();
}

void McpSession::end_listening() {
  if (kind_ == Kind::sse) {
    listening_.end_messages();
  } else {
    listening_.end_for_now();
  }
  settle(listening_);
}

// --- From the core --------------------------------------------------------------------------

McpStream& McpSession::add_stream(uint32_t number) {
  McpStreamOwner& owner = *this;
  std::unique_ptr<McpStream> stream;
  if (spare_.empty()) {
    stream = std::make_unique<McpStream>(number, owner);
  } else {
    stream = std::move(spare_.back());
    spare_.pop_back();
    std::destroy_at(stream.get());
    std::construct_at(stream.get(), number, owner);
  }
  // Only one that is read again is not the youngest.
  const auto place = streams_.empty() || streams_.back()->number() < number
                         ? streams_.end()
                         : std::ranges::lower_bound(streams_, number, {}, number_of);
  return **streams_.insert(place, std::move(stream));
}

void McpSession::remove_stream(uint32_t number) {
  const auto place = std::ranges::lower_bound(streams_, number, {}, number_of);
  if (place == streams_.end() || (*place)->number() != number) return;
  std::unique_ptr<McpStream> stream = std::move(*place);
  streams_.erase(place);
  if (spare_.size() == kMaxSpareStreams) return;
  stream->forget_answers();
  spare_.push_back(std::move(stream));
}

McpStream* McpSession::find_stream(uint32_t number) {
  const auto place = std::ranges::lower_bound(streams_, number, {}, number_of);
  return place == streams_.end() || (*place)->number() != number ? nullptr : place->get();
}

McpStream* McpSession::stream_of(session::Tag tag) {
  return kind_ == Kind::sse ? &listening_ : find_stream(static_cast<uint32_t>(tag >> 32));
}

McpStream& McpSession::stream_for(std::optional<session::Tag> call) {
  if (call) {
    if (McpStream* stream = stream_of(*call); stream != nullptr) return *stream;
  }
  McpStream* youngest = nullptr;
  size_t heard = 0;
  for (const auto& stream : streams_) {
    if (!stream->has_sink()) continue;
    youngest = stream.get();
    ++heard;
  }
  if (heard == 1 || (heard > 1 && !listening_.has_sink())) return *youngest;
  return listening_;
}

// A client opens its stream only after its first requests. Earlier messages wait in the log.
bool McpSession::awaits_requests() {
  if (listening_.has_sink()) return true;
  for (const auto& stream : streams_) {
    if (stream->has_sink()) return true;
  }
  if (kind_ == Kind::sse || has_listened_ || stopped_waiting_ ||
      services_.timeouts.first_stream == Duration::zero()) {
    return false;
  }
  if (!first_stream_timer_.armed()) {
    first_stream_timer_.arm(services_.clock.now() + services_.timeouts.first_stream);
  }
  return true;
}

void McpSession::stop_waiting() {
  if (has_listened_) return;
  stopped_waiting_ = true;
  services_.backend.give_up_asks(session_.id());
}

session::ClientHold McpSession::hold() const {
  if (kind_ == Kind::sse) return session::ClientHold::connection;
  return listening_.has_sink() ? session::ClientHold::stream : session::ClientHold::nothing;
}

void McpSession::on_reply(session::Tag tag, const session::Reply& reply) {
  if (initialize_ == tag) note_initialized(reply);
  McpStream* stream = stream_of(tag);
  if (stream == nullptr) return;
  stream->answer(reply);
  settle(*stream);
}

void McpSession::on_cancelled(session::Tag tag) {
  McpStream* stream = stream_of(tag);
  if (stream == nullptr) return;
  stream->leave_out();
  settle(*stream);
}

void McpSession::on_event(session::Tag tag, std::string_view notification) {
  on_message(tag, {&notification, 1});
}

void McpSession::on_message(std::optional<session::Tag> call,
                            std::span<const std::string_view> parts) {
  McpStream& stream = stream_for(call);
  stream.write(parts);
  settle(stream);
}

// Called after each change of a stream. Holds the child if the client takes too little, and removes
// a finished stream.
void McpSession::settle(McpStream& stream) {
  const TimePoint now = services_.clock.now();
  if (held_ || stream.is_backed_up()) pressure_timer_.arm(now);
  if (!stream.finished()) return;
  used_ = now;
  if (kind_ == Kind::sse) return end_session();
  remove_stream(stream.number());
}

void McpSession::note_initialized(const session::Reply& reply) {
  initialize_.reset();
  const session::ReplyMessage message(reply);
  const rpc::Envelope& answer = message.envelope();
  if (answer.kind != rpc::MessageKind::result) return end_session();
  initialized_ = true;
  const auto version = rpc::find_member(answer.payload, "protocolVersion");
  if (!version || version->size() < 2) return;
  const auto revision = parse_mcp_revision(version->substr(1, version->size() - 2));
  if (revision) revision_ = *revision;
}

void McpSession::on_session_end(session::SessionEnd /*end*/, std::string_view /*message*/) {
  end_session();
}

void McpSession::end_session() {
  if (std::exchange(over_, true)) return;
  owner_.on_session_over(*this);
}

void McpSession::check_invariants() const {
  STDGATE_CHECK(streams_.size() <= kMaxStreams + 1);  // a stream that is over may be read again
  STDGATE_CHECK(spare_.size() <= kMaxSpareStreams);
  STDGATE_CHECK(!session_.is_none() || over_);
  STDGATE_CHECK(std::ranges::is_sorted(streams_, std::less(), number_of));
  for (const auto& stream : streams_) {
    STDGATE_CHECK(stream->number() > 0 && stream->number() <= last_stream_);
    STDGATE_CHECK(!stream->finished() && stream->due() > 0);
  }
}

// --- Time and pressure ----------------------------------------------------------------------

// Proxies close a response that is silent for long. A stream gets keep-alive comments, and can be
// resumed.
void McpSession::end_silence() {
  const TimePoint now = services_.clock.now();
  std::optional<TimePoint> next;
  for (const auto& stream : streams_) {
    if (!stream->is_quiet()) continue;
    const TimePoint due = stream->posted() + services_.timeouts.keep_alive;
    if (due <= now) {
      stream->begin();
    } else {
      next = std::min(next.value_or(due), due);
    }
  }
  if (next) silence_timer_.arm(*next);
}

// A client that takes too little blocks only its own child.
void McpSession::hold_or_release_child() {
  if (session_.is_none()) return;
  bool is_backed_up = listening_.is_backed_up();
  for (const auto& stream : streams_) is_backed_up = is_backed_up || stream->is_backed_up();
  if (std::exchange(held_, is_backed_up) != is_backed_up) {
    services_.backend.hold_child(session_.id(), is_backed_up);
  }
}

}  // namespace stdgate::mcp
