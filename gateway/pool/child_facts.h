// What is known of a child: what it said of itself, why it is to be replaced, and how it ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/pool/child_link.h"

namespace stdgate::pool {

// ChildFacts: what a child has said about itself when it was greeted, by the gateway or by the
// client of its session.
//
// Two children of one backend may differ. Filled by the dialect; owner: the child. Limits:
// kMaxNameBytes for each name and version, kMaxRawBytes for members that are kept as JSON.
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

// Why a child that is to be replaced serves on for the moment.
enum class ReplaceWait : uint8_t {
  none,       // it does not, or nothing is known against it
  work,       // it holds work, and there is no room for a successor
  room,       // another child goes first
  successor,  // its successor is not ready
};
std::string_view replace_wait_name(ReplaceWait wait);

// Wear: why a child is to be replaced. Owner: the child. Replacement decides by it.
struct Wear {
  std::optional<ReplaceReason> reason;  // nothing: the child stays
  TimePoint since{};  // while the child serves: when it began to be worn; then: see Replacement
  ReplaceWait wait = ReplaceWait::none;
  bool is_wait_told = false;
  uint64_t successor = 0;  // the number of the child that takes its place; 0: none
  uint64_t memory = 0;     // resident bytes of the process and its descendants; 0: not measured yet

  void begin(std::optional<ReplaceReason> why, TimePoint now) {
    reason = why;
    since = now;
  }
};

// ChildEnd: how a child ended, in words for metrics, clients and the log (ChildLog).
struct ChildEnd {
  ExitReason reason = ExitReason::asked;
  std::string message;  // for clients: exit code or signal, no caught text
  std::string detail;   // for the log
  bool was_ready = false;
  size_t in_flight = 0;                      // its calls when it ended
  std::string hint = {};                     // what may be wrong with it, for people; may be empty
  std::vector<std::string> last_words = {};  // lines of stderr, oldest first
};

// "exited with code 1", "was killed by signal 9 (SIGKILL)"
std::string exit_text(const ExitStatus& status);

// The end of a child that the gateway has not asked to go.
ChildEnd end_by_itself(const ExitStatus& status, bool was_ready);

}  // namespace stdgate::pool
