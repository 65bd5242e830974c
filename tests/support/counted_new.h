// Counts the allocations of the program that it is linked into, in all threads. The definitions
// have a source file of their own: if the compiler saw operator new next to its callers, it would
// warn.
#pragma once

#include <cstddef>

namespace stdgate::test {

size_t allocation_count();
// Counts an allocation that did not come through operator new.
void note_allocation();

}  // namespace stdgate::test
