// CallStore: where calls come from and go back to.
//
// Job: a call that has ended leaves its storage to the next one, strings included, so the steady
// state allocates nothing; and a call moves between queue and child as a pointer. Owner: the
// backend; outlives its calls. Limit: keeps kMostKept calls, and frees one whose texts are long.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gateway/pool/call.h"

namespace stdgate {

class CallStore;

struct ReturnCall {
  CallStore* store = nullptr;
  void operator()(Call* call) const;
};

using CallPtr = std::unique_ptr<Call, ReturnCall>;

class CallStore {
 public:
  static constexpr size_t kMostKept = 4096;

  CallStore() = default;
  CallStore(const CallStore&) = delete;
  CallStore& operator=(const CallStore&) = delete;

  CallPtr take();

 private:
  friend ReturnCall;
  void give_back(std::unique_ptr<Call> call);

  std::vector<std::unique_ptr<Call>> kept_;
};

}  // namespace stdgate
