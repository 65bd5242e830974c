// Who hears that lists of an upstream (of tools, prompts, resources) may not be what they were:
// virtual servers of which it is a member.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gateway/call/filter.h"
#include "gateway/pool/dialect.h"

namespace stdgate::backend {

class ListWatch {
 public:
  virtual ~ListWatch() = default;
  // A child has said so, or is known to say something else than another one. `lists`: bits of the
  // dialect's own (pool::Audience).
  virtual void on_lists_changed(uint8_t lists) = 0;
  // A shared child has gone; the next one may be another program.
  virtual void on_restart() = 0;
};

// Owner: the upstream. A watch that has gone is not told any more.
class ListWatches {
 public:
  void add(std::weak_ptr<ListWatch> watch) { watches_.push_back(std::move(watch)); }
  void tell_changed(uint8_t lists);
  void tell_restart();

 private:
  void for_each(const std::function<void(ListWatch&)>& visit);

  std::vector<std::weak_ptr<ListWatch>> watches_;
};

// Tells watches what children say. Owner: the backend.
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
