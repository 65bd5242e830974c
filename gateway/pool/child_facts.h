// ChildFacts: what a child has said of itself when it was greeted: by the gateway, or by the client
// of the session that it belongs to.
//
// Two children of one backend may differ. Filled by the dialect; owner: the child. Limits:
// kMaxNameBytes for each name and version, kMaxRawBytes for what is kept as JSON.
#pragma once

#include <cstddef>
#include <string>

namespace stdgate::pool {

struct ChildFacts {
  static constexpr size_t kMaxNameBytes = 256;
  static constexpr size_t kMaxRawBytes = 64 << 10;

  // Decoded, and cut at the limit; empty: not said.
  std::string protocol_version;
  std::string server_name;
  std::string server_version;
  // Raw JSON; empty: not said, or too long.
  std::string capabilities;

  friend bool operator==(const ChildFacts&, const ChildFacts&) = default;
};

}  // namespace stdgate::pool
