#include "tests/support/counted_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> count = 0;

void* counted_malloc(size_t size) {
  stdgate::test::note_allocation();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t size) { return counted_malloc(size); }
void* operator new[](size_t size) { return counted_malloc(size); }
// std::stable_sort allocates its buffer with this form.
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  stdgate::test::note_allocation();
  return std::malloc(size);
}
// simdjson allocates its buffers with this form.
void* operator new[](size_t size, const std::nothrow_t& /*tag*/) noexcept {
  stdgate::test::note_allocation();
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t /*size*/) noexcept { std::free(memory); }

namespace stdgate::test {

size_t allocation_count() { return count.load(std::memory_order_relaxed); }
void note_allocation() { count.fetch_add(1, std::memory_order_relaxed); }

}  // namespace stdgate::test
