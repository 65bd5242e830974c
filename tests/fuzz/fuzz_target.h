// What every fuzz target has: libFuzzer's entry point, and a check that says which input broke it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace stdgate::test {

inline void require(bool holds, const char* what, std::string_view input) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\ninput (%zu bytes): \"", what, input.size());
  for (const char c : input) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
      std::fputc(byte, stderr);
    } else {
      std::fprintf(stderr, "\\%03o", byte);
    }
  }
  std::fputs("\"\n", stderr);
  std::abort();
}

}  // namespace stdgate::test
