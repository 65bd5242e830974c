// McpSession: one session of an MCP client over HTTP: the client of a backend's session, and the
// streams on which it hears (2025-11-25, transports: Streamable HTTP).
//
// Job: hand over what the client posts, and bring each message of the child onto one stream:
// answers and what belongs to a call to the stream of its POST; the rest to the only POST under
// way, else to the stream of a GET, else to the youngest POST, else to the log, for the GET to
// come. Owner: McpSessions. Ends by close(); what ends it from inside (its child has gone, its
// initialization failed) is only told to the owner, who closes it later. Limits: kMostStreams posts
// under way; the log's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/timers.h"
#include "gateway/mcp/mcp_stream.h"
#include "gateway/pool/backend.h"

namespace stdgate {

class McpSession;

class McpSessionOwner {
 public:
  virtual ~McpSessionOwner() = default;
  // The session is over. Told from inside of it: it must not be closed here.
  virtual void on_session_over(McpSession& session) = 0;
};

// What all sessions of a backend have in common.
struct McpSessionServices {
  Backend& backend;
  Origins& origins;
  TimerQueue& timers;
  const Clock& clock;
  const LimitsConfig& limits;
  Duration patience{0};  // after which a silent POST becomes a stream, so that it is kept alive
};

class McpSession final : public SessionSink {
 public:
  static constexpr size_t kMostStreams = 256;

  // Streamable HTTP, or the transport of 2024-11-05: one stream for everything, no resumption.
  enum class Kind : uint8_t { streamable, sse };

  McpSession(const McpSessionServices& services, McpSessionOwner& owner, std::string id, Kind kind);

  // To be called first.
  tl::expected<void, FaultReport> open();
  // Cancels the calls, ends the streams and the child. Not from inside of a call of the core.
  void close();

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] McpRevision revision() const { return facts_.revision; }
  [[nodiscard]] bool is_over() const { return over_; }
  // Since when nothing has come and nobody has listened; nothing while somebody does.
  [[nodiscard]] std::optional<TimePoint> idle_since() const;

  enum class Posted : uint8_t {
    under_way,   // the sink has been, or will be, answered
    taken,       // nothing to answer
    overloaded,  // nothing was taken
  };
  // `context` needs neither origin nor session nor tag.
  Posted post(const Document& document, CallContext context, EventSink& sink);

  // The stream of a GET; it ends the one of an earlier GET.
  void listen(EventSink& sink);
  // Writes an event of the transport's own to that stream.
  void announce(std::string_view event_name, std::string_view data);
  enum class Resumed : uint8_t {
    yes,
    over,  // the stream has ended, and nothing followed the event
    unknown_event,
    event_lost,
  };
  // Goes on with the stream of that event, after it. Only if `yes` is the sink used.
  Resumed resume(EventSink& sink, std::string_view event_id);
  // The client of this response has gone. That is no cancel; a stream may be resumed.
  void detach(EventSink& sink);
  // The client has taken what was unsent.
  void on_sink_writable() { relieve(); }
  // The gateway is shutting down: nothing is waited for but answers.
  void end_listening();

 private:
  using Streams = std::map<uint32_t, McpStream>;  // POSTs under way, by number
  static constexpr size_t kSpareStreams = 4;

  // SessionSink
  void on_reply(Tag tag, const Reply& reply) override;
  void on_event(Tag tag, std::string_view notification) override;
  void on_cancelled(Tag tag) override;
  void on_message(std::optional<Tag> call, std::span<const std::string_view> parts) override;
  [[nodiscard]] bool listens() const override;
  void set_reading(bool reading) override { reading_ = reading; }
  void on_session_end(SessionEnd end, std::string_view message) override;

  // False: nothing has been taken.
  bool hand_over(const Document& document, CallContext& context, McpStream* stream);
  McpStream& add_stream(uint32_t number);
  void remove_stream(uint32_t number);
  McpStream* stream_of(Tag tag);
  McpStream& stream_for(std::optional<Tag> call);
  void settle(McpStream& stream);
  void note_initialized(const Reply& reply);
  void end_session();
  void end_silence();
  void relieve();

  const McpSessionServices& services_;
  McpSessionOwner& owner_;
  const std::string id_;
  const Kind kind_;
  Origin origin_;
  SessionId session_;
  McpStreamFacts facts_;
  McpStream listening_;  // stream 0
  Streams streams_;
  std::vector<Streams::node_type> spare_;  // memory of those that are over, for the next ones
  uint32_t last_stream_ = 0;
  std::optional<Tag> initialize_;  // the call under way
  bool initialized_ = false;
  TimePoint used_{};
  Timer silence_timer_;   // some POST may have been silent for long enough
  Timer pressure_timer_;  // the child may have to be held
  bool reading_ = true;   // the core takes messages
  bool held_ = false;     // the child is
  bool over_ = false;
};

}  // namespace stdgate
