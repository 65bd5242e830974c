// Upstreams: the upstreams that a gateway serves, and upstreams of former configurations that still
// have work to finish. They are independent: the failure of one does not affect the others. Owner:
// the generation.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "gateway/backend/upstream.h"

namespace stdgate::backend {

class Upstreams {
 public:
  void add(std::unique_ptr<Upstream> upstream) { upstreams_.push_back(std::move(upstream)); }

  [[nodiscard]] Upstream* find(std::string_view name) const;  // null: none
  [[nodiscard]] Upstream* default_one() const;                // served at the root; null: none
  [[nodiscard]] const std::vector<std::unique_ptr<Upstream>>& all() const { return upstreams_; }

  // Takes out the served upstreams, so that add() and retire() can distribute them again.
  [[nodiscard]] std::vector<std::unique_ptr<Upstream>> take_all() {
    return std::exchange(upstreams_, {});
  }
  // The upstream is not served any more, but finishes what it has begun.
  void retire(std::unique_ptr<Upstream> upstream) { retired_.push_back(std::move(upstream)); }
  [[nodiscard]] const std::vector<std::unique_ptr<Upstream>>& retired() const { return retired_; }
  // Destroys a retired upstream that is not in use. Must not be called from within a call of it.
  void remove(const Upstream& retired);

  void start();
  // The client has gone: cancels its calls at the children; they are never answered. Afterwards the
  // transport removes the client from Callers.
  void cancel_calls_of(session::Caller caller);

  // Shutdown, step by step, of retired upstreams too; see Pool.
  void drain();
  void fail_calls(const rpc::FaultReport& report);
  void end_children();
  void kill_children();
  [[nodiscard]] size_t calls() const;
  [[nodiscard]] size_t kept_messages() const;
  [[nodiscard]] size_t own_callers() const;
  void drop_caches();
  [[nodiscard]] bool has_children() const;
  [[nodiscard]] Duration grace() const;  // the longest of all

  void check_invariants();  // see Upstream

 private:
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (const auto& upstream : upstreams_) visit(*upstream);
    for (const auto& upstream : retired_) visit(*upstream);
  }

  std::vector<std::unique_ptr<Upstream>> upstreams_;
  std::vector<std::unique_ptr<Upstream>> retired_;
};

}  // namespace stdgate::backend
