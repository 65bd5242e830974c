// EraWorld: a backend of MCP children in memory, between clients and children of both eras, and
// what has to hold whatever these say.
//
// - A request is answered once, by a message with its id, and no other one.
// - Whatever a client or a child is given is one JSON-RPC message on one line.
// - A child gets what its era knows. Between a modern client and a modern child nothing is changed
//   but ids and tokens, which is looked at where a request or an answer goes through at once.
//
// Nothing happens by itself but what a launcher and a right child would do; time stands still until
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
  bool serves_one = false;  // the pool of one principal
  bool cache = false;
  bool is_polite = true;  // children answer the questions at the beginning themselves
};

class EraWorld {
 public:
  static constexpr size_t kClients = 2;

  // `input`: what is shown when something does not hold.
  EraWorld(const EraSetup& setup, std::string_view input);
  ~EraWorld();
  EraWorld(const EraWorld&) = delete;
  EraWorld& operator=(const EraWorld&) = delete;

  // --- Clients. In texts "$s" stands for the last requestState, "$q" for the last question's id.
  // A message by the rules of a WebSocket: what names its version stands alone.
  void say_in_session(size_t client, std::string text);
  // The same at /mcp; `fields`: lines NAME:VALUE, of arguments that are repeated in the head.
  void say_modern(size_t client, std::string text, std::optional<std::string> fields);
  void say_plain(std::string text);  // at /rpc
  void leave(size_t client);

  // --- Children. "$0" stands for the id of the request that has waited longest, and so on.
  void child_says(std::string text);
  void child_answers(std::string_view member);  // `"result":…`, of the request that waits longest
  void kill_child();

  void pass(Duration time);
  // The gateway stops: nobody waits any more.
  void stop();

 private:
  class Client;
  struct Asked {
    std::string id;  // raw, on the wire
    std::string method;
    // Of a modern client's call, where all was seen; then nothing is to be changed.
    std::optional<session::Tag> tag{};
  };
  struct ChildState {
    bool is_started = false;
    std::optional<PeerKind> peer_kind{};  // as it was greeted
    std::vector<Asked> asked;
  };
  // A modern request that is handed over now.
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
  // The youngest that runs and has been asked something.
  [[nodiscard]] std::optional<size_t> asked_child();
  void check_passed(size_t index, const std::string& line, Asked& asked);
  [[nodiscard]] rpc::EnvelopeParser wide_parser() const;

  const EraSetup setup_;
  const std::string_view input_;
  FakeSeal seal_;
  BackendBench bench_;
  policy::Principal principal_;
  std::vector<std::unique_ptr<Client>> clients_;  // the last one calls /rpc
  std::map<size_t, ChildState> children_;
  std::optional<Passing> passing_;
  session::Tag tags_ = 0;
  std::string state_ = "state-1";
  std::string question_ = "0";
};

}  // namespace stdgate::test
