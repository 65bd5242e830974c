// BackendSet: all backends of the gateway. Each stands alone: one that fails does not touch the
// others.
// Owner: the composition root.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "gateway/pool/backend.h"

namespace stdgate {

class BackendSet {
 public:
  void add(std::unique_ptr<Backend> backend) { backends_.push_back(std::move(backend)); }

  [[nodiscard]] Backend* find(std::string_view name) const;  // null: no such backend
  [[nodiscard]] Backend* default_backend() const;            // served at the root; null: none is
  [[nodiscard]] const std::vector<std::unique_ptr<Backend>>& all() const { return backends_; }

  void start();
  // The origin's client has gone: its calls are cancelled at their children and never answered.
  // The caller removes the origin from Origins afterwards.
  void cancel_calls_of(Origin origin);

  // Shutdown, step by step; see Pool.
  void drain();
  void fail_calls(const FaultReport& report);
  void end_children();
  void kill_children();
  [[nodiscard]] size_t calls() const;
  [[nodiscard]] bool has_children() const;

 private:
  std::vector<std::unique_ptr<Backend>> backends_;
};

}  // namespace stdgate
