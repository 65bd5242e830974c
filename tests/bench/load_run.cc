#include "tests/bench/load_run.h"

#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "gateway/rpc/json_text.h"

namespace stdgate::bench {

namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr int kTurnMs = 10;

Instant nanoseconds(double seconds) { return static_cast<Instant>(seconds * 1e9); }

ProcessUsage cpu_since(const ProcessUsage& before, ProcessUsage after) {
  after.user_s -= before.user_s;
  after.system_s -= before.system_s;
  return after;
}

}  // namespace

LoadRun::LoadRun(const LoadOptions& options)
    : options_(options),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      buffer_(std::make_unique_for_overwrite<char[]>(kReadBytes)) {}

LoadRun::~LoadRun() {
  clients_.clear();
  ::close(epoll_);
  // The process ends because its input has ended with the client.
  if (piped_ > 0) ::waitpid(piped_, nullptr, 0);
}

tl::expected<LoadResult, std::string> LoadRun::run() {
  if (options_.watch > 0) {
    result_.watched_first = usage_of(options_.watch);
    if (result_.watched_first.process.processes == 0) {
      return tl::unexpected("--watch: no process " + std::to_string(options_.watch));
    }
  }
  if (const Checked opened = open_clients(); !opened) return tl::unexpected(opened.error());
  if (const Checked ready = await_ready(); !ready) return tl::unexpected(ready.error());
  warm_up();
  measure();
  drain();
  end_dialogues();
  return std::move(result_);
}

LoadRun::Checked LoadRun::open_clients() {
  if (options_.mode == LoadMode::pipe) {
    const auto process = start_piped(options_.command);
    if (!process) return tl::unexpected(process.error());
    piped_ = process->pid;
    add_client(process->descriptors);
    return {};
  }
  for (size_t i = 0; i < options_.clients; ++i) {
    const auto descriptors = connect_to(options_.host, options_.port);
    if (!descriptors) return tl::unexpected(descriptors.error());
    add_client(*descriptors);
  }
  return {};
}

void LoadRun::add_client(const Descriptors& descriptors) {
  const size_t number = clients_.size();
  Client& client = *clients_.emplace_back(std::make_unique<Client>(descriptors));
  client.dialogue = make_dialogue(options_, number, client.channel, tally_);
  ++alive_;
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.ptr = &client;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptors.input, &event);
  client.dialogue->begin();
  flush(client);
}

LoadRun::Checked LoadRun::await_ready() {
  const Instant deadline = now_ns() + nanoseconds(options_.deadline_s);
  while (tally_.ready < clients_.size()) {
    if (tally_.errors > 0) return tl::unexpected(tally_.first_error);
    if (now_ns() > deadline) {
      return tl::unexpected("only " + std::to_string(tally_.ready) + " of " +
                            std::to_string(clients_.size()) + " clients got ready");
    }
    turn(kTurnMs);
  }
  result_.clients_ready = tally_.ready;
  return {};
}

void LoadRun::warm_up() {
  const Instant now = now_ns();
  tally_.calling = true;
  tally_.last_answer = now;
  for (const auto& client : clients_) {
    if (!client->alive) continue;
    client->dialogue->begin_calls(now);
    flush(*client);
  }
  const Instant end = now + nanoseconds(options_.warm_up_s);
  while (alive_ > 0 && now_ns() < end) turn(kTurnMs);
}

void LoadRun::measure() {
  const ProcessUsage own = own_usage();
  FamilyUsage watched;
  if (options_.watch > 0) watched = usage_of(options_.watch);
  // Without a warm-up all calls count, because some may have been answered already.
  if (options_.warm_up_s > 0) tally_.begin_measuring();
  const uint64_t answered_before = options_.warm_up_s > 0 ? tally_.answers : 0;
  const Instant begin = now_ns();
  const Instant end = begin + nanoseconds(options_.seconds);
  const Instant patience = nanoseconds(options_.deadline_s);
  const bool idle = options_.mode == LoadMode::idle_ws || options_.mode == LoadMode::idle_sse;
  if (options_.kill > 0) kill_at_ = begin + nanoseconds(options_.kill_after_s);
  for (Instant now = begin; alive_ > 0; now = now_ns()) {
    if (options_.calls > 0 ? tally_.answers - answered_before >= options_.calls : now >= end) break;
    if (!idle && now - tally_.last_answer > patience) break;
    if (kill_at_ > 0 && now >= kill_at_) kill_when_due();
    turn(kTurnMs);
  }
  tally_.calling = false;
  result_.seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  result_.own = cpu_since(own, own_usage());
  if (options_.watch > 0) {
    result_.watched = usage_of(options_.watch);
    result_.watched.process = cpu_since(watched.process, result_.watched.process);
    result_.watched.descendants = cpu_since(watched.descendants, result_.watched.descendants);
  }
}

void LoadRun::kill_when_due() {
  kill_at_ = 0;
  tally_.killed = now_ns();
  tally_.open_at_kill = tally_.open;
  if (::kill(options_.kill, SIGKILL) != 0) {
    tally_.add_error(std::string("kill: ") + std::strerror(errno));
  }
}

void LoadRun::drain() {
  // Only answers until now are measured. The last calls are waited for, but not measured.
  const LatencyHistogram latency = tally_.latency;
  const uint64_t calls = tally_.calls;
  const uint64_t bytes = tally_.bytes;
  const Instant patience = nanoseconds(options_.deadline_s);
  tally_.last_answer = now_ns();
  while (tally_.open > 0 && alive_ > 0 && now_ns() - tally_.last_answer < patience) turn(kTurnMs);
  tally_.latency = latency;
  tally_.calls = calls;
  tally_.bytes = bytes;
  result_.unanswered = tally_.open;
  for (uint64_t i = 0; i < result_.unanswered; ++i) tally_.add_error("calls without an answer");
}

// Sessions that are not ended would hold their children during the next run. Ending them is not
// measured.
void LoadRun::end_dialogues() {
  for (const auto& client : clients_) {
    if (!client->alive || client->channel.has_unsent()) continue;
    client->dialogue->end();
    flush(*client);
  }
  const Tally measured = tally_;
  const Instant deadline = now_ns() + nanoseconds(1);
  while (tally_.ready > 0 && alive_ == clients_.size() && now_ns() < deadline) turn(kTurnMs);
  tally_ = measured;
}

void LoadRun::turn(int wait_ms) {
  std::array<epoll_event, 256> events;
  const int count = ::epoll_wait(epoll_, events.data(), events.size(), wait_ms);
  for (int i = 0; i < count; ++i) {
    auto& client = *static_cast<Client*>(events[static_cast<size_t>(i)].data.ptr);
    const uint32_t happened = events[static_cast<size_t>(i)].events;
    if (client.alive && (happened & EPOLLOUT) != 0) flush(client);
    if (client.alive && (happened & ~EPOLLOUT) != 0) on_readable(client);
  }
}

void LoadRun::on_readable(Client& client) {
  ByteQueue& held = client.held;
  if (!held.empty()) {
    // Bytes of a large unit are read directly into the buffer that collects it.
    const size_t needed = client.dialogue->needed();
    const size_t room = needed > held.size() ? needed - held.size() : kReadBytes;
    const ssize_t count = client.channel.read({held.reserve(room), room});
    if (count < 0) return fail(client, "the connection has ended");
    held.commit(static_cast<size_t>(count));
    if (held.size() >= needed) feed_held(client, now_ns());
  } else {
    const ssize_t count = client.channel.read({buffer_.get(), kReadBytes});
    if (count < 0) return fail(client, "the connection has ended");
    const std::span<char> bytes(buffer_.get(), static_cast<size_t>(count));
    const auto taken = client.dialogue->take(bytes, now_ns());
    if (!taken) return fail(client, taken.error());
    const std::span<char> rest = bytes.subspan(*taken);
    held.append({rest.data(), rest.size()});
  }
  if (client.alive) flush(client);
}

void LoadRun::feed_held(Client& client, Instant now) {
  const auto taken = client.dialogue->take(client.held.bytes(), now);
  if (!taken) return fail(client, taken.error());
  client.held.consume(*taken);
}

void LoadRun::flush(Client& client) {
  if (!client.channel.has_unsent()) return;
  if (!client.channel.flush()) return fail(client, "the connection is broken");
  if (client.channel.has_unsent() != client.wants_to_write) {
    client.wants_to_write = !client.wants_to_write;
    watch_output(client, client.wants_to_write);
  }
}

void LoadRun::watch_output(Client& client, bool on) {
  const int input = client.channel.input();
  const int output = client.channel.output();
  epoll_event event = {};
  event.data.ptr = &client;
  if (input == output) {
    event.events = on ? EPOLLIN | EPOLLOUT : EPOLLIN;
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, input, &event);
  } else {
    event.events = EPOLLOUT;
    ::epoll_ctl(epoll_, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, output, &event);
  }
}

void LoadRun::fail(Client& client, const std::string& why) {
  if (!client.alive) return;
  client.alive = false;
  --alive_;
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, client.channel.input(), nullptr);
  if (client.wants_to_write && client.channel.output() != client.channel.input()) {
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, client.channel.output(), nullptr);
  }
  tally_.add_error(why);
}

namespace {

// JSON has no infinity.
void decimal(rpc::JsonWriter& json, std::string_view key, double value) {
  std::array<char, 32> digits;
  if (!std::isfinite(value)) value = 0;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::fixed, 3);
  json.raw(key, {digits.data(), static_cast<size_t>(end.ptr - digits.data())});
}

double microseconds(uint64_t value_ns) { return static_cast<double>(value_ns) / 1e3; }

void write_latency(rpc::JsonWriter& json, const LatencyHistogram& latency) {
  decimal(json, "p50", microseconds(latency.quantile_ns(0.5)));
  decimal(json, "p90", microseconds(latency.quantile_ns(0.9)));
  decimal(json, "p99", microseconds(latency.quantile_ns(0.99)));
  decimal(json, "max", microseconds(latency.max_ns()));
}

void write_usage(rpc::JsonWriter& json, const ProcessUsage& usage, const ProcessUsage& first,
                 uint64_t calls) {
  const double per_call = calls == 0 ? 0 : 1e6 / static_cast<double>(calls);
  decimal(json, "user_s", usage.user_s);
  decimal(json, "system_s", usage.system_s);
  decimal(json, "user_us_per_call", usage.user_s * per_call);
  decimal(json, "system_us_per_call", usage.system_s * per_call);
  json.number("resident_bytes", usage.resident_bytes);
  json.number("resident_bytes_before", first.resident_bytes);
  json.number("peak_resident_bytes", usage.peak_resident_bytes);
  json.number("processes", usage.processes);
}

void write_kill(rpc::JsonWriter& json, const Tally& tally) {
  const auto after = [&tally](Instant when) {
    return when <= tally.killed ? 0.0 : static_cast<double>(when - tally.killed) / 1e6;
  };
  json.number("in_flight", tally.open_at_kill);
  decimal(json, "in_flight_answered_ms", after(tally.last_old_answer));
  decimal(json, "first_result_ms", after(tally.first_new_result));
}

}  // namespace

std::string report_line(const LoadOptions& options, const LoadResult& result) {
  const Tally& tally = result.tally;
  rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
  json.begin_object();
  json.number("clients", result.clients_ready);
  json.number("calls", tally.calls);
  json.number("errors", tally.errors);
  json.number("unanswered", result.unanswered);
  if (tally.errors > 0) json.text("first_error", tally.first_error);
  json.begin_object("faults");
  for (const auto& [code, count] : tally.faults) json.number(std::to_string(code), count);
  json.end_object();
  decimal(json, "seconds", result.seconds);
  decimal(json, "calls_per_second", static_cast<double>(tally.calls) / result.seconds);
  decimal(json, "bytes_per_second", static_cast<double>(tally.bytes) / result.seconds);
  json.begin_object("latency_us");
  write_latency(json, tally.latency);
  json.end_object();
  json.begin_object("generator");
  decimal(json, "user_s", result.own.user_s);
  decimal(json, "system_s", result.own.system_s);
  json.end_object();
  if (options.watch > 0) {
    json.begin_object("watched");
    write_usage(json, result.watched.process, result.watched_first.process, tally.calls);
    json.end_object();
    json.begin_object("descendants");
    write_usage(json, result.watched.descendants, result.watched_first.descendants, tally.calls);
    json.end_object();
  }
  if (tally.killed > 0) {
    json.begin_object("kill");
    write_kill(json, tally);
    json.end_object();
  }
  json.end_object();
  return json.take();
}

}  // namespace stdgate::bench
