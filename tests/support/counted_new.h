// Counts the allocations of the program that it is linked into, in all threads. It has a source of
// its own: in one source with the callers the compiler would see through operator new and warn.
#pragma once

#include <cstddef>

namespace stdgate::test {

size_t allocation_count();
// One more, by an allocator that is not operator new.
void note_allocation();

}  // namespace stdgate::test
