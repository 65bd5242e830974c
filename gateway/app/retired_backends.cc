#include "gateway/app/retired_backends.h"

#include <algorithm>
#include <utility>

namespace stdgate::app {
namespace {

constexpr const char* kReplaced = "the configuration has changed; connect again";

rpc::FaultReport replaced_fault() {
  return rpc::faults::overloaded("the configuration has changed while the call was under way");
}

}  // namespace

RetiredBackends::RetiredBackends(Services services)
    : services_(std::move(services)), wake_(services_.timers, [] {}) {}

void RetiredBackends::add(backend::Upstream& upstream, std::unique_ptr<mcp::McpSessions> sessions,
                          Agents agents) {
  services_.log.write(LogLevel::info, "backend retired",
                      {{"backend", upstream.name()},
                       {"calls", static_cast<uint64_t>(upstream.calls())},
                       {"sessions", static_cast<uint64_t>(upstream.status().sessions)}});
  retired_.push_back({&upstream, std::move(sessions), std::move(agents),
                      services_.clock.now() + services_.drain, false});
  upstream.retire();
  upstream.end_listening();
  wake_.arm_by(services_.clock.now());
}

void RetiredBackends::note(const std::vector<std::shared_ptr<http::Endpoint>>& endpoints) {
  std::erase_if(reaches_, [](const Reach& reach) { return reach.endpoint.expired(); });
  for (const auto& endpoint : endpoints) {
    if (endpoint->upstream() != nullptr) reaches_.push_back({endpoint->upstream(), endpoint});
  }
}

bool RetiredBackends::is_idle(const backend::Upstream& upstream) {
  return upstream.calls() == 0 && !is_reachable(upstream) && upstream.status().sessions == 0;
}

void RetiredBackends::end_what_is_over() {
  const TimePoint now = services_.clock.now();
  for (Retired& retired : retired_) {
    if (retired.is_ending) continue;
    const bool is_late = now >= retired.deadline;
    const bool is_done = !is_late && is_idle(*retired.upstream);
    if (is_late || (is_done && !retired.upstream->holds_work())) {
      end(retired);
    } else {
      wake_.arm_by(is_done ? std::min(now + kClaims, retired.deadline) : retired.deadline);
    }
  }
  std::erase_if(retired_, [this](Retired& retired) {
    const backend::Upstream& upstream = *retired.upstream;
    if (!retired.is_ending || upstream.has_children() || is_reachable(upstream)) return false;
    services_.log.write(LogLevel::info, "retired backend has ended",
                        {{"backend", upstream.name()}});
    retired.sessions.reset();
    retired.agents.connections.reset();
    services_.backends.remove(upstream);
    return true;
  });
}

void RetiredBackends::end(Retired& retired) {
  backend::Upstream& upstream = *retired.upstream;
  retired.is_ending = true;
  upstream.drain();
  if (retired.agents.door != nullptr) {
    note({retired.agents.door, retired.agents.socket});  // WebSockets may use it
    retired.agents.door.reset();
    retired.agents.socket.reset();
  }
  services_.reroute();
  const uint64_t calls = upstream.calls();
  const uint64_t open = upstream.status().sessions;
  if (calls > 0 || open > 0) {
    services_.log.write(LogLevel::warn,
                        "retired backend ends while calls or sessions are still open",
                        {{"backend", upstream.name()}, {"calls", calls}, {"sessions", open}});
  }
  upstream.fail_calls(replaced_fault());
  if (retired.sessions != nullptr) retired.sessions->close_all();
  upstream.end_sessions(session::SessionEnd::replaced, kReplaced);
  upstream.end_children(upstream.grace());
}

bool RetiredBackends::is_reachable(const backend::Upstream& upstream) {
  std::erase_if(reaches_, [](const Reach& reach) { return reach.endpoint.expired(); });
  return std::ranges::find(reaches_, &upstream, &Reach::upstream) != reaches_.end();
}

mcp::McpSessions* RetiredBackends::sessions_of(std::string_view name) const {
  for (size_t i = retired_.size(); i > 0; --i) {
    const Retired& retired = retired_[i - 1];
    if (retired.upstream->name() == name) return retired.sessions.get();
  }
  return nullptr;
}

std::shared_ptr<http::Endpoint> RetiredBackends::door_of(std::string_view name) const {
  for (size_t i = retired_.size(); i > 0; --i) {
    const Retired& retired = retired_[i - 1];
    if (retired.upstream->name() == name) return retired.agents.door;
  }
  return nullptr;
}

void RetiredBackends::leave_to_shutdown() {
  is_left_to_shutdown_ = true;
  for_each_sessions([](mcp::McpSessions& sessions) { sessions.drain(); });
  for_each_connections([](acp::AcpConnections& connections) { connections.drain(); });
}

bool RetiredBackends::has_sessions() const {
  return std::ranges::any_of(retired_, [](const Retired& retired) {
    const bool has_sessions = retired.sessions != nullptr && retired.sessions->size() > 0;
    const acp::AcpConnections* const connections = retired.agents.connections.get();
    return has_sessions || (connections != nullptr && connections->size() > 0);
  });
}

void RetiredBackends::check_invariants() const {
  for_each_sessions([](const mcp::McpSessions& sessions) { sessions.check_invariants(); });
  for_each_connections([](const acp::AcpConnections& some) { some.check_invariants(); });
}

}  // namespace stdgate::app
