// ChildFacts: what a child has said about itself when it was greeted, by the gateway or by the
// client of its session.
//
// Two children of one backend may differ. Filled by the dialect; owner: the child. Limits:
// kMaxNameBytes for each name and version, kMaxRawBytes for members that are kept as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stdgate::pool {

struct ChildFacts {
  static constexpr size_t kMaxNameBytes = 256;
  static constexpr size_t kMaxRawBytes = 64 << 10;

  // Decoded, and cut at the limit; empty: omitted by the child.
  std::string protocol_version;
  std::string server_name;
  std::string server_version;
  // Raw JSON; empty: omitted by the child, or too long.
  std::string capabilities;
  bool logs = false;           // it sends log messages whose level can be set
  uint8_t changing_lists = 0;  // lists whose changes it reports, as bits of the dialect

  friend bool operator==(const ChildFacts&, const ChildFacts&) = default;
};

// Reads the members that answers to `initialize` have in several protocols. `result` is raw JSON:
// serverInfo with name and version, and capabilities. The dialect adds the version of the protocol.
ChildFacts greeting_facts(std::string_view result);

// The decoded text of a raw JSON string, cut at ChildFacts::kMaxNameBytes; empty for anything else.
std::string fact_text(std::string_view raw);

}  // namespace stdgate::pool
