#include "transports/http/server.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/rpc/fault.h"
#include "transports/http/http1_connection.h"
#include "transports/tls/tls_layer.h"

namespace stdgate::http {

namespace {

constexpr HttpError kTooManyConnections{503, "too many connections", {}, rpc::kRetryHint};
constexpr HttpError kTooManyOfClient{
    429, "too many connections from this address", {}, rpc::kRetryHint};

// More than one message needs, so that it is not repeated at once.
size_t after_making_room(size_t bound) { return bound - bound / 8; }

struct Candidate {
  ClientConnection* connection;
  HeldMemory held;
};

// The one that has been still for longest comes first, in whole seconds; of equals the one that
// holds most; and of these, who has taken something later stays.
bool goes_before(const Candidate& a, const Candidate& b, TimePoint now) {
  const auto still = [now](const Candidate& candidate) {
    return std::chrono::floor<std::chrono::seconds>(now - candidate.held.still_since);
  };
  if (still(a) != still(b)) return still(a) > still(b);
  if (a.held.bytes != b.held.bytes) return a.held.bytes > b.held.bytes;
  return a.held.still_since < b.held.still_since;
}

// Whether something has to be cut, where `bound` is what may be used.
bool has_to_go(const Account& account, bool was_beyond) {
  return was_beyond && account.used() > after_making_room(account.bound());
}

}  // namespace

Server::Server(const HttpServices& services, const Router& router)
    : services_(services),
      router_(router),
      routing_(router),
      spares_(std::make_shared<SpareExchanges>()),
      request_log_(services_.log, services_.observer, services_.audit, services_.loop,
                   services_.loop.timers()),
      room_timer_(services_.loop.timers(), [this] { make_room(); }),
      leave_timer_(services_.loop.timers(), [this] { end_leaving(); }),
      clients_(services_.limits.connections_per_address, services_.limits.unlimited_addresses) {
  services_.accounts.gateway().set_events(this);
}

Server::~Server() {
  services_.accounts.gateway().set_events(nullptr);
  listeners_.clear();
  leaving_.clear();
  while (!connections_.empty()) connections_.back()->cut();
  services_.loop.forget(*this);
}

namespace {

ConnectionTraits traits_of(const net::Listener& listener, uint32_t number,
                           const ListenerTraits& of_listener) {
  ConnectionTraits traits;
  traits.listener = number;
  traits.is_secure = of_listener.tls != nullptr;
  traits.anonymous = of_listener.anonymous;
  traits.local = listener.local_address();
  if (listener.address().kind == Address::Kind::unix_socket) {
    traits.reach = ConnectionTraits::Reach::unix_socket;
  } else if (!traits.local.is_loopback()) {
    traits.reach = ConnectionTraits::Reach::network;
  }
  return traits;
}

}  // namespace

tl::expected<Address, std::string> Server::listen(const Address& address,
                                                  const ListenerTraits& traits,
                                                  net::FileDescriptor passed) {
  auto listener = net::Listener::open(services_.loop, address, *this, std::move(passed));
  if (!listener) return tl::unexpected(std::move(listener.error()));
  listeners_.push_back({std::move(*listener), traits, ++last_listener_});
  return listeners_.back().listener->address();
}

void Server::on_connection(net::Listener& listener) {
  const auto place =
      std::find_if(listeners_.begin(), listeners_.end(),
                   [&listener](const auto& owned) { return owned.listener.get() == &listener; });
  tls::TlsLayer* const tls = place->traits.tls;
  auto connection =
      make_connection({traits_of(listener, place->number, place->traits), listener.peer()});
  int error = 0;
  std::unique_ptr<net::Stream> stream = listener.accept(*connection, &error);
  if (stream == nullptr) return;  // gone already
  if (tls != nullptr) stream = tls->wrap(std::move(stream), listener.peer());
  admit(std::move(connection), std::move(stream));
}

void Server::serve(std::unique_ptr<net::Stream> stream, const AcceptedClient& client) {
  admit(make_connection(client), std::move(stream));
}

std::unique_ptr<Http1Connection> Server::make_connection(const AcceptedClient& client) {
  auto connection = std::make_unique<Http1Connection>(*this);
  connection->set_peer({++accepted_, client.traits, client.address});
  return connection;
}

void Server::admit(std::unique_ptr<Http1Connection> connection,
                   std::unique_ptr<net::Stream> stream) {
  if (connections_.size() - turned_away_ >= services_.limits.connections) {
    turn_away(std::move(connection), std::move(stream), kTooManyConnections);
  } else if (!clients_.add(connection->client())) {
    turn_away(std::move(connection), std::move(stream), kTooManyOfClient);
  } else {
    open(std::move(connection), std::move(stream));
  }
}

void Server::open(std::unique_ptr<Http1Connection> connection,
                  std::unique_ptr<net::Stream> stream) {
  Http1Connection& opened = *connection;
  opened.set_place(connections_.size());
  connections_.push_back(std::move(connection));
  services_.observer.on_connection_opened(opened.kind());
  opened.open(std::move(stream));
}

void Server::turn_away(std::unique_ptr<Http1Connection> connection,
                       std::unique_ptr<net::Stream> stream, const HttpError& error) {
  if (turned_away_lines_.allow(services_.loop.now())) {
    services_.log.write(LogLevel::warn, "connection refused",
                        {{"reason", std::string_view(error.message)},
                         {"client", connection->client().to_string()},
                         {"connections", static_cast<uint64_t>(connections_.size())},
                         {"suppressed", turned_away_lines_.take_suppressed()}});
  }
  if (turned_away_ >= kMaxTurnedAway) return;  // closed without an answer
  ++turned_away_;
  Http1Connection& opened = *connection;
  opened.set_turned_away(true);
  open(std::move(connection), std::move(stream));
  opened.turn_away(error);
}

void Server::on_accept_error(int error) {
  if (!accept_errors_.allow(services_.loop.now())) return;
  services_.log.write(LogLevel::warn, "cannot accept connections",
                      {{"error", std::string_view(uv_strerror(error))},
                       {"connections", static_cast<uint64_t>(connections_.size())}});
}

void Server::resume_later(ClientConnection& connection) {
  connection.set_resume_place(to_resume_.size());
  to_resume_.push_back(&connection);
  services_.loop.flush_later(*this);
}

void Server::flush() {
  resuming_.swap(to_resume_);
  for (size_t i = 0; i < resuming_.size(); ++i) {
    // By index, each taken out before its call: remove() may reach the others.
    if (ClientConnection* connection = std::exchange(resuming_[i], nullptr)) connection->resume();
  }
  resuming_.clear();
}

void Server::forget_resume(ClientConnection& connection) {
  const size_t place = connection.resume_place();
  for (auto* list : {&to_resume_, &resuming_}) {
    if (place < list->size() && (*list)[place] == &connection) (*list)[place] = nullptr;
  }
}

void Server::replace(ClientConnection& connection, std::unique_ptr<ClientConnection> successor) {
  forget_resume(connection);
  services_.observer.on_connection_closed(connection.kind());
  services_.observer.on_connection_opened(successor->kind());
  successor->set_place(connection.place());
  successor->set_peer(connection.peer());
  successor->set_turned_away(connection.is_turned_away());
  services_.loop.retire(std::exchange(connections_[connection.place()], std::move(successor)));
}

void Server::remove(ClientConnection& connection) {
  forget_resume(connection);
  if (connection.is_turned_away()) {
    STDGATE_CHECK(turned_away_ > 0);
    --turned_away_;
  } else {
    clients_.remove(connection.client());
  }
  const uint32_t listener = connection.peer().traits.listener;
  const size_t place = connection.place();
  STDGATE_CHECK(place < connections_.size() && connections_[place].get() == &connection);
  services_.loop.retire(std::exchange(connections_[place], std::move(connections_.back())));
  connections_.pop_back();
  if (place < connections_.size()) connections_[place]->set_place(place);
  services_.observer.on_connection_closed(connection.kind());
  note_left(listener);
  if (connections_.empty() && on_gone_) std::exchange(on_gone_, nullptr)();
}

// --- Memory --------------------------------------------------------------------------------------

void Server::on_account_over() {
  // In the next turn: what was written in this one has not been offered to its clients yet.
  if (!room_timer_.armed()) room_timer_.arm(std::max(services_.loop.now(), room_after_));
}

void Server::relieve() {
  const TimePoint now = services_.loop.now();
  if (services_.relief == nullptr || now < relief_after_) return;
  const Account& gateway = services_.accounts.gateway();
  const size_t before = gateway.used();
  services_.relief->relieve_now();
  if (gateway.used() >= before) relief_after_ = now + kRoomPause;
}

// Of clients that hold more than one may, and of all if all together do.
void Server::make_room() {
  relieve();
  const TimePoint now = services_.loop.now();
  Account& gateway = services_.accounts.gateway();
  const bool is_of_all = gateway.is_beyond_bound();
  std::vector<Candidate> candidates;
  std::unordered_set<const Account*> beyond;  // of clients that hold too much
  for (const auto& connection : connections_) {
    const HeldMemory held = connection->held_memory();
    if (held.still_since == TimePoint{}) continue;
    const Account* const account = connection->account();
    const bool is_beyond = account != nullptr && account->is_beyond_bound();
    if (!is_of_all && !is_beyond) continue;
    candidates.push_back({connection.get(), held});
    if (is_beyond) beyond.insert(account);
  }
  // Few of many are cut: a heap costs less than sorting them all.
  const auto comes_later = [now](const auto& a, const auto& b) { return goes_before(b, a, now); };
  std::make_heap(candidates.begin(), candidates.end(), comes_later);
  const size_t before = gateway.used();
  size_t cut = 0;
  while (!candidates.empty()) {
    std::pop_heap(candidates.begin(), candidates.end(), comes_later);
    ClientConnection& connection = *candidates.back().connection;
    candidates.pop_back();
    const Account* const account = connection.account();
    const bool is_wanted = has_to_go(gateway, is_of_all) ||
                           (account != nullptr && has_to_go(*account, beyond.contains(account)));
    if (!is_wanted) continue;
    connection.cut();
    ++cut;
  }
  if (cut == 0) {
    room_after_ = now + kRoomPause;
    return;
  }
  log_cut(is_of_all, cut, before - gateway.used());
}

void Server::log_cut(bool is_of_all, size_t count, size_t bytes) {
  if (!cuts_.allow(services_.loop.now())) return;
  services_.log.write(LogLevel::warn,
                      is_of_all ? "limits.buffered is used up: slow connections closed"
                                : "limits.buffered_per_client is used up: slow connections closed",
                      {{"closed", static_cast<uint64_t>(count)},
                       {"bytes", static_cast<uint64_t>(bytes)},
                       {"suppressed", cuts_.take_suppressed()}});
}

void Server::log_slow(const ClientConnection& connection, size_t unsent) {
  if (!slow_.allow(services_.loop.now())) return;
  services_.log.write(LogLevel::info, "connection closed: its client reads too slowly",
                      {{"transport", connection_kind_name(connection.kind())},
                       {"client", connection.client().to_string()},
                       {"unsent", static_cast<uint64_t>(unsent)},
                       {"suppressed", slow_.take_suppressed()}});
}

void Server::end_credentials(const std::function<bool(const policy::Principal&)>& is_good) {
  // Backwards: one that goes is replaced by one that has been asked already.
  for (size_t i = connections_.size(); i > 0; --i) {
    const policy::Principal* const principal = connections_[i - 1]->principal();
    if (principal != nullptr && !is_good(*principal)) connections_[i - 1]->end_credential();
  }
}

void Server::report_written() {
  for (const auto& connection : connections_) connection->report_written();
}

// --- Listeners that change -----------------------------------------------------------------------

std::vector<Server::Listening>::iterator Server::listening_at(const Address& bound) {
  const auto place = std::ranges::find_if(
      listeners_, [&bound](const auto& one) { return one.listener->address() == bound; });
  STDGATE_CHECK(place != listeners_.end());
  return place;
}

void Server::close_listener(const Address& bound, std::function<void()> on_left) {
  const auto place = listening_at(bound);
  place->listener->take_waiting();
  const uint32_t number = place->number;
  listeners_.erase(place);
  let_leave(number, std::move(on_left));
}

void Server::change_listener(const Address& bound, const ListenerTraits& traits,
                             std::function<void()> on_left) {
  const auto place = listening_at(bound);
  const uint32_t number = std::exchange(place->number, ++last_listener_);
  place->traits = traits;
  let_leave(number, std::move(on_left));
}

void Server::let_leave(uint32_t listener, std::function<void()> on_left) {
  size_t count = 0;
  for (const auto& connection : connections_) {
    if (connection->peer().traits.listener != listener) continue;
    connection->leave();
    ++count;
  }
  if (count > 0) {
    leaving_.emplace(listener, Leaving{count, std::move(on_left)});
  } else if (on_left) {
    on_left();
  }
  left_at_ = services_.loop.now();
  leave_timer_.arm(left_at_ + kLastRequests);
}

void Server::note_left(uint32_t listener) {
  const auto leaving = leaving_.find(listener);
  if (leaving == leaving_.end() || --leaving->second.connections > 0) return;
  const auto on_left = std::move(leaving->second.on_left);
  leaving_.erase(leaving);
  if (on_left) on_left();
}

void Server::end_leaving() {
  const auto is_open = [this](uint32_t number) {
    return std::ranges::find(listeners_, number, &Listening::number) != listeners_.end();
  };
  const TimePoint end = left_at_ + std::max(kLastRequests, services_.timeouts.drain);
  const bool is_over = services_.loop.now() >= end;
  // Backwards: one that closes is replaced by one that has been asked already.
  for (size_t i = connections_.size(); i > 0; --i) {
    ClientConnection& connection = *connections_[i - 1];
    if (is_open(connection.peer().traits.listener)) continue;
    is_over ? connection.close() : connection.drain();
  }
  if (!is_over) leave_timer_.arm(end);
}

// --- The end -------------------------------------------------------------------------------------

void Server::stop_accepting() {
  stopping_ = true;
  for (const Listening& listening : listeners_) listening.listener->take_waiting();
  listeners_.clear();
}

bool Server::has_requests() const {
  return std::ranges::any_of(connections_,
                             [](const auto& connection) { return connection->has_request(); });
}

void Server::drain(std::function<void()> on_gone) {
  stop_accepting();
  draining_ = true;
  on_gone_ = std::move(on_gone);
  // Backwards: one that closes is replaced by one that has been asked already.
  for (size_t i = connections_.size(); i > 0; --i) connections_[i - 1]->drain();
  if (connections_.empty() && on_gone_) std::exchange(on_gone_, nullptr)();
}

void Server::close_all() {
  listeners_.clear();
  while (!connections_.empty()) connections_.back()->close();
}

}  // namespace stdgate::http
