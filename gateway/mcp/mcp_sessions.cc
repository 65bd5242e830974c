#include "gateway/mcp/mcp_sessions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "gateway/rpc/json_member.h"

namespace stdgate::mcp {

namespace {

// Empty when there is no such string.
std::string_view string_member(std::string_view object, std::string_view key) {
  const std::string_view raw = rpc::find_member(object, key).value_or(std::string_view());
  return raw.size() < 2 || raw.front() != '"' ? std::string_view() : raw.substr(1, raw.size() - 2);
}

}  // namespace

McpSessions::McpSessions(const McpSessionServices& services, Duration idle_timeout, SessionIds& ids)
    : services_(services),
      idle_timeout_(idle_timeout),
      ids_(ids),
      over_timer_(services.timers, [this] { close_those_over(); }),
      idle_timer_(services.timers, [this] { close_idle(); }) {}

McpSessions::~McpSessions() { close_all(); }

tl::expected<McpSession*, rpc::FaultReport> McpSessions::open(McpSession::Kind kind,
                                                              const ClientAddress& client,
                                                              std::string_view initialize) {
  McpSessionOwner& owner = *this;
  const std::string_view revision = string_member(initialize, "protocolVersion");
  std::string id = ids_.issue({services_.backend.name(), revision, {}, initialize});
  auto session = std::make_unique<McpSession>(services_, owner, std::move(id), kind);
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

void McpSessions::close_all() {
  while (!sessions_.empty()) close(*sessions_.begin()->second);
}

}  // namespace stdgate::mcp
