// Rules across the keys of a section, and what its words and short forms mean: what the reader of
// options calls before and after it has read a section.
//
// Each source has the rules of the sections whose keys the table of that name has: auth, backend,
// gateway, server. `out` has been read from the section; complete_…() fills in what depends on
// other keys, and records errors.
#pragma once

#include <span>
#include <string>

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"
#include "gateway/config/value_names.h"

namespace stdgate::config {

// --- auth_rules.cc
void complete_item(const Section& section, ApiKeyConfig& out);
void complete_item(const Section& section, JwtConfig& out);
void complete_item(const Section& section, RuleConfig& out);
void complete_item(const Section& section, SignatureConfig& out);
// Rules that need the whole configuration.
void complete_auth(const Section& root, Config& out);

// --- backend_rules.cc
// The words that stand for a whole section; the first is its default, which is not printed.
std::span<const Named<NetworkConfig>> words_of(const NetworkConfig&);
std::span<const Named<SandboxConfig>> words_of(const SandboxConfig&);
// Before a section's keys are read: that it is there means something.
void begin_section(NetworkConfig& out);
void begin_section(SandboxConfig& out);
void complete_backend(const Section& backend, const LimitsConfig& limits, BackendConfig& out);

// --- gateway_rules.cc
void complete_tls(const Section& section, TlsConfig& out);
void complete_config(const Section& root, Config& out);

// --- server_rules.cc
std::span<const Named<ExposeConfig>> words_of(const ExposeConfig&);
void begin_section(ExposeConfig& out);
// A name alone, in the place of a member.
void read_short(const Value& value, MemberConfig& out);
// Once the keys of a member have been read.
void complete_item(const Section& member, MemberConfig& out);
// An only backend is the default unless a server says that it is.
void yield_defaults(const Section& root, Config& out);
// `out` has been read from the root.
void complete_servers(const Section& servers, Config& out);

}  // namespace stdgate::config
