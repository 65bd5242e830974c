// AcpConnections: the ACP connections of one backend, by id.
//
// Job: open connections, find them again for the principal that has opened them, and end
// connections that are over, or that no client has carried for BackendConfig::linger. An id names
// its connection, is sealed for its principal, and is good in this process alone, where the agent
// runs. Owner: the generation. Limits: config.pool.sessions; beyond it the connection ends that has
// been without a client for longest, if one is.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/acp/acp_connection.h"
#include "gateway/session/sealed_texts.h"

namespace stdgate::acp {

class AcpConnections final : public session::EventSources {
 public:
  // Over HTTP nothing carries a connection between two requests: so long it stays anyway.
  static constexpr Duration kBetweenRequests = std::chrono::minutes(1);
  // The shortest time between two searches for connections that nothing carries.
  static constexpr Duration kRest = std::chrono::milliseconds(250);

  static constexpr Duration kLongAlone = std::chrono::minutes(1);

  AcpConnections(const AcpServices& services, session::SessionIds& ids);
  ~AcpConnections() override;
  AcpConnections(const AcpConnections&) = delete;
  AcpConnections& operator=(const AcpConnections&) = delete;

  [[nodiscard]] backend::Upstream& backend() const { return services_.backend; }

  tl::expected<AcpConnection*, rpc::FaultReport> open(AcpConnection::Kind kind,
                                                      const policy::Client& client);
  // Null: never opened, ended, of the other kind, or another principal's.
  [[nodiscard]] AcpConnection* find(std::string_view id, AcpConnection::Kind kind,
                                    const policy::Principal* principal) const;
  // Whether a connection has this id. The principal does not matter.
  [[nodiscard]] bool has(std::string_view id) const;
  // EventSources
  [[nodiscard]] bool has_ended(std::string_view id) const override;
  void detach(std::string_view id, session::EventSink& sink) const override;
  void on_sink_writable(std::string_view id) const override;
  // The connection is over. Told from inside of it, so it is closed later.
  void on_connection_over(AcpConnection& connection);
  // Not from inside of a call of the core or of the connection.
  void close(AcpConnection& connection);

  // --- A WebSocket, which knows its connection by the id alone, as either may end first. Not from
  // within a call of the core
  // `client` receives the session's events from now on, instead of the former client. Until
  // replay() it receives none. It is told of the session's end. It must be detached before it is
  // destroyed.
  tl::expected<AcpConnection::Kept, rpc::FaultReport> attach(std::string_view id,
                                                             session::SessionSink& client);
  // Sends `client` the events that it has missed.
  void replay(std::string_view id, session::SessionSink& client);
  // The client has answered the request with this id (raw JSON); replay() leaves that request out.
  void note_answer(std::string_view id, std::string_view request);
  // Without effect if another client has taken the place of `client`.
  void detach(std::string_view id, session::SessionSink& client);

  // Free memory of connections that nothing carries until `is_enough()`: of one client, or of all
  // (null), those first that have been alone longest. They return the number of connections. Not
  // from inside of a call of the core.
  // Drops the events that are kept for clients that come back.
  size_t drop_replay(const Account* client, const std::function<bool()>& is_enough);
  // Ends agents and their connections. A connection over HTTP with open calls stays, and so does
  // one whose client has been away for less than kLongAlone: it may just have lost its network.
  size_t forget_idle(const Account* client, const std::function<bool()>& is_enough);

  // Shutdown: streams that only listen end, and so do connections without a client or a call.
  void drain();
  void close_all();
  [[nodiscard]] size_t size() const { return connections_.size(); }
  void check_invariants() const;  // see AcpConnection

 private:
  void close_those_over();
  void look_after(const AcpConnection& connection);
  void settle_alone();
  void make_room();
  // `free` says whether it has freed something.
  size_t free_alone(const Account* client, const std::function<bool()>& is_enough,
                    const std::function<bool(AcpConnection&)>& free);
  [[nodiscard]] AcpConnection* at(std::string_view id) const;
  [[nodiscard]] Duration patience(const AcpConnection& connection) const;

  const AcpServices services_;
  session::SessionIds& ids_;
  std::unordered_map<std::string, std::unique_ptr<AcpConnection>> connections_;
  std::vector<std::string> over_;  // ids of connections that are closed soon
  Timer over_timer_;
  Timer alone_timer_;
};

}  // namespace stdgate::acp
