// What the keys of a sandbox mean together, and what its words stand for.
#pragma once

#include <span>

#include "gateway/config/section_reader.h"
#include "gateway/config/value_names.h"

namespace stdgate::config {

// The words that stand for a whole section; the first is its default, which is not printed.
std::span<const Named<NetworkConfig>> words_of(const NetworkConfig&);
std::span<const Named<SandboxConfig>> words_of(const SandboxConfig&);

// Before a section's keys are read: that it is there means something.
void begin_section(NetworkConfig& out);
void begin_section(SandboxConfig& out);

// `out` has been read from the section of a backend; fills in what depends on other keys, and
// records errors.
void complete_sandbox(const Section& sandbox, SandboxConfig& out);

}  // namespace stdgate::config
