#include "gateway/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace stdgate {

void fail_check(const char* file, int line, const char* expression) {
  std::fprintf(stderr, "stdgate: check failed: %s:%d: %s\n", file, line, expression);
  std::fflush(stderr);
  std::abort();
}

}  // namespace stdgate
