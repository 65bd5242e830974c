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

void Upstreams::start() {
  for (const auto& upstream : upstreams_) upstream->start();
}

void Upstreams::cancel_calls_of(session::Caller caller) {
  for (const auto& upstream : upstreams_) upstream->cancel_calls_of(caller);
}

void Upstreams::drain() {
  for (const auto& upstream : upstreams_) upstream->drain();
}

void Upstreams::fail_calls(const rpc::FaultReport& report) {
  for (const auto& upstream : upstreams_) upstream->fail_calls(report);
}

void Upstreams::end_children() {
  for (const auto& upstream : upstreams_) upstream->end_children(upstream->grace());
}

void Upstreams::kill_children() {
  for (const auto& upstream : upstreams_) upstream->end_children(Duration{0});
}

size_t Upstreams::calls() const {
  size_t count = 0;
  for (const auto& upstream : upstreams_) count += upstream->calls();
  return count;
}

bool Upstreams::has_children() const {
  return std::any_of(upstreams_.begin(), upstreams_.end(),
                     [](const auto& upstream) { return upstream->has_children(); });
}

void Upstreams::check_invariants() {
  for (const auto& upstream : upstreams_) upstream->check_invariants();
}

}  // namespace stdgate::backend
