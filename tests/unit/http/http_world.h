// HttpWorld: a server on a loopback port, and clients on real sockets, all on one loop. The server
// has two backends of scripted children: "calc", which is the default, and "other".
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/backend/backend.h"
#include "gateway/backend/upstream.h"
#include "tests/support/loop_runner.h"
#include "tests/support/recording_log.h"
#include "tests/unit/http/scripted_child.h"
#include "transports/http/admin_endpoint.h"
#include "transports/http/http1_connection.h"
#include "transports/http/rpc_endpoint.h"
#include "transports/http/server.h"
#include "transports/net/loop.h"

namespace stdgate::test {

struct WorldOptions {
  config::LimitsConfig limits{};
  config::TimeoutsConfig timeouts{};
  config::PoolConfig pool{};
  http::OriginRules rules{};
  config::Isolation isolation = config::Isolation::shared;
  size_t callers = 64;
  std::optional<Duration> timeout{};  // of a call
  Address address{};                  // default: 127.0.0.1, any port
};

struct CountingObserver final : Observer {
  void on_call_finished(const CallRecord& record) override {
    outcomes.emplace_back(record.outcome.name());
  }
  void on_dropped(BackendId /*backend*/, DropReason reason) override { dropped.push_back(reason); }
  void on_connection_opened(ConnectionKind kind) override {
    ++opened;
    ++open[static_cast<size_t>(kind)];
  }
  void on_connection_closed(ConnectionKind kind) override {
    ++closed;
    --open[static_cast<size_t>(kind)];
  }
  void on_bytes(ConnectionKind kind, Flow flow, size_t count) override {
    (flow == Flow::in ? bytes_in : bytes_out) += count;
    bytes[static_cast<size_t>(kind)] += count;
  }
  void on_refused(Refusal reason) override { refusals.push_back(reason); }
  void on_session_opened(BackendId /*backend*/) override { ++sessions; }
  void on_session_closed(BackendId /*backend*/, SessionState /*state*/) override { --sessions; }

  std::vector<std::string> outcomes;
  std::vector<DropReason> dropped;
  std::vector<Refusal> refusals;
  size_t opened = 0;
  size_t closed = 0;
  size_t bytes_in = 0;
  size_t bytes_out = 0;
  std::array<size_t, kConnectionKindCount> open{};   // connections
  std::array<size_t, kConnectionKindCount> bytes{};  // in both directions
  size_t sessions = 0;
};

class HttpWorld {
 public:
  explicit HttpWorld(const WorldOptions& options = {});
  ~HttpWorld();

  // Turns the loop until `condition` holds. If it never holds, the test fails.
  template <class Condition>
  bool until(Condition&& condition) {
    return run_until(loop, std::forward<Condition>(condition));
  }
  // Memory of the messages that are on their way from and to clients.
  [[nodiscard]] size_t in_transit() const {
    size_t bytes = 0;
    for (const HeldBytes& held : {accounts.unrouted(), accounts.held_at(0), accounts.held_at(1)}) {
      for (const Holding kind : {Holding::receiving, Holding::unsent}) {
        bytes += held.of[static_cast<size_t>(kind)];
      }
    }
    return bytes;
  }
  // The first child of the default backend. The child must have been started.
  ScriptedChild& child();

  const WorldOptions options;
  policy::Accounts accounts{policy::account_bounds(options.limits, size_t{1} << 30)};
  net::Loop loop;
  RecordingLog log;
  CountingObserver observer;
  session::Callers callers;
  Random random{1};
  ScriptedLauncher launcher{loop};
  pool::CoreServices core{loop,    loop.timers(),   log,     observer, launcher,
                          random,  loop.storages(), nullptr, nullptr,  nullptr,
                          nullptr, nullptr,         nullptr, nullptr,  &accounts};
  backend::Upstreams backends;
  const http::AdmissionPolicy policy{options.rules};
  http::Router router{policy};
  std::unique_ptr<http::Server> server;
  Address address;
};

// Serves a list of what has been added to the router, at "/". To answer costs no memory.
void add_index(http::Router& router);

// Admin pages with fixed, short content.
struct FixedAdminSource final : http::AdminSource {
  void scrape(http::ScrapeFormat /*format*/,
              std::function<void(const std::string&)> done) override {
    done("m");
  }
  std::string state_json() override { return "{}"; }
  http::Readiness readiness() override { return {}; }
};

struct Answer {
  int status = 0;
  std::map<std::string, std::string> fields;  // names as spelled in the answer
  std::string body;                           // chunks joined
  [[nodiscard]] std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
};

class TestClient final : private net::StreamEvents {
 public:
  // `from`: an address of the loopback network; empty: 127.0.0.1.
  explicit TestClient(HttpWorld& world, bool reads = true, const std::string& from = {});
  ~TestClient() override = default;

  void send(std::string_view text) { stream_->write(text); }
  void half_close() { stream_->shutdown_write(); }
  void leave() { stream_.reset(); }
  void read() { stream_->resume_read(net::ByteStream::kNotStarted); }
  // Each call reads once, instead of reading all the time.
  void read_once() {
    reads_once_ = true;
    stream_->resume_read(net::ByteStream::kBusy);
    read();
  }

  // Takes the next whole answer from the received bytes. An answer to HEAD has no body.
  std::optional<Answer> take(bool is_head = false);
  // Waits for the next answer. The status is 0 if the connection ends first.
  Answer answer(bool is_head = false);
  Answer ask(std::string_view request, bool is_head = false) {
    send(request);
    return answer(is_head);
  }
  bool wait_closed() {
    return world_.until([this] { return ended; });
  }

  std::string received;
  bool ended = false;  // by end of input, or by a reset
  int error = 0;

 private:
  void on_bytes(std::span<char> bytes) override {
    received.append(bytes.data(), bytes.size());
    if (reads_once_) stream_->pause_read(net::ByteStream::kBusy);
  }
  void on_end() override { ended = true; }
  void on_error(int code) override {
    error = code;
    ended = true;
  }

  HttpWorld& world_;
  std::unique_ptr<net::ByteStream> stream_;
  bool reads_once_ = false;
};

// A POST of JSON with the required headers, and `more_fields`.
std::string post(std::string_view body, std::string_view more_fields = "",
                 std::string_view path = "/rpc");
std::string get(std::string_view target, std::string_view more_fields = "");
// {"jsonrpc":"2.0","id":<id>,"method":"<method>","params":<params>}
std::string call(std::string_view id, std::string_view method, std::string_view params);
std::string result(std::string_view id, std::string_view value);

}  // namespace stdgate::test
