// Upstreams: all that a generation serves. They are independent: one that fails does not affect the
// others. Owner: the generation.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "gateway/backend/upstream.h"

namespace stdgate::backend {

class Upstreams {
 public:
  void add(std::unique_ptr<Upstream> upstream) { upstreams_.push_back(std::move(upstream)); }

  [[nodiscard]] Upstream* find(std::string_view name) const;  // null: no such one
  [[nodiscard]] Upstream* default_one() const;                // served at the root; null: none is
  [[nodiscard]] const std::vector<std::unique_ptr<Upstream>>& all() const { return upstreams_; }

  void start();
  // The client has gone: its calls are cancelled at their children and never answered.
  // The transport removes it from Callers afterwards.
  void cancel_calls_of(session::Caller caller);

  // Shutdown, step by step; see Pool.
  void drain();
  void fail_calls(const rpc::FaultReport& report);
  void end_children();
  void kill_children();
  [[nodiscard]] size_t calls() const;
  [[nodiscard]] bool has_children() const;

  void check_invariants();  // see Upstream

 private:
  std::vector<std::unique_ptr<Upstream>> upstreams_;
};

}  // namespace stdgate::backend
