#include "gateway/mcp/mcp_sessions.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace stdgate::mcp {

void EndedIds::add(std::string_view id, TimePoint now, TimePoint expiry) {
  add(Entry{std::hash<std::string_view>()(id), expiry}, now);
}

void EndedIds::add_all(const EndedIds& others, TimePoint now) {
  for (const Entry& entry : others.entries_) add(entry, now);
}

void EndedIds::add(const Entry& entry, TimePoint now) {
  drop_expired(now);
  if (entries_.size() == kMaxIds) drop_first();
  entries_.push_back(entry);
  hashes_.insert(entry.hash);
}

bool EndedIds::contains(std::string_view id, TimePoint now) {
  drop_expired(now);
  return hashes_.contains(std::hash<std::string_view>()(id));
}

// An id that expires early may stand behind one that expires late, and then stays as long.
void EndedIds::drop_expired(TimePoint now) {
  while (!entries_.empty() && entries_.front().expiry <= now) drop_first();
}

void EndedIds::drop_first() {
  hashes_.erase(hashes_.find(entries_.front().hash));
  entries_.pop_front();
}

McpSessions::McpSessions(const McpSessionServices& services, Duration idle_timeout,
                         session::SessionIds& ids)
    : services_(services),
      idle_timeout_(idle_timeout),
      ids_(ids),
      over_timer_(services.timers, [this] { close_those_over(); }),
      idle_timer_(services.timers, [this] { settle_idle(); }) {}

// Links the neighbours of this in the chain. The successor takes the ended ids, so that no such
// session is taken over there.
McpSessions::~McpSessions() {
  close_all();
  if (successor_ != nullptr) {
    successor_->ended_.add_all(ended_, services_.clock.now());
    successor_->predecessor_ = predecessor_;
  }
  if (predecessor_ != nullptr) predecessor_->successor_ = successor_;
}

void McpSessions::succeed(McpSessions& predecessor) {
  predecessor_ = &predecessor;
  predecessor.successor_ = this;
}

bool McpSessions::knows(std::string_view id) {
  return sessions_.contains(id) || ended_.contains(id, services_.clock.now()) ||
         (predecessor_ != nullptr && predecessor_->knows(id));
}

tl::expected<McpSession*, rpc::FaultReport> McpSessions::open(McpSession::Kind kind,
                                                              const policy::Client& client,
                                                              std::string_view initialize) {
  McpSession::Id id;
  id.text = ids_.issue({services_.backend.name(), client.principal.get(), initialize});
  id.name = ids_.name_of(id.text);
  const auto lifetime = ids_.lifetime();
  const TimePoint expiry = lifetime ? services_.clock.now() + *lifetime : TimePoint::max();
  auto session =
      std::make_unique<McpSession>(services_, *this, std::move(id), kind, client, expiry);
  if (const auto opened = session->open(client); !opened) return tl::unexpected(opened.error());
  return &keep(std::move(session));
}

McpSession& McpSessions::keep(std::unique_ptr<McpSession> session) {
  make_room();
  McpSession& kept = *session;
  ++counts_[kept.account()];
  sessions_.emplace(kept.id(), std::move(session));
  idle_timer_.arm_by(std::min(services_.clock.now() + idle_timeout_, kept.expiry()));
  return kept;
}

tl::expected<McpSession*, rpc::FaultReport> McpSessions::reach(
    std::string_view id, McpSession::Kind kind, const policy::Client& client,
    std::optional<McpRevision> revision) {
  if (predecessor_ != nullptr && predecessor_->knows(id)) {
    return predecessor_->reach(id, kind, client, revision);
  }
  const policy::Principal* const principal = client.principal.get();
  if (sessions_.contains(id) || kind != McpSession::Kind::streamable) {
    return find(id, kind, principal);
  }
  const TimePoint now = services_.clock.now();
  const auto carried = ids_.open(id, services_.backend.name(), principal);
  if (!carried || carried->initialize.empty() || ended_.contains(id, now)) return nullptr;
  auto session = std::make_unique<McpSession>(services_, *this,
                                              McpSession::Id{std::string(id), ids_.name_of(id)},
                                              kind, client, now + carried->left);
  if (const auto adopted = session->adopt(client, *carried, revision); !adopted) {
    return tl::unexpected(adopted.error());
  }
  return &keep(std::move(session));
}

McpSession* McpSessions::find(std::string_view id, McpSession::Kind kind,
                              const policy::Principal* principal) const {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) {
    return predecessor_ == nullptr ? nullptr : predecessor_->find(id, kind, principal);
  }
  McpSession* session = found->second.get();
  const bool is_meant = session->kind() == kind && policy::is_same(session->principal(), principal);
  return session->is_over() || !is_meant ? nullptr : session;
}

bool McpSessions::has_ended(std::string_view id) const {
  const auto found = sessions_.find(id);
  if (found != sessions_.end()) return found->second->is_over();
  return predecessor_ == nullptr || predecessor_->has_ended(id);
}

void McpSessions::detach(std::string_view id, session::EventSink& sink) const {
  const auto found = sessions_.find(id);
  if (found != sessions_.end()) return found->second->detach(sink);
  if (predecessor_ != nullptr) predecessor_->detach(id, sink);
}

void McpSessions::on_sink_writable(std::string_view id) const {
  const auto found = sessions_.find(id);
  if (found != sessions_.end()) return found->second->on_sink_writable();
  if (predecessor_ != nullptr) predecessor_->on_sink_writable(id);
}

void McpSessions::close(McpSession& session) {
  if (!sessions_.contains(session.id())) return predecessor_->close(session);
  if (const auto carried = ids_.open(session.id(), services_.backend.name(), session.principal())) {
    const TimePoint now = services_.clock.now();
    ended_.add(session.id(), now, now + carried->left);
  }
  forget(session);
}

namespace {

// Whether `a` is to go before `b`: parked sessions first, then the ones that have been idle longer.
bool is_less_missed(const McpSession& a, const McpSession& b) {
  if (a.is_parked() != b.is_parked()) return a.is_parked();
  return a.idle_since() < b.idle_since();
}

}  // namespace

// Makes room for one more session. The client with most sessions gives one up, so that no single
// client takes all places. Of many sessions only a part is looked at, and another part each time.
void McpSessions::make_room() {
  if (sessions_.size() < services_.backend.max_sessions()) return;
  McpSession* best = nullptr;
  size_t most = 0;
  size_t looked_at = 0;
  for (size_t i = 0; i < sessions_.bucket_count() && looked_at < kMaxLook; ++i) {
    next_bucket_ = (next_bucket_ + 1) % sessions_.bucket_count();
    for (auto some = sessions_.begin(next_bucket_); some != sessions_.end(next_bucket_); ++some) {
      ++looked_at;
      McpSession& session = *some->second;
      if (!session.idle_since()) continue;
      const size_t count = counts_.at(session.account());
      if (count < most || (count == most && !is_less_missed(session, *best))) continue;
      best = &session;
      most = count;
    }
  }
  if (best != nullptr) forget(*best);
}

std::vector<McpSession*> McpSessions::idle_sessions(const Account* client) const {
  std::vector<McpSession*> idle;
  for (const auto& [id, session] : sessions_) {
    const bool is_meant = client == nullptr || session->account() == client;
    if (is_meant && session->idle_since()) idle.push_back(session.get());
  }
  std::ranges::sort(idle, [](const auto* a, const auto* b) { return is_less_missed(*a, *b); });
  return idle;
}

size_t McpSessions::drop_replay(const Account* client, const std::function<bool()>& is_enough) {
  size_t count = 0;
  if (is_enough()) return count;
  for (McpSession* const session : idle_sessions(client)) {
    if (is_enough()) break;
    if (session->replay_bytes() == 0) continue;
    session->drop_replay();
    ++count;
  }
  return count;
}

size_t McpSessions::forget_idle(const Account* client, const std::function<bool()>& is_enough) {
  size_t count = 0;
  if (is_enough()) return count;
  const TimePoint now = services_.clock.now();
  for (McpSession* const session : idle_sessions(client)) {
    if (is_enough()) break;
    if (!session->is_parked()) {
      const bool is_long = now - *session->idle_since() >= kLongIdle;
      if (!is_long || session->park() != session::Parking::parked) continue;
    }
    forget(*session);
    ++count;
  }
  return count;
}

void McpSessions::forget(McpSession& session) {
  const auto count = counts_.find(session.account());
  if (--count->second == 0) counts_.erase(count);
  session.close();
  sessions_.erase(session.id());
}

void McpSessions::on_session_over(McpSession& session) {
  over_.push_back(session.id());
  over_timer_.arm(services_.clock.now());
}

void McpSessions::close_those_over() {
  for (const std::string& id : std::exchange(over_, {})) {
    const auto found = sessions_.find(id);
    if (found != sessions_.end()) close(*found->second);
  }
}

void McpSessions::settle_idle() {
  const TimePoint now = services_.clock.now();
  TimePoint next = now + idle_timeout_;
  std::vector<McpSession*> old;
  for (const auto& [id, session] : sessions_) {
    if (session->expiry() <= now) {
      old.push_back(session.get());
      continue;
    }
    next = std::min(next, session->expiry());
    const auto since = session->idle_since();
    if (!since || session->is_parked()) continue;
    if (*since + idle_timeout_ > now) {
      next = std::min(next, *since + idle_timeout_);
    } else if (session->park() == session::Parking::refused) {
      old.push_back(session.get());
    }
  }
  for (McpSession* session : old) close(*session);
  if (!sessions_.empty()) idle_timer_.arm(std::max(next, now + kRest));
}

void McpSessions::drain() {
  for (const auto& [id, session] : sessions_) session->end_listening();
}

void McpSessions::check_invariants() const {
  for (const auto& [id, session] : sessions_) session->check_invariants();
}

void McpSessions::close_all() {
  while (!sessions_.empty()) forget(*sessions_.begin()->second);
}

}  // namespace stdgate::mcp
