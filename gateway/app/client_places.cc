#include "gateway/app/client_places.h"

namespace stdgate::app {

namespace {

constexpr size_t kSpare = 16;
// A backend has sessions with a child, and as many without one (SessionRouter).
constexpr size_t kSessionsOfEachPlace = 2;
// An MCP session over HTTP, and what listens for it at modern children (SessionListener).
constexpr size_t kCallersOfASession = 2;

}  // namespace

size_t client_places(const config::Config& config) {
  size_t count = config.limits.connections + kSpare;
  for (const config::BackendConfig& backend : config.backends) {
    if (backend.protocol != config::Protocol::mcp) continue;
    count += kCallersOfASession * kSessionsOfEachPlace * backend.pool.sessions;
  }
  return count;
}

std::string why_no_client(const session::Callers& callers) {
  if (!callers.is_full()) return {};
  const std::string number = std::to_string(callers.capacity());
  return "all " + number + " places of clients are taken; raise limits.connections";
}

}  // namespace stdgate::app
