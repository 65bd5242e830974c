// Signals: signals of the process as events of the loop.
// Owner: the process, or its StrangerWatch. Does not keep the loop running.
#pragma once

#include <functional>
#include <vector>

#include "transports/net/loop.h"

namespace stdgate::net {

class Signals {
 public:
  Signals(Loop& loop, std::function<void(int)> on_signal);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void watch(int signal);

 private:
  struct Watch;  // the libuv handle; frees itself in the close callback

  Loop& loop_;
  std::function<void(int)> on_signal_;
  std::vector<Watch*> watches_;
};

}  // namespace stdgate::net
