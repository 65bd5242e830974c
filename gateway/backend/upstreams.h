// Upstreams: all that a gateway serves, and what it has served before its last reloads, as long as
// that has something to finish. They are independent: one that fails does not affect the others.
// Owner: the generation.
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

  // Takes out what is served, to be put together anew with add() and retire().
  [[nodiscard]] std::vector<std::unique_ptr<Upstream>> take_all() {
    return std::exchange(upstreams_, {});
  }
  // It is not served any more: what it has begun is finished.
  void retire(std::unique_ptr<Upstream> upstream) { retired_.push_back(std::move(upstream)); }
  [[nodiscard]] const std::vector<std::unique_ptr<Upstream>>& retired() const { return retired_; }
  // Destroys a retired one, which nobody uses. Not from inside of a call of it.
  void remove(const Upstream& retired);

  void start();
  // The client has gone: its calls are cancelled at their children and never answered.
  // The transport removes it from Callers afterwards.
  void cancel_calls_of(session::Caller caller);

  // Shutdown, step by step, of the retired ones too; see Pool.
  void drain();
  void fail_calls(const rpc::FaultReport& report);
  void end_children();
  void kill_children();
  [[nodiscard]] size_t calls() const;
  [[nodiscard]] size_t kept_messages() const;
  void drop_caches();
  [[nodiscard]] bool has_children() const;
  [[nodiscard]] Duration grace() const;  // the longest

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
