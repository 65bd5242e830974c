// McpSession: one session of an MCP client over HTTP: the client of a backend's session, and the
// streams that carry messages to it (2025-11-25, transports: Streamable HTTP).
//
// Job: hand over what the client posts, and write each message of the child to one stream. Answers,
// and messages that belong to a call, go to the stream of that call's POST. Other messages go to
// the only POST under way, else to the stream of a GET, else to the latest POST, else to the log,
// for the next GET. Owner: McpSessions. Only the principal that has opened the session may use it.
// The session stays while the backend gives it one child after another. The session ends by
// close(). When it ends from inside (its child has gone, its initialization failed), it tells the
// owner, who closes it later. Limits: kMaxStreams POSTs under way; the limits of ReplayLog.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/base/time.h"
#include "gateway/mcp/mcp_stream.h"
#include "gateway/session/sealed_texts.h"

namespace stdgate::mcp {

class McpSessions;

// Services shared by all sessions of a backend.
struct McpSessionServices {
  backend::Upstream& backend;
  session::Callers& callers;
  TimerQueue& timers;
  const Clock& clock;
  const config::LimitsConfig& limits;
  StoragePool& storages;
  // `keep_alive`: a POST that is silent for this long becomes a stream. `first_stream`: how long a
  // child's request waits for the client's first GET.
  const config::TimeoutsConfig& timeouts;
};

class McpSession final : public session::SessionSink, private McpStreamOwner {
 public:
  static constexpr size_t kMaxStreams = 256;

  // Streamable HTTP, or the transport of 2024-11-05: one stream for everything, without resumption.
  enum class Kind : uint8_t { streamable, sse };

  // The id of a session, which its client knows, and the name that logs show in its place.
  struct Id {
    std::string text;
    SessionName name;  // names the session in logs
  };
  // `expiry`: when the session is too old, even if it is in use; the owner ends it then.
  McpSession(const McpSessionServices& services, McpSessions& owner, Id id, Kind kind,
             const policy::Client& client, TimePoint expiry);

  // One of these two has to be called first. adopt(): the session has begun in another process, and
  // its id carries `carried`. `revision`: the one that the client names, if any.
  tl::expected<void, rpc::FaultReport> open(const policy::Client& client);
  tl::expected<void, rpc::FaultReport> adopt(const policy::Client& client,
                                             const session::CarriedSession& carried,
                                             std::optional<McpRevision> revision);
  // Gives up the child until the client's next message.
  session::Parking park();
  // Whether park() has succeeded, and no message has come since.
  [[nodiscard]] bool is_parked() const { return parked_; }
  // Cancels the calls, ends the streams and the child. Must not be called from within the core.
  void close();

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] Kind kind() const { return kind_; }
  // The principal that has opened the session; null: an anonymous client.
  [[nodiscard]] const policy::Principal* principal() const { return principal_.get(); }
  // The account that pays for the session; null: no account is charged.
  [[nodiscard]] const Account* account() const { return share_.account(); }
  [[nodiscard]] McpRevision revision() const override { return revision_; }
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] TimePoint expiry() const { return expiry_; }
  // Since when the session has had no request and no open stream; nothing: it has one now.
  [[nodiscard]] std::optional<TimePoint> idle_since() const;

  enum class Posted : uint8_t {
    under_way,   // the sink has been, or will be, answered
    taken,       // there is nothing to answer
    overloaded,  // no message was taken
  };
  // `context` needs neither caller nor session nor tag.
  Posted post(const rpc::Document& document, call::CallContext context, session::EventSink& sink);

  // Makes this the stream of a GET; the stream of an earlier GET is ended.
  void listen(session::EventSink& sink);
  // Writes an event of the transport's own to the stream of the GET.
  void announce(std::string_view event_name, std::string_view data);
  enum class Resumed : uint8_t {
    yes,
    over,  // the stream has ended, and nothing followed the event
    unknown_event,
    event_lost,
  };
  // Continues the stream of that event after the event. The sink is used only if the result is
  // `yes`.
  Resumed resume(session::EventSink& sink, std::string_view event_id);
  // The client of this response has gone. This cancels no calls, because a stream may be resumed.
  // But a session ends if its client has not been told its id.
  void detach(session::EventSink& sink);
  // The client has taken what was unsent.
  void on_sink_writable() { hold_or_release_child(); }
  // Drops the events that are kept for a client that comes back.
  void drop_replay() { events_.log.drop(); }
  [[nodiscard]] size_t replay_bytes() const { return events_.log.bytes(); }
  // Ends the process if an invariant is broken. Must not be called from within the core.
  void check_invariants() const;
  // The gateway shuts down: streams end as soon as their calls have been answered.
  void end_listening();

 private:
  static constexpr size_t kMaxSpareStreams = 4;

  // McpStreamOwner. The transport of 2024-11-05 has no resumption.
  [[nodiscard]] std::string_view event_name() const override {
    return kind_ == Kind::sse ? "message" : "";
  }
  [[nodiscard]] McpEventLog* events() override { return kind_ == Kind::sse ? nullptr : &events_; }
  // SessionSink
  void on_reply(session::Tag tag, const session::Reply& reply) override;
  void on_event(session::Tag tag, std::string_view notification) override;
  void on_cancelled(session::Tag tag) override;
  void on_message(std::optional<session::Tag> call,
                  std::span<const std::string_view> parts) override;
  [[nodiscard]] bool awaits_requests() override;
  [[nodiscard]] session::ClientHold hold() const override;
  [[nodiscard]] SessionName name() const override { return name_; }
  void set_reading(bool reading) override { reading_ = reading; }
  void on_session_end(session::SessionEnd end, std::string_view message) override;

  // False: no message has been taken.
  bool hand_over(const rpc::Document& document, const call::CallContext& context,
                 McpStream* stream);
  McpStream& add_stream(uint32_t number);
  void remove_stream(uint32_t number);
  McpStream* stream_of(session::Tag tag);
  // Null: the POST with this number is not under way.
  McpStream* find_stream(uint32_t number);
  McpStream& stream_for(std::optional<session::Tag> call);
  void settle(McpStream& stream);
  void note_initialized(const session::Reply& reply);
  void end_session();
  void end_silence();
  void stop_waiting();
  void hold_or_release_child();
  [[nodiscard]] bool is_of_another_process(std::string_view event_id) const;

  const McpSessionServices& services_;
  McpSessions& owner_;
  const std::string id_;
  const SessionName name_;
  const Kind kind_;
  const policy::PrincipalRef principal_;
  Share share_;  // of the session itself
  backend::OpenSession session_;
  McpEventLog events_;
  McpRevision revision_ = McpRevision::v2025_03_26;
  McpStream listening_;                              // stream 0
  std::vector<std::unique_ptr<McpStream>> streams_;  // POSTs under way, in the order of numbers
  std::vector<std::unique_ptr<McpStream>> spare_;    // memory of ended ones, for the next ones
  uint32_t last_stream_ = 0;
  std::optional<session::Tag> initialize_;  // the call of `initialize`, while it is under way
  bool initialized_ = false;
  const TimePoint expiry_;
  TimePoint used_;
  Timer silence_timer_;       // a POST may have been silent for long enough
  Timer pressure_timer_;      // the child may have to be held
  Timer first_stream_timer_;  // the client has not opened a stream for the child's requests
  bool adopted_ = false;
  bool parked_ = false;
  bool has_listened_ = false;     // the client has opened a GET stream
  bool stopped_waiting_ = false;  // the wait for that stream is over
  bool reading_ = true;           // the core takes messages
  bool held_ = false;             // the child is held
  bool over_ = false;
};

}  // namespace stdgate::mcp
