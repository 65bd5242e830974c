// What the kernel offers to confine children with, and what this process is.
#pragma once

#include "gateway/pool/confinement.h"

namespace stdgate::stdio {

// Asks the kernel. unconfined_starts is 0.
pool::Confinement probe_confinement();

}  // namespace stdgate::stdio
