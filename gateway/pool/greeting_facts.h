// Makes ChildFacts from the members that answers to `initialize` have in several protocols.
#pragma once

#include <string_view>

#include "gateway/pool/child_facts.h"

namespace stdgate::pool {

// `result` is raw JSON: serverInfo with name and version, and capabilities. The dialect adds the
// version of the protocol.
ChildFacts greeting_facts(std::string_view result);

// The decoded text of a raw JSON string, cut at ChildFacts::kMaxNameBytes; empty for anything else.
std::string fact_text(std::string_view raw);

}  // namespace stdgate::pool
