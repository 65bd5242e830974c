// ServerBench: a virtual server over members in memory. The test controls the server's clients and
// the clock.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gateway/mcp/mcp_dialect.h"
#include "gateway/servers/virtual_server.h"
#include "tests/support/fake_child.h"
#include "tests/support/fake_client.h"
#include "tests/support/fake_session.h"
#include "tests/support/manual_clock.h"
#include "tests/support/recording_log.h"
#include "tests/support/recording_observer.h"

namespace stdgate::test {

// An upstream that answers as its test says.
class ScriptedMember final : public backend::Upstream {
 public:
  struct Asked {
    std::string method;
    std::string params;
    std::string id;
    session::Caller caller;
    session::Tag tag = 0;
    session::SessionId session;
    std::string principal;  // name of the principal; empty: anonymous
    bool is_of_server = false;
    std::optional<Duration> timeout{};
  };
  // Returns `"result":…` or `"error":…`; empty: the request is not answered yet.
  using Script = std::function<std::string(const Asked& asked)>;

  ScriptedMember(BackendId id, const std::string& name, bool owns_children,
                 session::Callers& its_callers);

  backend::Admission accept(const rpc::ParsedMessage& message,
                            const call::CallContext& context) override;
  bool take_cancel(const rpc::ParsedMessage& message, const call::CallContext& context) override;
  void refuse(const rpc::FaultReport& report, const backend::UnreadRequest& request,
              const call::CallContext& context) override;
  void count_refused(const rpc::FaultReport& /*report*/, const backend::UnreadRequest& /*request*/,
                     const call::CallContext& /*context*/) override {}
  void cancel_calls_of(session::Caller caller) override { left.push_back(caller); }
  tl::expected<session::SessionId, rpc::FaultReport> open_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client) override;
  void close_session(session::SessionId session, std::string_view /*why*/) override {
    sessions.release(session);
  }
  tl::expected<session::SessionId, rpc::FaultReport> adopt_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client,
      const session::Beginning& /*beginning*/) override {
    return open_session(caller, sink, client);
  }
  session::Parking park_session(session::SessionId /*session*/) override {
    return session::Parking::parked;
  }
  void give_up_asks(session::SessionId /*session*/) override {}
  void hold_child(session::SessionId /*session*/, bool /*held*/) override {}
  void end_sessions(session::SessionEnd /*end*/, std::string_view /*message*/) override {}
  void set_rules(const config::BackendConfig& /*backend*/,
                 const std::vector<config::RoleConfig>& /*roles*/) override {}
  void set_limits(const config::LimitsConfig& /*limits*/,
                  const config::TimeoutsConfig& /*timeouts*/) override {}
  void end_listening() override {}
  void start() override {}
  void drain() override {}
  void fail_calls(const rpc::FaultReport& /*report*/) override {}
  void end_children(Duration /*grace*/) override {}
  [[nodiscard]] size_t calls() const override { return 0; }
  [[nodiscard]] bool has_children() const override { return false; }
  [[nodiscard]] pool::BackendStatus status() const override;
  [[nodiscard]] pool::BackendState state() const override { return backend_state; }

  // Answers a request. `tail`: as a Script returns it.
  void answer(const Asked& asked, const std::string& tail);
  [[nodiscard]] bool answered(const Asked& asked) const {
    return answered_.contains({asked.caller.index, asked.caller.generation, asked.tag, asked.id});
  }
  void fail(const Asked& asked, rpc::Fault fault = rpc::Fault::child_failed);
  // Sends this message to all its sessions.
  void say(const std::string& text);
  backend::ListWatches& watches() { return list_watches(); }
  void change_lists(uint8_t lists, const std::string& identity = {}) {
    list_watches().tell_changed(lists, identity);
  }
  // Sends this message to the last call of this method.
  void say_of(const std::string& method, const std::string& text);
  // Ends all sessions.
  void lose_sessions();
  [[nodiscard]] std::vector<std::string> methods() const;

  Script script;
  std::optional<PeerKind> peer_kind;  // era of the children
  bool is_asleep = false;
  mutable size_t status_taken = 0;  // calls of status()
  pool::BackendState backend_state = pool::BackendState::ready;
  std::vector<Asked> asked;
  std::vector<std::string> notes;     // texts of the notifications
  std::vector<session::Caller> left;  // callers whose calls have been cancelled
  session::Callers& callers;
  SlotMap<std::pair<session::Caller, session::SessionSink*>> sessions{100};

 private:
  std::set<std::tuple<uint32_t, uint32_t, session::Tag, std::string>> answered_;
};

class ServerBench {
 public:
  // Makes members with these names; `config` says how the server uses them. If a name begins with
  // "own", the member has children for each session. If it begins with "each", the member has
  // children for each principal.
  explicit ServerBench(const std::vector<std::string>& names, config::ServerConfig config = {});

  void send(FakeClient& client, std::string text, PeerKind peer_kind = PeerKind::stateful,
            session::Tag tag = 0);
  void send(FakeSession& session, std::string text, session::Tag tag = 0);
  // Sends a request of a new client. Returns the answer, or "" if there is none.
  std::string ask(const std::string& method, const std::string& params = "{}",
                  PeerKind peer_kind = PeerKind::stateful);
  // Opens and initializes a session.
  void open(FakeSession& session, const session::Beginning& beginning = {});
  void advance(Duration duration);

  ScriptedMember& member(size_t place) { return *members[place]; }

  ManualClock clock;
  TimerQueue timers;
  RecordingLog log{LogLevel::debug};
  RecordingObserver observer;
  FakeLauncher launcher;
  Random random{7};
  StoragePool storages;
  policy::Accounts accounts{{.gateway = size_t{256} << 20, .client = size_t{64} << 20}};
  AccountRef account = accounts.of({});  // shared by all clients
  policy::PrincipalRef principal;        // of the next message; null: anonymous
  session::Callers callers{1000};
  pool::CoreServices services{clock,   timers,   log,     observer, launcher,
                              random,  storages, nullptr, nullptr,  nullptr,
                              nullptr, nullptr,  nullptr, nullptr,  &accounts};
  config::Config config;
  call::LabelNames names{BackendId{0}, 100, observer};
  backend::Upstreams upstreams;
  std::vector<ScriptedMember*> members;
  std::unique_ptr<servers::VirtualServer> server;
};

// A script for a server with one tool of this name, and further answers by method.
ScriptedMember::Script with_tool(
    const std::string& tool, const std::vector<std::pair<std::string, std::string>>& answers = {});

}  // namespace stdgate::test
