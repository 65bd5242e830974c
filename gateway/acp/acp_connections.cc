#include "gateway/acp/acp_connections.h"

#include <algorithm>
#include <utility>

namespace stdgate::acp {

AcpConnections::AcpConnections(const AcpServices& services, session::SessionIds& ids)
    : services_(services),
      ids_(ids),
      over_timer_(services.timers, [this] { close_those_over(); }),
      alone_timer_(services.timers, [this] { settle_alone(); }) {}

AcpConnections::~AcpConnections() { close_all(); }

tl::expected<AcpConnection*, rpc::FaultReport> AcpConnections::open(AcpConnection::Kind kind,
                                                                    const policy::Client& client) {
  make_room();
  AcpConnection::Id id;
  id.text = ids_.issue({services_.backend.name(), client.principal.get(), {}});
  id.name = ids_.name_of(id.text);
  auto opened = std::make_unique<AcpConnection>(services_, *this, std::move(id), kind, client);
  if (const auto session = opened->open(client); !session) return tl::unexpected(session.error());
  AcpConnection* const connection = opened.get();
  connections_.emplace(connection->id(), std::move(opened));
  look_after(*connection);
  return connection;
}

AcpConnection* AcpConnections::at(std::string_view id) const {
  const auto found = connections_.find(std::string(id));
  return found == connections_.end() || found->second->is_over() ? nullptr : found->second.get();
}

AcpConnection* AcpConnections::find(std::string_view id, AcpConnection::Kind kind,
                                    const policy::Principal* principal) const {
  AcpConnection* const connection = at(id);
  const bool is_meant = connection != nullptr && connection->kind() == kind &&
                        policy::is_same(connection->principal(), principal);
  return is_meant ? connection : nullptr;
}

bool AcpConnections::has(std::string_view id) const {
  return connections_.contains(std::string(id));
}

bool AcpConnections::has_ended(std::string_view id) const { return at(id) == nullptr; }

void AcpConnections::detach(std::string_view id, session::EventSink& sink) const {
  const auto found = connections_.find(std::string(id));
  if (found != connections_.end()) found->second->detach(sink);
}

void AcpConnections::on_sink_writable(std::string_view id) const {
  if (AcpConnection* const connection = at(id)) connection->on_sink_writable();
}

void AcpConnections::close(AcpConnection& connection) {
  const auto found = connections_.find(connection.id());
  found->second->close();
  connections_.erase(found);
}

// --- WebSockets -----------------------------------------------------------------------------

tl::expected<AcpConnection::Kept, rpc::FaultReport> AcpConnections::attach(
    std::string_view id, session::SessionSink& client) {
  AcpConnection* const connection = at(id);
  if (connection == nullptr) return tl::unexpected(rpc::faults::child_failed("it has ended"));
  return connection->attach(client);
}

void AcpConnections::replay(std::string_view id, session::SessionSink& client) {
  if (AcpConnection* const connection = at(id)) connection->replay(client);
}

void AcpConnections::note_answer(std::string_view id, std::string_view request) {
  if (AcpConnection* const connection = at(id)) connection->note_answer(request);
}

void AcpConnections::detach(std::string_view id, session::SessionSink& client) {
  const auto found = connections_.find(std::string(id));
  if (found == connections_.end() || !found->second->detach(client)) return;
  AcpConnection& connection = *found->second;
  if (connection.is_over() || services_.linger == Duration::zero()) return close(connection);
  look_after(connection);
}

// --- Ends -----------------------------------------------------------------------------------

Duration AcpConnections::patience(const AcpConnection& connection) const {
  return connection.kind() == AcpConnection::Kind::http
             ? std::max(services_.linger, kBetweenRequests)
             : services_.linger;
}

void AcpConnections::look_after(const AcpConnection& connection) {
  alone_timer_.arm_by(services_.clock.now() + std::max(patience(connection), kRest));
}

void AcpConnections::on_connection_over(AcpConnection& connection) {
  over_.push_back(connection.id());
  over_timer_.arm(services_.clock.now());
}

void AcpConnections::close_those_over() {
  for (const std::string& id : std::exchange(over_, {})) {
    const auto found = connections_.find(id);
    // A WebSocket closes by itself, and detaches then.
    const bool is_carried = found != connections_.end() &&
                            found->second->kind() == AcpConnection::Kind::websocket &&
                            !found->second->alone_since();
    if (found != connections_.end() && !is_carried) close(*found->second);
  }
}

void AcpConnections::settle_alone() {
  const TimePoint now = services_.clock.now();
  std::optional<TimePoint> next;
  std::vector<AcpConnection*> left;
  for (const auto& [id, connection] : connections_) {
    const auto since = connection->alone_since();
    const Duration stays = std::max(patience(*connection), kRest);
    const TimePoint due = since.value_or(now) + stays;
    if (since && due <= now) {
      left.push_back(connection.get());
    } else {
      next = std::min(next.value_or(due), due);
    }
  }
  for (AcpConnection* const connection : left) close(*connection);
  if (next) alone_timer_.arm(*next);
}

void AcpConnections::make_room() {
  if (connections_.size() < services_.backend.max_sessions()) return;
  AcpConnection* longest = nullptr;
  for (const auto& [id, connection] : connections_) {
    const auto since = connection->alone_since();
    if (since && (longest == nullptr || *since < *longest->alone_since())) {
      longest = connection.get();
    }
  }
  if (longest != nullptr) close(*longest);
}

size_t AcpConnections::free_alone(const Account* client, const std::function<bool()>& is_enough,
                                  const std::function<bool(AcpConnection&)>& free) {
  if (is_enough()) return 0;
  std::vector<AcpConnection*> alone;
  for (const auto& [id, connection] : connections_) {
    const bool is_meant = client == nullptr || connection->account() == client;
    if (is_meant && connection->alone_since()) alone.push_back(connection.get());
  }
  std::ranges::sort(alone, {}, [](const AcpConnection* one) { return *one->alone_since(); });
  size_t count = 0;
  for (AcpConnection* const connection : alone) {
    if (is_enough()) break;
    if (free(*connection)) ++count;
  }
  return count;
}

size_t AcpConnections::drop_replay(const Account* client, const std::function<bool()>& is_enough) {
  return free_alone(client, is_enough, [](AcpConnection& connection) {
    if (connection.replay_bytes() == 0) return false;
    connection.drop_replay();
    return true;
  });
}

size_t AcpConnections::forget_idle(const Account* client, const std::function<bool()>& is_enough) {
  const TimePoint before = services_.clock.now() - kLongAlone;
  return free_alone(client, is_enough, [this, before](AcpConnection& connection) {
    if (connection.has_calls() || *connection.alone_since() > before) return false;
    close(connection);
    return true;
  });
}

void AcpConnections::drain() {
  std::vector<AcpConnection*> left;
  for (const auto& [id, connection] : connections_) {
    connection->end_listening();
    if (connection->alone_since() && !connection->has_calls()) left.push_back(connection.get());
  }
  for (AcpConnection* const connection : left) close(*connection);
}

void AcpConnections::close_all() {
  while (!connections_.empty()) close(*connections_.begin()->second);
}

void AcpConnections::check_invariants() const {
  for (const auto& [id, connection] : connections_) connection->check_invariants();
}

}  // namespace stdgate::acp
