#include "gateway/mcp/mcp_sessions.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace stdgate::mcp {

McpSessions::McpSessions(const McpSessionServices& services, Duration idle_timeout, NewId new_id)
    : services_(services),
      idle_timeout_(idle_timeout),
      new_id_(std::move(new_id)),
      over_timer_(services.timers, [this] { close_those_over(); }),
      idle_timer_(services.timers, [this] { close_idle(); }) {}

McpSessions::~McpSessions() { close_all(); }

tl::expected<McpSession*, rpc::FaultReport> McpSessions::open(McpSession::Kind kind,
                                                              const ClientAddress& client) {
  McpSessionOwner& owner = *this;
  auto session = std::make_unique<McpSession>(services_, owner, new_id_(), kind);
  if (const auto opened = session->open(client); !opened) return tl::unexpected(opened.error());
  McpSession* opened = session.get();
  sessions_.emplace(opened->id(), std::move(session));
  if (!idle_timer_.armed()) idle_timer_.arm(services_.clock.now() + idle_timeout_);
  return opened;
}

McpSession* McpSessions::find(std::string_view id, McpSession::Kind kind) const {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return nullptr;
  McpSession* session = found->second.get();
  return session->is_over() || session->kind() != kind ? nullptr : session;
}

void McpSessions::detach(std::string_view id, session::EventSink& sink) const {
  const auto found = sessions_.find(id);
  if (found != sessions_.end()) found->second->detach(sink);
}

void McpSessions::on_sink_writable(std::string_view id) const {
  const auto found = sessions_.find(id);
  if (found != sessions_.end()) found->second->on_sink_writable();
}

void McpSessions::close(McpSession& session) {
  session.close();
  sessions_.erase(session.id());
}

void McpSessions::on_session_over(McpSession& /*session*/) {
  over_timer_.arm(services_.clock.now());
}

void McpSessions::close_those_over() {
  std::vector<McpSession*> over;
  for (const auto& [id, session] : sessions_) {
    if (session->is_over()) over.push_back(session.get());
  }
  for (McpSession* session : over) close(*session);
}

void McpSessions::close_idle() {
  const TimePoint now = services_.clock.now();
  TimePoint next = now + idle_timeout_;
  std::vector<McpSession*> idle;
  for (const auto& [id, session] : sessions_) {
    const auto since = session->idle_since();
    if (!since) continue;
    if (*since + idle_timeout_ <= now) {
      idle.push_back(session.get());
    } else {
      next = std::min(next, *since + idle_timeout_);
    }
  }
  for (McpSession* session : idle) close(*session);
  if (!sessions_.empty()) idle_timer_.arm(next);
}

void McpSessions::drain() {
  for (const auto& [id, session] : sessions_) session->end_listening();
}

void McpSessions::check_invariants() const {
  for (const auto& [id, session] : sessions_) session->check_invariants();
}

void McpSessions::close_all() {
  while (!sessions_.empty()) close(*sessions_.begin()->second);
}

}  // namespace stdgate::mcp
