// Conversation, the process that a tool speaks with, the messages that it sees, and CommandStage,
// on which it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/app/dialects.h"
#include "gateway/base/log.h"
#include "gateway/config/config.h"
#include "gateway/pool/child_link.h"
#include "gateway/pool/dialect.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/framer.h"
#include "gateway/tools/tool.h"
#include "transports/net/loop.h"
#include "transports/stdio/child_process.h"
#include "transports/stdio/guard_process.h"
#include "transports/stdio/orphan_reaper.h"

namespace stdgate::tools {

// SplitMessage: finds a message that a server has written over several lines, as a printer for
// people lays JSON out.
//
// Job: be given the lines of stdout in their order, and tell when some of them are one JSON text
// together. Owner: a Conversation. Limits: kMaxSize bytes; what is longer is not found.
class SplitMessage {
 public:
  static constexpr size_t kMaxSize = 1 << 20;

  // True: with this line a text is whole that began in an earlier one.
  bool take(std::string_view line);
  // A text has begun, and this line was its first.
  [[nodiscard]] bool has_begun() const { return lines_ == 1; }
  // The text, with its line breaks; until the next take().
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void count_brackets(std::string_view line);
  void clear();

  std::string text_;
  size_t lines_ = 0;
  size_t depth_ = 0;
};

struct ConversationServices {
  net::Loop& loop;
  pool::ChildLauncher& launcher;
  const pool::LaunchSpec& launch;
  const pool::Dialect& dialect;
  const config::LimitsConfig& limits;
  // Processes that commands have left behind when they exited, since the beginning.
  std::function<uint64_t()> left_behind;
  // The members of _meta for requests to a server without sessions; empty for other servers.
  std::string stamp{};
  config::EnvelopeForm envelope = config::EnvelopeForm::strict;
};

// An answer of the child, whole and by its parts.
struct Answer {
  std::string text;
  bool is_error = false;
  std::string payload;  // raw JSON of result or error
  Duration took{0};

  static Answer of(const rpc::Envelope& envelope);
  // The answer as a Dialect reads it, with views of this object.
  [[nodiscard]] rpc::Envelope envelope() const;
};

// The behaviour of the child so far.
struct Observations {
  static constexpr size_t kMaxKept = 5;
  static constexpr size_t kMaxShown = 300;

  int pid = 0;  // 0: never ran
  std::optional<Duration> first_output;
  std::vector<std::string> noise;  // lines on stdout that are no JSON
  size_t noise_lines = 0;
  std::vector<std::string> split;  // the first lines of a message that has several
  bool has_byte_order_mark = false;
  std::vector<std::string> broken;     // JSON that is no JSON-RPC: why, and the text
  std::vector<std::string> other_ids;  // of answers to nothing that was asked, raw
  std::vector<size_t> oversized;       // messages over limits.message, in bytes
  size_t largest = 0;                  // bytes of the largest message
  size_t late = 0;                     // answers that came after their time was up
  std::optional<Answer> late_answer;   // the first of these; `took` is from the start on
  size_t after_end = 0;                // of these, at once when the input was closed
  bool has_length_headers = false;     // though lines are expected
  bool lacks_length_headers = false;   // though they are expected
  bool breaks_headers = false;         // it writes something else than headers there
  bool lacks_line_end = false;         // of a message, while an answer was waited for
  bool echoes = false;                 // it has sent back what it was sent
  std::vector<std::string> asked;      // methods of its own requests
  size_t notifications = 0;
  std::string beginning;  // of stdout, as it came
  // Set when it has gone; `ended_after` is from end() on, if that was called before.
  std::optional<pool::ExitStatus> exit;
  std::optional<Duration> ended_after;
  uint64_t left_behind = 0;             // processes that it had started and that did not end
  bool exited_by_itself = false;        // before end()
  std::vector<std::string> last_words;  // of stderr
  std::vector<std::string> last_words_before_end;  // before end()
};

// Conversation: one process of a command, started as the gateway starts its children, and spoken
// with one request at a time.
//
// Job: run the loop until what was asked for has happened or its time is up, and note whatever is
// not as it should be. Requests of the child are answered as the gateway answers them itself.
// Owner: a tool. The services outlive it; its destructor ends the process and everything that the
// process has started. Limits: limits.message for a message; kMaxKept of each kind of note,
// kMaxShown bytes of a foreign line.
class Conversation final : private pool::ChildEvents, private rpc::FrameSink {
 public:
  // After a wrong answer, or one in another framing, there is so much time left for a right one.
  static constexpr Duration kSecondThoughts = std::chrono::milliseconds(500);

  // An answer within this time after the end of the input had been made before, and kept.
  static constexpr Duration kFlushTime = std::chrono::seconds(1);

  Conversation(const ConversationServices& services, rpc::Framing framing);
  ~Conversation() override;
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // Waits until the command runs, and gives the time that it took; nothing: see seen().exit.
  std::optional<Duration> start(Duration timeout);
  // The id of the next request.
  rpc::WireId next_id() { return ++last_id_; }
  // Sends a request with that id. Nothing: no answer came that could be used.
  std::optional<Answer> ask(rpc::WireId id, std::string_view request, Duration timeout);
  void say(std::string_view message) { write(message); }
  // Closes its input, and ends it by signals when it does not exit within `grace`, twice. Returns
  // when it has gone.
  void end(Duration grace);

  [[nodiscard]] const Observations& seen() const { return seen_; }
  // Whether its answers could still come.
  [[nodiscard]] bool is_open() const { return is_running_ && !output_ended_; }

 private:
  // ChildEvents
  void on_started(int pid) override;
  void on_output(std::span<char> bytes) override;
  void on_output_end() override;
  void on_writable() override {}
  void on_exit(const pool::ExitStatus& status) override;
  // FrameSink
  void on_frame(std::span<char> message) override;
  void on_oversized_frame(const rpc::OversizedFrame& frame) override;
  void on_broken_framing(const char* reason) override;

  void take_line(std::span<char> line);
  void take_text(std::span<char> text);
  bool note_split();
  void handle(const rpc::ParsedMessage& message);
  void take_answer(const rpc::Envelope& answer);
  [[nodiscard]] bool is_echo(const rpc::Envelope& request) const;
  void reply(const rpc::Envelope& request);
  void write(std::string_view message);
  void note_text();
  void note_doubt();
  // False: the time was up.
  template <class Condition>
  bool wait(TimePoint deadline, Condition&& holds);
  [[nodiscard]] TimePoint now();

  const ConversationServices services_;
  const rpc::Framing framing_;
  const std::unique_ptr<rpc::Framer> framer_;
  rpc::EnvelopeParser parser_;
  SplitMessage split_;
  // Notes made before the text in split_ began; the lines of that text are no messages.
  size_t noise_before_ = 0;
  size_t broken_before_ = 0;
  Observations seen_;
  rpc::WireId last_id_ = 0;
  std::optional<rpc::WireId> waiting_for_;
  std::string request_;  // that was sent last
  std::set<rpc::WireId> given_up_;
  std::optional<Answer> answer_;
  std::optional<TimePoint> doubted_at_;  // something wrong came while an answer was awaited
  const uint64_t left_before_;
  TimePoint started_at_{};
  TimePoint end_asked_at_{};
  bool is_running_ = false;
  char line_begins_ = '\0';  // of its last line, which has no end yet; 0: no character
  bool output_ended_ = false;
  bool is_ending_ = false;
  std::unique_ptr<pool::ChildLink> link_;
};

// CommandStage: what it takes to run a command as the gateway would: loop, guard, launcher, the
// configuration and dialect of its backend.
//
// Owner: a tool; the conversations on it end before it does. Limit: one for each process of a
// program, as the reaper belongs to the whole process.
class CommandStage {
 public:
  // `backend`: an entry of `config`. `client_name` is what servers are told, and log. The error
  // says what is missing.
  static tl::expected<std::unique_ptr<CommandStage>, std::string> open(
      const config::Config& config, const config::BackendConfig& backend,
      const ToolSurroundings& surroundings, std::string client_name = "stdgate");

  [[nodiscard]] net::Loop& loop() { return loop_; }
  [[nodiscard]] const config::BackendConfig& backend() const { return backend_; }
  // The processes that a command has started may end by themselves after it, within this time.
  void set_linger(Duration time) { launch_.linger = time; }
  [[nodiscard]] ConversationServices services() {
    return {loop_,     processes_,       launch_,
            *dialect_, limits_,          [this] { return processes_.left_behind(); },
            stamp_,    backend_.envelope};
  }

 private:
  // The stderr of children is read from their links.
  class NoLog final : public Log {
   public:
    [[nodiscard]] bool enabled(LogLevel /*level*/) const override { return false; }
    void write(LogLevel /*level*/, std::string_view /*event*/,
               std::initializer_list<LogField> /*fields*/) override {}
  };

  CommandStage(stdio::GuardBinary guard, const config::Config& config,
               const config::BackendConfig& backend, const ToolSurroundings& surroundings,
               const app::GatewayIdentity& identity);

  const stdio::GuardBinary guard_;
  const config::BackendConfig backend_;
  const config::LimitsConfig limits_;
  pool::LaunchSpec launch_;
  const std::unique_ptr<pool::Dialect> dialect_;
  const std::string stamp_;  // see ConversationServices
  NoLog log_;
  stdio::OrphanReaper orphans_;
  net::Loop loop_;
  stdio::ChildProcesses processes_;
};

}  // namespace stdgate::tools
