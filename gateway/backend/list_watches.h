// Watches that hear when lists of an upstream (tools, prompts, resources) may have changed: virtual
// servers that have the upstream as a member.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "gateway/call/filter.h"
#include "gateway/pool/dialect.h"

namespace stdgate::backend {

class ListWatch {
 public:
  virtual ~ListWatch() = default;
  // A child has reported a change, or is known to answer differently from another child. `lists`:
  // bits of the dialect (pool::Audience). `identity`: of the principal whose child it is, see
  // policy::identity_of(); empty: all share it.
  virtual void on_lists_changed(uint8_t lists, std::string_view identity) = 0;
  // A shared child has gone; the next one may be another program.
  virtual void on_restart(std::string_view identity) = 0;
  // How many calls listen for this watch that need not keep the server awake.
  [[nodiscard]] virtual size_t resting() const { return 0; }
  // The server goes to sleep: these calls end, and none of them may start it.
  virtual void on_sleep() {}
  virtual void on_awake() {}
};

// Owner: the upstream. A watch that has been destroyed hears nothing.
class ListWatches {
 public:
  void add(std::weak_ptr<ListWatch> watch) { watches_.push_back(std::move(watch)); }
  void tell_changed(uint8_t lists, std::string_view identity = {});
  void tell_restart(std::string_view identity = {});
  [[nodiscard]] size_t resting() const;
  void tell_sleep();
  void tell_awake();

 private:
  void for_each(const std::function<void(ListWatch&)>& visit);

  std::vector<std::weak_ptr<ListWatch>> watches_;
};

// Passes reports of children on to the watches. Owner: the backend.
class ListWatchFilter final : public call::Filter {
 public:
  ListWatchFilter(ListWatches& watches, const pool::Dialect& dialect)
      : watches_(watches), dialect_(dialect) {}

  bool on_child_message(call::ChildMessage& message) override;
  void on_child_gone(const call::ChildRef& child) override {
    if (child.is_shared) watches_.tell_restart();
  }

 private:
  ListWatches& watches_;
  const pool::Dialect& dialect_;
};

}  // namespace stdgate::backend
