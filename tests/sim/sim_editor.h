// SimEditor: a client of agents, over a WebSocket or Streamable HTTP.
//
// An editor prompts, and answers questions late, twice or never. An editor loses its connection at
// any moment, with the messages under way there, and comes back to its agent or not. Three rules
// are checked: an answer arrives once, an update arrives once, and a question is repeated only
// after the editor has been away.
//
// Over HTTP the editor opens a stream for each session, or one stream for all (`one_stream`). A
// message to the editor is under way for a moment. A cut loses these messages, and the next stream
// begins after the last message that arrived. Acts from the outermost level only. Owner: the
// simulation.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gateway/acp/acp_connections.h"
#include "tests/sim/sim_agent.h"

namespace stdgate::sim {

struct EditorServices {
  SimWorld& world;
  AgentTally& tally;
  backend::Upstream& backend;
  acp::AcpConnections& connections;
  bool is_tight;  // memory may be too small to keep what clients miss
};

class SimEditor {
 public:
  using Kind = acp::AcpConnection::Kind;

  SimEditor(EditorServices& services, Kind kind, bool one_stream, policy::PrincipalRef principal);

  void act();
  // If the editor is away, it comes back. Then it listens to everything.
  void settle();
  // Leaves for good, without a message or, where that is possible, with DELETE.
  void leave();
  // Checks that all requests have been answered, and that all events have come.
  void check_all_answered() const;
  [[nodiscard]] const std::string& id() const { return id_; }
  // Uses the id of another client's connection.
  void try_id(const std::string& id) const;

 private:
  struct Call {
    std::string method;
    std::string session;
    uint64_t returns = 0;  // value of returns_ when the call was sent
  };
  struct Ask {
    std::string params;
    uint64_t returns = 0;  // value of returns_ when the question arrived
    bool is_answered = false;
  };
  struct Socket;
  struct Stream;

  void connect();
  void greet();
  void attach();
  void cut();
  void lose_carriers();
  void come_back();
  void listen(const std::string& session);
  void begin_session();
  void prompt();
  void cancel();
  void answer(const std::string& id, bool again);
  int request(const std::string& method, const std::string& params, const std::string& session);
  void send(std::string text, const std::string& session);
  void hear(const std::string& text);
  void hear_ask(const rpc::Envelope& ask);
  void hear_answer(const rpc::Envelope& answer);
  // Forgets the connection, which has ended.
  void forget();
  [[nodiscard]] acp::AcpConnection* connection() const;
  [[nodiscard]] call::CallContext context() const;
  [[nodiscard]] bool is_online() const { return socket_ != nullptr || is_listening_; }

  EditorServices& services_;
  SimWorld& world_;
  const Kind kind_;
  const bool one_stream_;
  const policy::Client client_;
  std::string id_;
  uint64_t visit_ = 0;    // number of connections so far
  uint64_t returns_ = 0;  // how often it came back to this connection
  bool is_greeted_ = false;
  bool is_listening_ = false;
  std::vector<std::unique_ptr<Socket>> sockets_;
  Socket* socket_ = nullptr;
  acp::AcpConnection::Kept kept_;
  std::vector<std::unique_ptr<Stream>> all_streams_;
  std::map<std::string, Stream*> streams_;      // by session
  std::map<std::string, uint64_t> last_event_;  // by session
  std::vector<std::string> sessions_;
  std::map<int, Call> calls_;
  int last_id_ = 0;
  std::map<std::string, Ask> asks_;
  std::map<std::string, std::set<uint64_t>> heard_;  // updates that arrived, by session
  std::map<std::string, uint64_t> said_;             // updates that were sent, by session
};

}  // namespace stdgate::sim
