#include "transports/http/server.h"

#include <algorithm>
#include <utility>

namespace stdgate {

Server::Server(const HttpServices& services, const Router& router)
    : services_(services), router_(router), spare_(services_.loop.storages()) {}

Server::~Server() {
  close_all();
  services_.loop.forget(*this);
}

tl::expected<Address, std::string> Server::listen(const Address& address) {
  auto listener = Listener::open(services_.loop, address, *this);
  if (!listener) return tl::unexpected(std::move(listener.error()));
  listeners_.push_back(std::move(*listener));
  return listeners_.back()->address();
}

void Server::on_connection(Listener& listener) {
  const size_t limit = services_.limits.connections;
  auto connection =
      std::make_unique<Connection>(*this, ++accepted_, listener.address().is_loopback());
  int error = 0;
  auto stream = listener.accept(*connection, &error);
  // Gone already; or one too many to be even told so, then it is closed.
  if (stream == nullptr || connections_.size() >= limit + kTurnedAway) return;
  const bool one_too_many = connections_.size() >= limit;
  Connection& opened = *connection;
  opened.set_place(connections_.size());
  connections_.push_back(std::move(connection));
  services_.observer.on_connection_opened(opened.transport());
  opened.open(std::move(stream));
  if (one_too_many) opened.turn_away();
}

void Server::on_accept_error(int error) {
  if (!accept_errors_.allow(services_.loop.now())) return;
  services_.log.write(LogLevel::warn, "cannot accept connections",
                      {{"error", std::string_view(uv_strerror(error))},
                       {"connections", static_cast<uint64_t>(connections_.size())}});
}

void Server::resume_later(ClientConnection& connection) {
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
  for (auto* list : {&to_resume_, &resuming_}) {
    std::replace(list->begin(), list->end(), &connection, static_cast<ClientConnection*>(nullptr));
  }
}

void Server::replace(ClientConnection& connection, std::unique_ptr<ClientConnection> successor) {
  forget_resume(connection);
  services_.observer.on_connection_closed(connection.transport());
  services_.observer.on_connection_opened(successor->transport());
  successor->set_place(connection.place());
  services_.loop.retire(std::exchange(connections_[connection.place()], std::move(successor)));
}

void Server::remove(ClientConnection& connection) {
  forget_resume(connection);
  const size_t place = connection.place();
  services_.loop.retire(std::exchange(connections_[place], std::move(connections_.back())));
  connections_.pop_back();
  if (place < connections_.size()) connections_[place]->set_place(place);
  services_.observer.on_connection_closed(connection.transport());
  if (connections_.empty() && on_gone_) std::exchange(on_gone_, nullptr)();
}

void Server::drain(std::function<void()> on_gone) {
  draining_ = true;
  on_gone_ = std::move(on_gone);
  listeners_.clear();
  // Backwards: one that closes is replaced by one that has been asked already.
  for (size_t i = connections_.size(); i > 0; --i) connections_[i - 1]->drain();
  if (connections_.empty() && on_gone_) std::exchange(on_gone_, nullptr)();
}

void Server::close_all() {
  listeners_.clear();
  while (!connections_.empty()) connections_.back()->close();
}

}  // namespace stdgate
