// STDGATE_CHECK: checks an invariant of our own on which a write, an index or a pointer depends.
//
// Always on, also in a release: a process that ends with a line about the fault is better than a
// process that continues with corrupted memory. Not for conditions that a client or a child may
// cause: such conditions are values (tl::expected). Where only a wrong result would follow,
// assert() suffices.
#pragma once

namespace stdgate {

// Writes "stdgate: check failed: FILE:LINE: EXPRESSION" to stderr, and aborts.
[[noreturn]] void fail_check(const char* file, int line, const char* expression);

}  // namespace stdgate

#define STDGATE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::stdgate::fail_check(__FILE__, __LINE__, #condition))
