// SimChild: a child in memory. SimLauncher is the ChildLauncher that makes SimChilds, and SimVoice
// is the output of a child.
//
// A child reads its stdin in pieces, and answers late, out of order, twice or never. A child also
// asks questions and cancels them, writes nonsense in between, and dies at any time. Children stamp
// what they write, see SimCalls, and check what they receive. With MCP a child is of one era or of
// both; SimModernSide is the modern side.
//
// A SimChild lives until its link is destroyed or its exit has been reported. Events hold weak
// pointers to it, so later events find no child.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/pool/child_link.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/json_reader.h"
#include "tests/sim/sim_options.h"
#include "tests/sim/sim_records.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

class SimChild;

// SimLauncher: the ChildLauncher that makes SimChilds.
class SimLauncher final : public pool::ChildLauncher {
 public:
  SimLauncher(SimWorld& world, const Temper& temper, SimRecords& records)
      : world_(world), temper_(temper), records_(records) {}
  std::unique_ptr<pool::ChildLink> launch(const pool::LaunchSpec& spec,
                                          pool::ChildEvents& events) override;

  // The number of processes that have been launched and have not ended.
  [[nodiscard]] size_t running() const;

 private:
  SimWorld& world_;
  const Temper& temper_;
  SimRecords& records_;
  int next_pid_ = 100;
  std::vector<std::weak_ptr<SimChild>> children_;
};

// SimVoice: the output of a child, for the parts of the child that write messages.
class SimVoice {
 public:
  virtual ~SimVoice() = default;
  // Writes one message; `on_told` runs before the message reaches the gateway.
  virtual void say(std::string text, Duration delay, std::function<void()> on_told) = 0;
  void say(std::string text, Duration delay) { say(std::move(text), delay, nullptr); }
  // The process ends by itself within `patience`.
  virtual void die_within(Duration patience) = 0;
  // The stamp, as members of a message. Each message has one stamp, see SimCalls.
  [[nodiscard]] virtual std::string stamp() const = 0;
  [[nodiscard]] virtual int pid() const = 0;
};

// A member of a request's params, or of their _meta; empty if the member is missing.
inline std::string said_in(const rpc::Envelope& request, std::string_view key) {
  if (const auto member = rpc::find_member(request.params, key)) return std::string(*member);
  const auto meta = rpc::find_member(request.params, "_meta");
  return std::string(meta ? rpc::find_member(*meta, key).value_or("") : std::string_view());
}

// The caller of a request and the request's nonce, as members.
inline std::string cause_of(const rpc::Envelope& request) {
  const std::string by = said_in(request, "by");
  const std::string nonce = said_in(request, "nonce");
  return by.empty() ? R"("nonce":null)" : R"("by":)" + by + R"(,"nonce":)" + nonce;
}

}  // namespace stdgate::sim
