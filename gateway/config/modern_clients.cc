#include "gateway/config/modern_clients.h"

namespace stdgate::config {

ModernClients modern_clients(const BackendConfig& backend) {
  if (backend.bridge == Bridge::off) {
    return {"clients of MCP 2026-07-28 have to open a session",
            "for those that cannot: bridge: auto with isolation: principal or shared, or bridge: "
            "true"};
  }
  switch (backend.isolation) {
    case Isolation::principal:
      return {"clients of MCP 2026-07-28 are served by the process of their principal", {}};
    case Isolation::shared:
      return {"clients of MCP 2026-07-28 share processes with all others", {}};
    case Isolation::session:
      break;
  }
  if (backend.bridge == Bridge::on) {
    return {"each call of an anonymous client of MCP 2026-07-28 has a process of its own", {}};
  }
  return {"clients of MCP 2026-07-28 have to open a session",
          "for those that cannot: isolation: principal, isolation: shared, or bridge: true"};
}

ModernClients modern_clients_of_servers(const BackendConfig& backend) {
  if (backend.bridge == Bridge::off) {
    return {"clients of MCP 2026-07-28 do without it",
            "for these: bridge: true, isolation: principal or isolation: shared"};
  }
  if (backend.isolation != Isolation::session) return modern_clients(backend);
  return {"each call of an anonymous client of MCP 2026-07-28 has a process of its own",
          "where it keeps something between calls: isolation: principal, or bridge: false"};
}

ModernClients modern_clients_of_both_eras(const BackendConfig& backend) {
  // Legacy sessions share it.
  const bool is_shared_as_legacy =
      backend.isolation == Isolation::shared && backend.revision != Revision::modern;
  const bool is_each_principals = backend.isolation == Isolation::principal;
  if (backend.revision == Revision::legacy || is_shared_as_legacy || is_each_principals) {
    return modern_clients(backend);
  }
  return {"clients of MCP 2026-07-28 share its processes, and what these keep in memory",
          "where they must not: isolation: principal, or revision: legacy for sessions alone"};
}

std::string more_on_bridge(const BackendConfig& backend) {
  if (backend.revision == Revision::modern) return {};
  std::string text(modern_clients(backend).advice);
  if (backend.bridge != Bridge::automatic || backend.isolation != Isolation::session) return text;
  const ModernClients in_servers = modern_clients_of_servers(backend);
  text.append(text.empty() ? "" : ". ").append("In a virtual server: ").append(in_servers.what);
  return text.append("; ").append(in_servers.advice);
}

}  // namespace stdgate::config
