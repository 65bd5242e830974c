#include "gateway/pool/backend_set.h"

#include <algorithm>

namespace stdgate {

Backend* BackendSet::find(std::string_view name) const {
  const auto found = std::find_if(backends_.begin(), backends_.end(),
                                  [name](const auto& backend) { return backend->name() == name; });
  return found == backends_.end() ? nullptr : found->get();
}

Backend* BackendSet::default_backend() const {
  const auto found = std::find_if(backends_.begin(), backends_.end(),
                                  [](const auto& backend) { return backend->is_default(); });
  return found == backends_.end() ? nullptr : found->get();
}

void BackendSet::start() {
  for (const auto& backend : backends_) backend->start();
}

void BackendSet::cancel_calls_of(Origin origin) {
  for (const auto& backend : backends_) backend->cancel_calls_of(origin);
}

void BackendSet::drain() {
  for (const auto& backend : backends_) backend->drain();
}

void BackendSet::fail_calls(const FaultReport& report) {
  for (const auto& backend : backends_) backend->fail_calls(report);
}

void BackendSet::end_children() {
  for (const auto& backend : backends_) backend->end_children(backend->grace());
}

void BackendSet::kill_children() {
  for (const auto& backend : backends_) backend->end_children(Duration{0});
}

size_t BackendSet::calls() const {
  size_t count = 0;
  for (const auto& backend : backends_) count += backend->calls();
  return count;
}

bool BackendSet::has_children() const {
  return std::any_of(backends_.begin(), backends_.end(),
                     [](const auto& backend) { return backend->has_children(); });
}

}  // namespace stdgate
