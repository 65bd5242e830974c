#include "gateway/app/random_bytes.h"

#include <sys/random.h>

#include <cstdlib>

namespace stdgate::app {

void fill_random(std::span<uint8_t> out) {
  // Once the kernel's pool is filled, which is before any service starts, this cannot fail, and up
  // to 256 bytes come whole.
  if (out.size() > 256 || getrandom(out.data(), out.size(), 0) != static_cast<ssize_t>(out.size()))
    std::abort();
}

}  // namespace stdgate::app
