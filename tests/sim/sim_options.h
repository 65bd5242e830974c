// SimOptions: what one seed draws for the backend.
#pragma once

#include "gateway/backend/backend.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

backend::BackendOptions draw_options(SimWorld& world);

// Whether calls of modern clients can have a legacy child alone.
bool can_serve_alone(const config::BackendConfig& config);

}  // namespace stdgate::sim
