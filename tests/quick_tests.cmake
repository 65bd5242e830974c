# Compile options and precompiled headers for tests that take longer to compile than to run. They apply to folders that
# are added later. The sources under test keep their options.
#
# NDEBUG and the sanitizers are unchanged. CMAKE_DISABLE_PRECOMPILE_HEADERS=ON switches the headers off.
if(STDGATE_SANITIZE OR STDGATE_SANITIZE_THREADS OR CMAKE_BUILD_TYPE STREQUAL Release)
  add_compile_options(-O0)
endif()

# At this level and with precompiled headers, g++ 12 warns about std::string's own code.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# A library needs at least one source.
file(CONFIGURE OUTPUT test_headers.cc CONTENT "")
add_library(stdgate_test_headers OBJECT ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cc)
target_link_libraries(stdgate_test_headers
  PRIVATE stdgate_options GTest::gmock_main tl::expected)
target_precompile_headers(stdgate_test_headers PRIVATE
  <gmock/gmock.h>
  <gtest/gtest.h>
  <algorithm> <array> <charconv> <chrono> <cstdint> <cstring> <deque> <filesystem> <fstream>
  <functional> <map> <memory> <optional> <random> <set> <span> <sstream> <stdexcept> <string>
  <string_view> <thread> <unordered_map> <utility> <variant> <vector>
  <tl/expected.hpp>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  # Without this option, ccache does not cache objects that use precompiled headers.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
set(stdgate_test_headers stdgate_test_headers)
