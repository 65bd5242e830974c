#include "tests/support/fake_child.h"

#include <algorithm>
#include <utility>

#include "gateway/rpc/envelope.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::test {

void FakeChild::answer(const std::string& id, const std::string& result) {
  say(result_text(id, result));
}

void FakeChild::write(std::span<const std::string_view> parts) {
  const size_t before = input_.size();
  MemoryChild::write(parts);
  if (!reads_) unsent_ += input_.size() - before;
}

void FakeChild::drain_stdin() {
  reads_ = true;
  if (std::exchange(unsent_, 0) >= pool::ChildLink::kHighWatermark) tell_writable();
}

std::vector<std::string> FakeChild::take_lines() {
  std::vector<std::string> lines;
  while (has_line()) lines.push_back(take_input_line());
  return lines;
}

std::vector<std::string> FakeChild::take_ids() {
  std::vector<std::string> ids;
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  for (std::string& line : take_lines()) {
    const rpc::Envelope envelope = parser.parse(line).value().messages[0].envelope;
    if (envelope.kind == rpc::MessageKind::request) ids.emplace_back(envelope.id);
  }
  return ids;
}

std::unique_ptr<pool::ChildLink> FakeLauncher::launch(const pool::LaunchSpec& /*spec*/,
                                                      pool::ChildEvents& events) {
  const int pid = 100 + static_cast<int>(children_.size());
  children_.push_back(std::make_shared<FakeChild>(events, pid));
  return MemoryChild::link_to(children_.back());
}

size_t FakeLauncher::running() const {
  return static_cast<size_t>(std::count_if(children_.begin(), children_.end(),
                                           [](const auto& child) { return child->running(); }));
}

}  // namespace stdgate::test
