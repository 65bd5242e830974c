#include "gateway/demo/demo_server.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "gateway/demo/demo_arithmetic.h"
#include "gateway/rpc/fault.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::demo {
namespace {

using std::chrono::milliseconds;

// JSON-RPC 2.0 section 5.1, and two beside it.
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;
constexpr int kInternalError = -32603;
constexpr int kTooMany = -32000;
constexpr int kCancelled = -32800;  // as in the Language Server Protocol

constexpr int64_t kMaxSteps = 10'000;
constexpr int64_t kMaxIntervalMs = 60'000;
constexpr int64_t kMaxSleepMs = 600'000;
constexpr int64_t kUsualIntervalMs = 100;

constexpr size_t kReadSize = 256 << 10;
constexpr size_t kMaxKeptOutput = 4 << 20;  // memory that is kept from one turn to the next

bool is_writable_again(int fd) {
  pollfd entry = {fd, POLLOUT, 0};
  return poll(&entry, 1, -1) >= 0 || errno == EINTR;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      if (!is_writable_again(fd)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

// Whether there is something to read before `due`.
bool wait_readable(int fd, std::optional<TimePoint> due, const Clock& clock) {
  int timeout_ms = -1;
  if (due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - clock.now());
    timeout_ms = static_cast<int>(std::clamp<int64_t>(left.count(), 0, kMaxSleepMs));
  }
  pollfd entry = {fd, POLLIN, 0};
  return poll(&entry, 1, timeout_ms) > 0;
}

}  // namespace

const std::span<const DemoServer::Method> DemoServer::kMethods = [] {
  static constexpr std::array kTable = {
      Method{"math/add", "Sum of two or more numbers: [1, 2] or {\"a\": 1, \"b\": 2}",
             &DemoServer::add},
      Method{"math/subtract",
             "Difference of two numbers: [42, 23] or {\"minuend\": 42, \"subtrahend\": 23}",
             &DemoServer::subtract},
      Method{"math/multiply", "Product of two or more numbers: [6, 7] or {\"a\": 6, \"b\": 7}",
             &DemoServer::multiply},
      Method{"echo", "The params as they came", &DemoServer::echo},
      Method{"stream",
             "Progress notifications, then the result: {\"count\": 3, \"interval_ms\": 100}",
             &DemoServer::stream},
      Method{"math/add_stream",
             "Partial sums as progress notifications, then the sum: [1, 2, 3] or "
             "{\"numbers\": [1, 2, 3], \"interval_ms\": 100}",
             &DemoServer::add_stream},
      Method{"sleep", "An answer after a while: {\"ms\": 500} or [500]", &DemoServer::sleep},
      Method{"ask",
             "Asks the client back, and answers with its answer: "
             "{\"method\": \"name\", \"params\": {}}",
             &DemoServer::ask},
      Method{"fail", "An internal error", &DemoServer::fail},
      Method{"tick/subscribe", "A notification now and then: {\"interval_ms\": 1000}",
             &DemoServer::subscribe},
      Method{"tick/unsubscribe", "Ends a subscription: {\"subscription\": 1} or [1]",
             &DemoServer::unsubscribe},
      Method{"$/cancelRequest", "Ends a sleep, stream or ask that goes on: {\"id\": 1}",
             &DemoServer::cancel},
      Method{"methods", "This list", &DemoServer::list_methods},
  };
  return std::span<const Method>(kTable);
}();

DemoServer::DemoServer()
    : framer_(rpc::make_framer(rpc::Framing::newline, kMaxMessage, storages_)),
      parser_(rpc::EnvelopeLimits{}) {}

void DemoServer::feed(std::span<char> bytes, TimePoint now) {
  now_ = now;
  framer_->feed(bytes, *this);
}

void DemoServer::finish(TimePoint now) {
  now_ = now;
  framer_->finish(*this);
}

void DemoServer::clear_output() {
  output_.clear();
  if (output_.capacity() > kMaxKeptOutput) output_.shrink_to_fit();
}

void DemoServer::on_frame(std::span<char> message) {
  const auto document = parser_.parse(message);
  if (!document) {
    const bool unreadable = document.error().fault == rpc::Fault::parse_error;
    answer_error(Call{"null", {}, nullptr}, unreadable ? kParseError : kInvalidRequest,
                 document.error().reason);
    return;
  }
  const auto batch = document->batch ? std::make_shared<Batch>() : nullptr;
  for (const rpc::ParsedMessage& entry : document->messages) handle(entry, batch);
  close(batch);
}

void DemoServer::on_oversized_frame(const rpc::OversizedFrame& frame) {
  answer_error(Call{frame.id.empty() ? "null" : frame.id, {}, nullptr}, kInvalidRequest,
               "the message is too large");
}

void DemoServer::on_broken_framing(const char* /*reason*/) {}  // lines cannot be broken

void DemoServer::handle(const rpc::ParsedMessage& message, const std::shared_ptr<Batch>& batch) {
  const rpc::Envelope& envelope = message.envelope;
  if (!message.ok()) {
    answer_error(Call{envelope.id.empty() ? "null" : envelope.id, {}, batch}, kInvalidRequest,
                 message.rejection);
    return;
  }
  if (envelope.kind == rpc::MessageKind::result || envelope.kind == rpc::MessageKind::error) {
    return take_answer(envelope);
  }
  const Call call = {envelope.id, envelope.params, batch};
  const std::string_view name = envelope.decoded_method(scratch_);
  const auto method = std::find_if(kMethods.begin(), kMethods.end(),
                                   [&](const Method& known) { return known.name == name; });
  if (method == kMethods.end()) {
    answer_error(call, kMethodNotFound, "no such method; \"methods\" lists them");
    return;
  }
  (this->*method->run)(call);
}

void DemoServer::calculate_for(const Call& call, Arithmetic operation) {
  const auto result = calculate(operation, call.params);
  if (result) {
    answer(call, *result);
  } else {
    answer_error(call, kInvalidParams, result.error());
  }
}

void DemoServer::add(const Call& call) { calculate_for(call, Arithmetic::add); }

void DemoServer::subtract(const Call& call) { calculate_for(call, Arithmetic::subtract); }

void DemoServer::multiply(const Call& call) { calculate_for(call, Arithmetic::multiply); }

void DemoServer::echo(const Call& call) {
  if (call.params.empty()) {
    answer_error(call, kInvalidParams, "params are missing: there is nothing to echo");
  } else {
    answer(call, call.params);
  }
}

void DemoServer::fail(const Call& call) {
  answer_error(call, kInternalError, "internal error", R"({"reason":"asked to fail"})");
}

void DemoServer::sleep(const Call& call) {
  const auto ms = read_integer(call.params, {"ms", 0, kMaxSleepMs, std::nullopt});
  if (!ms) return answer_error(call, kInvalidParams, ms.error());
  schedule(call, {.kind = Timed::Kind::sleep, .interval = milliseconds(*ms), .goal = *ms});
}

void DemoServer::stream(const Call& call) {
  const auto numbers = read_integers(
      call.params,
      {{{"count", 1, kMaxSteps, 3}, {"interval_ms", 0, kMaxIntervalMs, kUsualIntervalMs}}});
  if (!numbers) return answer_error(call, kInvalidParams, numbers.error());
  auto token = read_progress_token(call.params);
  if (!token) return answer_error(call, kInvalidParams, token.error());
  schedule(call, {.kind = Timed::Kind::stream,
                  .interval = milliseconds((*numbers)[1]),
                  .goal = (*numbers)[0],
                  .token = std::move(*token)});
}

void DemoServer::add_stream(const Call& call) {
  auto sums = partial_sums(call.params);
  if (!sums) return answer_error(call, kInvalidParams, sums.error());
  int64_t interval_ms = kUsualIntervalMs;
  if (call.params.starts_with('{')) {
    const auto given =
        read_integer(call.params, {"interval_ms", 0, kMaxIntervalMs, kUsualIntervalMs});
    if (!given) return answer_error(call, kInvalidParams, given.error());
    interval_ms = *given;
  }
  auto token = read_progress_token(call.params);
  if (!token) return answer_error(call, kInvalidParams, token.error());
  const auto steps = static_cast<int64_t>(sums->size());
  schedule(call, {.kind = Timed::Kind::add_stream,
                  .interval = milliseconds(interval_ms),
                  .goal = steps,
                  .token = std::move(*token),
                  .sums = std::move(*sums)});
}

void DemoServer::ask(const Call& call) {
  const auto method = rpc::find_member(call.params, "method");
  const auto params = rpc::find_member(call.params, "params");
  if (!method || !method->starts_with('"')) {
    return answer_error(call, kInvalidParams, "method must be the name of what is asked");
  }
  if (params && !params->starts_with('{') && !params->starts_with('[')) {
    return answer_error(call, kInvalidParams, "params must be an object or an array");
  }
  if (call.id.empty()) return;  // the answer would have no receiver
  if (asked_.size() == kMaxAsked) {
    return answer_error(call, kTooMany, "too many questions without an answer");
  }
  asked_.emplace(++asks_, Asked{std::string(call.id), call.batch});
  if (call.batch) ++call.batch->open;
  output_ += R"({"jsonrpc":"2.0","id":)";
  output_ += std::to_string(asks_);
  output_ += ",\"method\":";
  output_ += *method;
  if (params) {
    output_ += ",\"params\":";
    output_ += *params;
  }
  output_ += "}\n";
}

void DemoServer::take_answer(const rpc::Envelope& answer) {
  const auto number = read_number(answer.id);
  const auto found = number && number->exact ? asked_.find(number->integer) : asked_.end();
  if (found == asked_.end()) return;
  const Asked asked = std::move(found->second);
  asked_.erase(found);
  const Call call = {asked.id, {}, asked.batch};
  std::string& out = begin_answer(call);
  out += answer.kind == rpc::MessageKind::error ? ",\"error\":" : ",\"result\":";
  out += answer.payload;
  end_answer(call);
  close(asked.batch);
}

void DemoServer::subscribe(const Call& call) {
  const auto ms = read_integer(call.params, {"interval_ms", 1, kMaxIntervalMs, 1000});
  if (!ms) return answer_error(call, kInvalidParams, ms.error());
  const int64_t subscription = subscriptions_ + 1;
  Timed timed{.kind = Timed::Kind::tick, .interval = milliseconds(*ms), .goal = subscription};
  if (!schedule(call, std::move(timed))) return;
  subscriptions_ = subscription;
  answer(call, std::to_string(subscription));
}

void DemoServer::unsubscribe(const Call& call) {
  const auto subscription = read_integer(call.params, {"subscription", 1, INT64_MAX, std::nullopt});
  if (!subscription) return answer_error(call, kInvalidParams, subscription.error());
  const auto found = std::find_if(timed_.begin(), timed_.end(), [&](const auto& entry) {
    return entry.second.kind == Timed::Kind::tick && entry.second.goal == *subscription;
  });
  if (found == timed_.end()) return answer_error(call, kInvalidParams, "no such subscription");
  timed_.erase(found);
  answer(call, "true");
}

void DemoServer::cancel(const Call& call) {
  const auto id = rpc::find_member(call.params, "id");
  if (!id) return answer_error(call, kInvalidParams, "id must be the id of a call");
  if (!cancel_in(timed_, *id)) cancel_in(asked_, *id);
  answer(call, "null");
}

template <class Calls>
bool DemoServer::cancel_in(Calls& waiting, std::string_view id) {
  const auto found = std::find_if(waiting.begin(), waiting.end(),
                                  [id](const auto& entry) { return entry.second.id == id; });
  if (found == waiting.end()) return false;
  const auto cancelled = std::move(found->second);
  waiting.erase(found);
  answer_error(Call{cancelled.id, {}, cancelled.batch}, kCancelled, "cancelled");
  close(cancelled.batch);
  return true;
}

void DemoServer::list_methods(const Call& call) {
  rpc::JsonWriter list(rpc::JsonWriter::Layout::compact);
  list.begin_array();
  for (const Method& method : kMethods) {
    list.begin_object();
    list.text("name", method.name);
    list.text("description", method.description);
    list.end_object();
  }
  list.end_array();
  answer(call, list.take());
}

bool DemoServer::schedule(const Call& call, Timed timed) {
  if (timed_.size() == kMaxTimed) {
    answer_error(call, kTooMany, "too many calls and subscriptions at once");
    return false;
  }
  // A subscription is answered at once and a notification never: no batch waits for them.
  if (timed.kind != Timed::Kind::tick && !call.id.empty()) {
    timed.id = call.id;
    timed.batch = call.batch;
    if (timed.batch) ++timed.batch->open;
  }
  const TimePoint due = now_ + timed.interval;
  timed_.emplace(due, std::move(timed));
  return true;
}

std::optional<TimePoint> DemoServer::next_due() const {
  if (timed_.empty()) return std::nullopt;
  return timed_.begin()->first;
}

void DemoServer::run_due(TimePoint now) {
  now_ = now;
  // Work that is scheduled again for `now` stands behind these, and waits for the next turn.
  auto count = std::distance(timed_.begin(), timed_.upper_bound(now));
  for (; count > 0; --count) {
    auto entry = timed_.extract(timed_.begin());
    if (!advance(entry.mapped())) continue;
    entry.key() = std::max(entry.key() + entry.mapped().interval, now);
    timed_.insert(std::move(entry));
  }
}

// One step; false when it was the last.
bool DemoServer::advance(Timed& timed) {
  const auto append = [this](std::string_view before, int64_t number, std::string_view after) {
    output_ += before;
    output_ += std::to_string(number);
    output_ += after;
  };
  ++timed.step;
  const Call call = {timed.id, {}, timed.batch};
  switch (timed.kind) {
    case Timed::Kind::sleep:
      answer(call, "{\"slept_ms\":" + std::to_string(timed.goal) + "}");
      break;
    case Timed::Kind::stream:
      report_progress(timed);
      if (timed.step < timed.goal) return true;
      answer(call, "{\"steps\":" + std::to_string(timed.goal) + "}");
      break;
    case Timed::Kind::add_stream:
      report_progress(timed);
      if (timed.step < timed.goal) return true;
      answer(call, timed.sums.back());
      break;
    case Timed::Kind::tick:
      append(R"({"jsonrpc":"2.0","method":"tick","params":{"subscription":)", timed.goal,
             ",\"count\":");
      append({}, timed.step, "}}\n");
      return true;
  }
  close(timed.batch);
  return false;
}

void DemoServer::report_progress(const Timed& timed) {
  output_ += R"({"jsonrpc":"2.0","method":"progress","params":{)";
  if (!timed.token.empty()) output_.append("\"progressToken\":").append(timed.token) += ',';
  output_ += "\"step\":" + std::to_string(timed.step);
  output_ += ",\"of\":" + std::to_string(timed.goal);
  if (!timed.sums.empty()) {
    output_ += ",\"sum\":" + timed.sums[static_cast<size_t>(timed.step) - 1];
  }
  output_ += "}}\n";
}

void DemoServer::answer(const Call& call, std::string_view result) {
  if (call.id.empty()) return;
  std::string& out = begin_answer(call);
  out += ",\"result\":";
  out += result;
  end_answer(call);
}

void DemoServer::answer_error(const Call& call, int code, std::string_view message,
                              std::string_view data) {
  if (call.id.empty()) return;
  std::string& out = begin_answer(call);
  out += ",\"error\":";
  rpc::append_error(out, code, message, data);
  end_answer(call);
}

std::string& DemoServer::begin_answer(const Call& call) {
  std::string& out = call.batch ? call.batch->answers : output_;
  if (call.batch && !out.empty()) out += ',';
  out += R"({"jsonrpc":"2.0","id":)";
  out += call.id;
  return out;
}

void DemoServer::end_answer(const Call& call) {
  if (call.batch) {
    call.batch->answers += '}';
  } else {
    output_ += "}\n";
  }
}

// One of the batch's calls is done, or the reading of it; the last one sends the answers off.
void DemoServer::close(const std::shared_ptr<Batch>& batch) {
  if (!batch || --batch->open > 0 || batch->answers.empty()) return;
  output_ += '[';
  output_ += batch->answers;
  output_ += "]\n";
}

int run_demo_server(int in, int out, const Clock& clock) {
  DemoServer server;
  const auto buffer = std::make_unique<char[]>(kReadSize);
  bool ended = false;
  while (!ended) {
    // Without timed calls read() itself is the wait: one system call less for each turn.
    const auto due = server.next_due();
    if (!due || wait_readable(in, due, clock)) {
      const ssize_t size = ::read(in, buffer.get(), kReadSize);
      if (size > 0) {
        server.feed({buffer.get(), static_cast<size_t>(size)}, clock.now());
      } else if (size < 0 && errno == EAGAIN) {
        wait_readable(in, due, clock);
      } else {
        ended = size == 0 || errno != EINTR;
      }
    }
    if (ended) {
      server.finish(clock.now());
    } else {
      server.run_due(clock.now());
    }
    if (!write_all(out, server.output())) return 1;
    server.clear_output();
  }
  return 0;
}

}  // namespace stdgate::demo
