// AcpConnection: one connection of an ACP client: a session of the backend, and what carries it: a
// WebSocket, or the streams of Streamable HTTP (RFD: Streamable HTTP and WebSocket transport).
//
// Job: pass on the messages that the client posts; bring each message of the agent to its stream;
// keep messages while no stream is open for them. A WebSocket is one stream for everything, and
// passes on its client's messages itself. Over HTTP, a message of the agent that names a session,
// or answers a call that names one, goes to the stream of that session. All other messages go to
// the stream of the connection, and so do answers that create or load a session. For clients that
// open no streams for their sessions, the stream of the connection carries these too (the RFD's
// text of April 2026). A request of the agent is sent again to a client that comes back, until it
// has been answered. An answer that could not be kept for the client becomes an error. Only the
// principal that has opened the connection may use it. Ends by close(); when it ends from inside,
// it tells the owner, who closes it later. Owner: AcpConnections. Limits: kMaxSessions,
// kMaxSessionId, kMaxCalls, and the limits of ReplayLog.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "gateway/acp/answers.h"
#include "gateway/backend/upstream.h"
#include "gateway/base/time.h"
#include "gateway/session/replay_log.h"
#include "gateway/session/sinks.h"

namespace stdgate::acp {

class AcpConnections;

// The services that all connections of a backend share.
struct AcpServices {
  backend::Upstream& backend;
  session::Callers& callers;
  TimerQueue& timers;
  const Clock& clock;
  const config::LimitsConfig& limits;
  StoragePool& storages;
  Duration linger;
};

class AcpConnection final : public session::SessionSink {
 public:
  static constexpr size_t kMaxSessions = 256;    // of ACP, whose streams are known
  static constexpr size_t kMaxSessionId = 1024;  // bytes; of a longer one no stream is known
  static constexpr size_t kMaxCalls = 1024;      // posted, and their answers not told
  // So long after its first message of a session a client may still open that session's stream.
  static constexpr Duration kStreamPatience = std::chrono::seconds(1);

  enum class Kind : uint8_t { http, websocket };

  // The id of a connection, which its client knows, and the name that logs show in its place.
  struct Id {
    std::string text;
    SessionName name;  // of it
  };
  AcpConnection(const AcpServices& services, AcpConnections& owner, Id id, Kind kind,
                const policy::Client& client);

  // To be called first.
  tl::expected<void, rpc::FaultReport> open(const policy::Client& client) {
    return session_.open(*this, client);
  }
  // Cancels the calls, ends the streams and the agent. Not from inside of a call of the core.
  void close();

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] Kind kind() const { return kind_; }
  // The principal that opened the connection; null: anonymous.
  [[nodiscard]] const policy::Principal* principal() const { return principal_.get(); }
  [[nodiscard]] const Account* account() const { return share_.account(); }
  [[nodiscard]] bool is_over() const { return over_; }
  // Since when nothing has carried it; nothing while something does.
  [[nodiscard]] std::optional<TimePoint> alone_since() const;

  // --- A WebSocket: see AcpConnections
  struct Kept {
    session::SessionId session;
    session::Caller caller;  // of its calls
  };
  Kept attach(session::SessionSink& socket);
  void replay(session::SessionSink& socket);
  // The client has answered this request of the agent (a raw id).
  void note_answer(std::string_view request);
  // False: it has been replaced, or never was there.
  bool detach(session::SessionSink& socket);

  // --- HTTP
  enum class Posted : uint8_t {
    under_way,  // `initialize`: the sink has been, or will be, answered
    taken,
    overloaded,
    lacks_session,  // the message is of a session, and no session was named beside it
    other_session,  // another one was
  };
  // `session`: that the head names; empty: none. `context` needs neither caller nor session nor
  // tag. `sink`: for the answer to `initialize`.
  Posted post(const rpc::Envelope& message, std::string_view session, call::CallContext context,
              session::EventSink& sink);
  // Whether a stream of this session may be opened: the session is known, or its client may be
  // about to load it.
  [[nodiscard]] bool has_session(std::string_view session) const;
  // The stream of a session, or of the connection (empty), which is written to `sink` from now on,
  // in the place of a former one. `after`: the number of the last event that the client has got;
  // nothing: it does not say.
  void listen(session::EventSink& sink, std::string_view session, std::optional<uint64_t> after);
  // The client of this response has gone.
  void detach(session::EventSink& sink);
  // The client has taken what was unsent.
  void on_sink_writable() { hold_or_release_child(); }

  // The gateway is shutting down: streams end, unless answers are due.
  void end_listening();
  [[nodiscard]] bool has_calls() const { return !calls_.empty(); }
  void drop_replay() { log_.drop(); }
  [[nodiscard]] size_t replay_bytes() const { return log_.bytes(); }
  // Ends the process if an invariant is broken. Not from inside of a call of the core.
  void check_invariants() const;

 private:
  struct Stream {
    uint32_t number = 0;  // 0: that of the connection, which may carry a session
    session::EventSink* sink = nullptr;
    uint64_t delivered = 0;                 // the last event that was written to a sink
    bool was_opened = false;                // by a client
    std::optional<TimePoint> awaited = {};  // since when its client speaks in its session
  };
  struct Call {
    uint32_t stream = 0;
    bool initializes = false;
    bool creates_session = false;
  };
  // A request of the agent that has not been answered.
  struct Ask {
    uint64_t number = 0;  // of its event; 0: it was told to a WebSocket at once
    uint32_t stream = 0;
    std::string text;
  };
  using Streams = std::map<std::string, Stream, std::less<>>;

  // SessionSink
  void on_reply(session::Tag tag, const session::Reply& reply) override;
  void on_event(session::Tag tag, std::string_view notification) override;
  void on_cancelled(session::Tag tag) override { calls_.erase(tag); }
  void on_message(std::optional<session::Tag> call,
                  std::span<const std::string_view> parts) override;
  [[nodiscard]] session::ClientHold hold() const override;
  [[nodiscard]] SessionName name() const override { return name_; }
  void set_reading(bool reading) override;
  void on_session_end(session::SessionEnd end, std::string_view message) override;

  std::optional<Posted> check_session(const rpc::Envelope& message, std::string_view named,
                                      std::string& session) const;
  void keep_ask(std::string_view id, Ask ask);
  void take_back(std::string_view id, std::optional<session::Tag> call, const std::string& text);
  Stream* add_session(std::string session);
  [[nodiscard]] Stream* find_stream(uint32_t number);
  [[nodiscard]] Stream& carrier(Stream& stream) { return stream.number == 0 ? stream_ : stream; }
  void await_stream(Stream& stream);
  void stop_waiting();
  void carry(Stream& stream);
  void answer_initialize(const session::Reply& reply);
  void tell(Stream& stream, std::string_view text, std::string_view asked);
  void tell_answer(Stream& stream, std::string_view text);
  void write(Stream& stream, uint64_t number, std::string_view text);
  void tell_again(Stream& stream, std::optional<uint64_t> after);
  void end_streams();
  void hold_or_release_child();
  void charge();

  const AcpServices& services_;
  AcpConnections& owner_;
  const std::string id_;
  const SessionName name_;
  const Kind kind_;
  const policy::PrincipalRef principal_;
  Share share_;
  backend::OpenSession session_;
  session::ReplayLog log_;
  session::SessionSink* socket_ = nullptr;
  bool is_told_ = false;  // the socket has been told what it missed
  Stream stream_;         // of the connection, and of everything on a WebSocket
  Streams sessions_;
  uint32_t last_stream_ = 0;
  std::map<session::Tag, Call> calls_;
  session::Tag last_tag_ = 0;
  std::map<std::string, Ask, std::less<>> asks_;  // by their raw ids
  std::set<uint64_t> answered_;                   // events of asks that are over
  Answers answers_{kMaxCalls};
  size_t ask_bytes_ = 0;
  size_t id_bytes_ = 0;                       // of sessions
  session::EventSink* initialize_ = nullptr;  // where its answer goes
  bool may_load_ = false;                     // the agent loads or resumes sessions
  TimePoint used_;
  Timer stream_timer_;    // a client may have opened no stream for a session
  Timer pressure_timer_;  // the agent may have to be held
  bool reading_ = true;   // the core takes messages
  bool held_ = false;     // the agent is
  bool over_ = false;
};

}  // namespace stdgate::acp
