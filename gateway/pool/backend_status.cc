#include "gateway/pool/backend_status.h"

namespace stdgate::pool {

std::string_view backend_state_name(BackendState state) {
  switch (state) {
    case BackendState::unstarted:
      return "not started yet";
    case BackendState::starting:
      return "starting";
    case BackendState::started:
      return "started";
    case BackendState::ready:
      return "ready";
    case BackendState::idle:
      return "idle";
    case BackendState::failing:
      return "failing";
    case BackendState::ending:
      return "ending";
  }
  return {};
}

}  // namespace stdgate::pool
