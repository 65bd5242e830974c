// libFuzzer's entry point of one target, which the build names.
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stdgate::test::STDGATE_FUZZ_TARGET {
void run(std::string_view input);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stdgate::test::STDGATE_FUZZ_TARGET::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
