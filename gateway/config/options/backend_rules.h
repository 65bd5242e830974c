// Rules across the keys of a backend, and defaults that depend on its protocol.
#pragma once

#include <span>

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"
#include "gateway/config/value_names.h"

namespace stdgate::config {

// Rules across the keys of backends.<name>.pool, and what they have to do with other sections.

// `lanes_known`: protocol and isolation could be read, so the pool can be checked against them.
void check_pool(const Section& pool, const LimitsConfig& limits, bool lanes_known,
                const BackendConfig& backend);

// Rules across the keys of a sandbox, and the meaning of its words.

// The words that stand for a whole section; the first is its default, which is not printed.
std::span<const Named<NetworkConfig>> words_of(const NetworkConfig&);
std::span<const Named<SandboxConfig>> words_of(const SandboxConfig&);

// Before a section's keys are read: that it is there means something.
void begin_section(NetworkConfig& out);
void begin_section(SandboxConfig& out);

// `out` has been read from the section of a backend; fills in what depends on other keys, and
// records errors.
void complete_sandbox(const Section& sandbox, SandboxConfig& out);

// `out` has been read from `backend`; fills in what depends on other keys, and records errors.
void complete_backend(const Section& backend, const LimitsConfig& limits, BackendConfig& out);

}  // namespace stdgate::config
