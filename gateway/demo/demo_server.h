// The JSON-RPC server of `stdgate demo-server`: something to put behind the gateway that needs
// nothing installed. One message a line, on stdin and stdout (JSON-RPC 2.0).
//
// DemoServer does no I/O and reads no clock: bytes and the time go in, bytes come out. Calls that
// take time (sleep, stream) do not hold up others. run_demo_server() is the loop around it for a
// process of its own; it blocks.
// Limits: kMaxMessage bytes a message, kMaxTimed calls and subscriptions that wait for their time,
// kMaxAsked calls that wait for an answer of the client.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/demo/demo_arithmetic.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/framer.h"

namespace stdgate::demo {

class DemoServer final : private rpc::FrameSink {
 public:
  static constexpr size_t kMaxMessage = 64 << 20;
  static constexpr size_t kMaxTimed = 1000;
  static constexpr size_t kMaxAsked = 1000;

  DemoServer();

  // Handles every message that `bytes` completes. The bytes may be changed.
  void feed(std::span<char> bytes, TimePoint now);
  // The input has ended: a last line without its end is handled too.
  void finish(TimePoint now);
  // Does what is due at `now`, once for each call and subscription.
  void run_due(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  // The output, in complete lines.
  [[nodiscard]] std::string_view output() const { return output_; }
  void clear_output();

 private:
  // The answers of a batch, collected until the last of its calls is done.
  struct Batch {
    std::string answers;
    size_t open = 1;  // calls not answered yet, and one while the batch is being read
  };
  struct Call {
    std::string_view id;  // raw; empty for notifications
    std::string_view params;
    std::shared_ptr<Batch> batch;  // null outside of a batch
  };
  struct Method {
    std::string_view name;
    std::string_view description;
    void (DemoServer::*run)(const Call&);
  };
  // A call or subscription that waits for its time.
  struct Timed {
    enum class Kind : uint8_t { sleep, stream, add_stream, tick };
    Kind kind = Kind::sleep;
    Duration interval{0};
    int64_t goal = 0;  // sleep: milliseconds; streams: steps; tick: the subscription's number
    int64_t step = 0;
    std::string token{};              // of the progress; raw, empty: none
    std::vector<std::string> sums{};  // add_stream: as JSON, one for each step
    std::string id{};                 // empty for ticks and notifications
    std::shared_ptr<Batch> batch{};
  };
  using Schedule = std::multimap<TimePoint, Timed>;
  // A call that is answered with what the client answers.
  struct Asked {
    std::string id;
    std::shared_ptr<Batch> batch;
  };

  static const std::span<const Method> kMethods;

  void on_frame(std::span<char> message) override;
  void on_oversized_frame(const rpc::OversizedFrame& frame) override;
  void on_broken_framing(const char* reason) override;
  void handle(const rpc::ParsedMessage& message, const std::shared_ptr<Batch>& batch);

  void calculate_for(const Call& call, Arithmetic operation);
  void add(const Call& call);
  void subtract(const Call& call);
  void multiply(const Call& call);
  void echo(const Call& call);
  void fail(const Call& call);
  void sleep(const Call& call);
  void stream(const Call& call);
  void add_stream(const Call& call);
  void ask(const Call& call);
  void take_answer(const rpc::Envelope& answer);
  void subscribe(const Call& call);
  void unsubscribe(const Call& call);
  void cancel(const Call& call);
  template <class Calls>
  bool cancel_in(Calls& waiting, std::string_view id);
  void list_methods(const Call& call);

  // Its first step comes after its interval. False: refused.
  bool schedule(const Call& call, Timed timed);
  bool advance(Timed& timed);
  void report_progress(const Timed& timed);

  void answer(const Call& call, std::string_view result);
  void answer_error(const Call& call, int code, std::string_view message,
                    std::string_view data = {});
  std::string& begin_answer(const Call& call);
  void end_answer(const Call& call);
  void close(const std::shared_ptr<Batch>& batch);

  StoragePool storages_;
  const std::unique_ptr<rpc::Framer> framer_;
  rpc::EnvelopeParser parser_;
  std::string output_;
  std::string scratch_;  // a method's name with escapes decoded
  Schedule timed_;
  std::map<int64_t, Asked> asked_;  // by the id of the request to the client
  int64_t asks_ = 0;
  TimePoint now_{};  // of the feed() or run_due() that goes on
  int64_t subscriptions_ = 0;
};

// Serves `in` and `out` until the input ends. Calls that still wait for their time are dropped
// then. Gives the exit code: 0, or 1 when the answers have no reader any more. The caller ignores
// SIGPIPE.
int run_demo_server(int in, int out, const Clock& clock);

}  // namespace stdgate::demo
