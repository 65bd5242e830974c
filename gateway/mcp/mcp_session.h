// McpSession: one session of an MCP client over HTTP: the client of a backend's session, and the
// streams on which it hears (2025-11-25, transports: Streamable HTTP).
//
// Job: hand over what the client posts, and write each message of the child to one stream. Answers,
// and what belongs to a call, go to the stream of its POST; the rest to the only POST under way,
// else to the stream of a GET, else to the youngest POST, else to the log, for the next GET. Owner:
// McpSessions. Only the principal that has opened it may use it. The session stays while the child
// that serves it comes and goes, which is the backend's business. Ends by close(). When it ends
// from inside (its child has gone, its initialization failed), it tells the owner, who closes it
// later. Limits: kMaxStreams POSTs under way; those of ReplayLog.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/base/timers.h"
#include "gateway/mcp/mcp_stream.h"
#include "gateway/session/session_ids.h"

namespace stdgate::mcp {

class McpSession;

class McpSessionOwner {
 public:
  virtual ~McpSessionOwner() = default;
  // The session is over. Told from inside of it: it must not be closed here.
  virtual void on_session_over(McpSession& session) = 0;
};

// What all sessions of a backend have in common.
struct McpSessionServices {
  backend::Upstream& backend;
  session::Callers& callers;
  TimerQueue& timers;
  const Clock& clock;
  const config::LimitsConfig& limits;
  StoragePool& storages;
  // `keep_alive`: a POST that is silent so long becomes a stream. `first_stream`: so long a child's
  // request waits for the client's first GET.
  const config::TimeoutsConfig& timeouts;
};

class McpSession final : public session::SessionSink, private McpStreamOwner {
 public:
  static constexpr size_t kMaxStreams = 256;

  // Streamable HTTP, or the transport of 2024-11-05: one stream for everything, no resumption.
  enum class Kind : uint8_t { streamable, sse };

  struct Id {
    std::string text;
    SessionName name;  // of it
  };
  // `expiry`: when it is too old, whatever it does; the owner's business.
  McpSession(const McpSessionServices& services, McpSessionOwner& owner, Id id, Kind kind,
             const policy::Client& client, TimePoint expiry);

  // One of these is to be called first. adopt(): the session has begun in another process, as its
  // id says; `revision`: that its client speaks, nothing if it does not say.
  tl::expected<void, rpc::FaultReport> open(const policy::Client& client);
  tl::expected<void, rpc::FaultReport> adopt(const policy::Client& client,
                                             const session::CarriedSession& carried,
                                             std::optional<McpRevision> revision);
  // Does without a child until the client's next message.
  session::Parking park();
  // By park(), and nothing has come since.
  [[nodiscard]] bool is_parked() const { return parked_; }
  // Cancels the calls, ends the streams and the child. Not from inside of a call of the core.
  void close();

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] Kind kind() const { return kind_; }
  // Who has opened it; null: nobody is known.
  [[nodiscard]] const policy::Principal* principal() const { return principal_.get(); }
  // Who pays for it; null: nothing is charged.
  [[nodiscard]] const Account* account() const { return share_.account(); }
  [[nodiscard]] McpRevision revision() const override { return revision_; }
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] TimePoint expiry() const { return expiry_; }
  // Since when there has been no request and no open stream; nothing while there is one.
  [[nodiscard]] std::optional<TimePoint> idle_since() const;

  enum class Posted : uint8_t {
    under_way,   // the sink has been, or will be, answered
    taken,       // nothing to answer
    overloaded,  // nothing was taken
  };
  // `context` needs neither caller nor session nor tag.
  Posted post(const rpc::Document& document, call::CallContext context, session::EventSink& sink);

  // The stream of a GET; it ends the one of an earlier GET.
  void listen(session::EventSink& sink);
  // Writes an event of the transport's own to that stream.
  void announce(std::string_view event_name, std::string_view data);
  enum class Resumed : uint8_t {
    yes,
    over,  // the stream has ended, and nothing followed the event
    unknown_event,
    event_lost,
  };
  // Goes on with the stream of that event, after it. Only if `yes` is the sink used.
  Resumed resume(session::EventSink& sink, std::string_view event_id);
  // The client of this response has gone. That cancels nothing, as a stream may be resumed; but a
  // session whose id its client has not been told is over.
  void detach(session::EventSink& sink);
  // The client has taken what was unsent.
  void on_sink_writable() { hold_or_release_child(); }
  // Lets go of what is kept for a client that comes back.
  void drop_replay() { events_.log.drop(); }
  [[nodiscard]] size_t replay_bytes() const { return events_.log.bytes(); }
  // Ends the process if an invariant is broken. Not from inside of a call of the core.
  void check_invariants() const;
  // The gateway is shutting down: streams end as soon as their calls have been answered.
  void end_listening();

 private:
  using Streams = std::map<uint32_t, McpStream>;  // POSTs under way, by number
  static constexpr size_t kMaxSpareStreams = 4;

  // McpStreamOwner. The transport of 2024-11-05 knows no resumption.
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

  // False: nothing has been taken.
  bool hand_over(const rpc::Document& document, const call::CallContext& context,
                 McpStream* stream);
  McpStream& add_stream(uint32_t number);
  void remove_stream(uint32_t number);
  McpStream* stream_of(session::Tag tag);
  McpStream& stream_for(std::optional<session::Tag> call);
  void settle(McpStream& stream);
  void note_initialized(const session::Reply& reply);
  void end_session();
  void end_silence();
  void stop_waiting();
  void hold_or_release_child();
  [[nodiscard]] bool is_of_another_process(std::string_view event_id) const;

  const McpSessionServices& services_;
  McpSessionOwner& owner_;
  const std::string id_;
  const SessionName name_;
  const Kind kind_;
  const policy::PrincipalRef principal_;
  Share share_;  // of the session itself
  session::CallerSlot caller_;
  session::SessionId session_;
  McpEventLog events_;
  McpRevision revision_ = McpRevision::v2025_03_26;
  McpStream listening_;  // stream 0
  Streams streams_;
  std::vector<Streams::node_type> spare_;  // memory of those that are over, for the next ones
  uint32_t last_stream_ = 0;
  std::optional<session::Tag> initialize_;  // the call under way
  bool initialized_ = false;
  const TimePoint expiry_;
  TimePoint used_;
  Timer silence_timer_;       // some POST may have been silent for long enough
  Timer pressure_timer_;      // the child may have to be held
  Timer first_stream_timer_;  // the client has not opened a stream to be asked something
  bool adopted_ = false;
  bool parked_ = false;
  bool has_listened_ = false;     // the client has opened a GET stream
  bool stopped_waiting_ = false;  // for that
  bool reading_ = true;           // the core takes messages
  bool held_ = false;             // the child is
  bool over_ = false;
};

}  // namespace stdgate::mcp
