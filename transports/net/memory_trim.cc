#include "transports/net/memory_trim.h"

#include <malloc.h>

namespace stdgate::net {

void MemoryTrim::look() {
  Duration next = kLook;
  if (account_.used() <= account_.peak() / 2) {
    ::malloc_trim(0);
    account_.reset_peak();
    next = kRest;
  }
  if (account_.peak() >= MemoryAccount::kMuch) timer_.arm(loop_.now() + next);
}

}  // namespace stdgate::net
