#include "gateway/backend/upstreams.h"

#include <algorithm>

namespace stdgate::backend {

Upstream* Upstreams::find(std::string_view name) const {
  const auto found =
      std::find_if(upstreams_.begin(), upstreams_.end(),
                   [name](const auto& upstream) { return upstream->name() == name; });
  return found == upstreams_.end() ? nullptr : found->get();
}

Upstream* Upstreams::default_one() const {
  const auto found = std::find_if(upstreams_.begin(), upstreams_.end(),
                                  [](const auto& upstream) { return upstream->is_default(); });
  return found == upstreams_.end() ? nullptr : found->get();
}

void Upstreams::remove(const Upstream& retired) {
  std::erase_if(retired_, [&retired](const auto& upstream) { return upstream.get() == &retired; });
}

void Upstreams::start() {
  for (const auto& upstream : upstreams_) upstream->start();
}

void Upstreams::cancel_calls_of(session::Caller caller) {
  for_each([caller](Upstream& upstream) { upstream.cancel_calls_of(caller); });
}

void Upstreams::drain() {
  for_each([](Upstream& upstream) { upstream.drain(); });
}

void Upstreams::fail_calls(const rpc::FaultReport& report) {
  for_each([&report](Upstream& upstream) { upstream.fail_calls(report); });
}

void Upstreams::end_children() {
  for_each([](Upstream& upstream) { upstream.end_children(upstream.grace()); });
}

void Upstreams::kill_children() {
  for_each([](Upstream& upstream) { upstream.end_children(Duration{0}); });
}

size_t Upstreams::calls() const {
  size_t count = 0;
  for_each([&count](const Upstream& upstream) { count += upstream.calls(); });
  return count;
}

size_t Upstreams::own_callers() const {
  size_t count = 0;
  for_each([&count](const Upstream& upstream) { count += upstream.own_callers(); });
  return count;
}

size_t Upstreams::kept_messages() const {
  size_t count = 0;
  for_each([&count](const Upstream& upstream) { count += upstream.kept_messages(); });
  return count;
}

void Upstreams::drop_caches() {
  for_each([](Upstream& upstream) { upstream.drop_caches(); });
}

bool Upstreams::has_children() const {
  bool any = false;
  for_each([&any](const Upstream& upstream) { any = any || upstream.has_children(); });
  return any;
}

Duration Upstreams::grace() const {
  Duration longest{0};
  for_each([&](const Upstream& upstream) { longest = std::max(longest, upstream.grace()); });
  return longest;
}

void Upstreams::check_invariants() {
  for_each([](Upstream& upstream) { upstream.check_invariants(); });
}

}  // namespace stdgate::backend
