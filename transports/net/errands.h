// Errands: work that would hold up the loop, done by libuv's thread pool meanwhile.
//
// What the work needs is given to it: it shares nothing with the loop's thread while it runs.
// Owner: the process. An errand that outlives this object is finished by the loop, and nobody hears
// of it. Limit: none here; whoever starts errands bounds how many are under way.
#pragma once

#include <functional>
#include <unordered_set>

#include "transports/net/loop.h"

namespace stdgate::net {

class Errands {
 public:
  explicit Errands(Loop& loop);
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  // `work` runs on another thread, must not throw; `done` follows on the loop's, outside of every
  // other call.
  void start(std::function<void()> work, std::function<void()> done);

 private:
  struct Errand;

  Loop& loop_;
  std::unordered_set<Errand*> under_way_;  // each deletes itself when it has come back
};

}  // namespace stdgate::net
