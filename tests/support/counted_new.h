// Counts the allocations of the program that it is linked into, those of all its threads. A source
// of its own: in one with callers the compiler would see through operator new and warn.
#pragma once

#include <cstddef>

namespace stdgate::test {

size_t allocation_count();
// One more, by an allocator that is not operator new.
void note_allocation();

}  // namespace stdgate::test
