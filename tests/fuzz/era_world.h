// EraWorld: a backend with children in memory, between clients and children of both eras of MCP,
// and the invariants of their conversation.
//
// - A request is answered once, by a message with its id, and no other message is an answer.
// - Every message to a client or a child is one JSON-RPC message on one line.
// - A child gets only what its era knows. Between a modern client and a modern child, only ids and
//   tokens change. That is checked if a request or an answer passes through at once.
//
// Only what a launcher and a correct child would do happens by itself. Time stands still until
// pass(). Owner: the fuzz target, for one input.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/backend_bench.h"
#include "tests/support/fake_seal.h"

namespace stdgate::test {

struct EraSetup {
  PeerKind children = PeerKind::stateless;
  config::Revision revision = config::Revision::automatic;
  config::Isolation isolation = config::Isolation::shared;
  bool bridge = false;
  bool serves_one = false;  // the pool serves one principal
  bool cache = false;
  bool is_polite = true;  // children answer greetings by themselves
};

class EraWorld {
 public:
  static constexpr size_t kClients = 2;

  // `input`: shown if an invariant is broken.
  EraWorld(const EraSetup& setup, std::string_view input);
  ~EraWorld();
  EraWorld(const EraWorld&) = delete;
  EraWorld& operator=(const EraWorld&) = delete;

  // --- Clients. In texts "$s" stands for the latest requestState, "$q" for the last question's id.
  // A message over a WebSocket, where a message that names its version stands alone.
  void say_in_session(size_t client, std::string text);
  // A message at /mcp. `fields`: lines NAME:VALUE of arguments that are repeated in the head.
  void say_modern(size_t client, std::string text, std::optional<std::string> fields);
  void say_plain(std::string text);  // at /rpc
  void leave(size_t client);

  // --- Children. "$0" stands for the id of the request that has waited longest, "$1" for the next
  void child_says(std::string text);
  void child_answers(std::string_view member);  // `"result":…`, to the longest waiting request
  void kill_child();

  void pass(Duration time);
  // The gateway stops, so no client waits any more.
  void stop();

 private:
  class Client;
  struct Asked {
    std::string id;  // raw, on the wire
    std::string method;
    // The modern client's call, if all of its messages were seen, so that nothing may change.
    std::optional<session::Tag> tag{};
  };
  struct ChildState {
    bool is_started = false;
    std::optional<PeerKind> peer_kind{};  // the era of its greeting
    std::vector<Asked> asked;
  };
  // A modern request that passes through the gateway at the moment.
  struct Passing {
    std::string text;
    TextPlace id;
    session::Tag tag;
  };

  void require_that(bool holds, const char* what) const;
  void hand_over(Client& client, const rpc::ParsedMessage& message,
                 const call::CallContext& context);
  [[nodiscard]] call::CallContext context_of(Client& client) const;
  [[nodiscard]] std::string filled(std::string text);
  void settle();
  void settle_child(size_t index);
  void check_line(size_t index, std::string line);
  void check_era(const ChildState& state, const rpc::Envelope& message,
                 const std::string& method) const;
  void greet(FakeChild& child, ChildState& state, const Asked& asked);
  // The youngest running child with an unanswered request.
  [[nodiscard]] std::optional<size_t> asked_child();
  void check_passed(size_t index, const std::string& line, Asked& asked);
  [[nodiscard]] rpc::EnvelopeParser wide_parser() const;

  const EraSetup setup_;
  const std::string_view input_;
  FakeSeal seal_;
  BackendBench bench_;
  policy::Principal principal_;
  std::vector<std::unique_ptr<Client>> clients_;  // the last calls /rpc
  std::map<size_t, ChildState> children_;
  std::optional<Passing> passing_;
  session::Tag tags_ = 0;
  std::string state_ = "state-1";
  std::string question_ = "0";
};

}  // namespace stdgate::test
