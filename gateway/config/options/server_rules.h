// Rules between the keys of virtual servers, and the meaning of their short forms.
#pragma once

#include <span>

#include "gateway/config/section_reader.h"
#include "gateway/config/value_names.h"

namespace stdgate::config {

// See sandbox_rules.h.
std::span<const Named<ExposeConfig>> words_of(const ExposeConfig&);
void begin_section(ExposeConfig& out);

// A name alone, in the place of a member.
void read_short(const Value& value, MemberConfig& out);
// Once the keys of a member have been read.
void complete_item(const Section& member, MemberConfig& out);

// An only backend is the default unless a server says that it is.
void yield_defaults(const Section& root, Config& out);
// `out` has been read from the root; fills in what depends on other keys, and records errors.
void complete_servers(const Section& servers, Config& out);

}  // namespace stdgate::config
