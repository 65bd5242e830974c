// The rules for pages that name definitions in sources find planted faults, and nothing else.
#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/structure/rules.h"

namespace stdgate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Sources& sources() {
  static const Sources kSources = {
      {"gateway/a.h",
       "namespace stdgate::a {\n"
       "inline constexpr size_t kMaxFile = 2 * kMiB;\n"
       "inline constexpr uint64_t kMiB = uint64_t{1} << 20;\n"
       "class Log {\n  static constexpr size_t kMaxLine = 8 << 10;\n"
       "  static constexpr Duration kWait = std::chrono::milliseconds(500);\n};\n"},
      {"gateway/b.h",
       "namespace stdgate::b {\n"
       "struct Store : Base {\n  static constexpr size_t kMaxLine = 2 * Log::kMaxLine;\n"
       "  static constexpr std::chrono::seconds kTime{10};\n"
       "  static constexpr size_t kMaxIds = 65'536;\n  static constexpr size_t kOdd = "
       "size();\n};\n"},
  };
  return kSources;
}

TEST(Limits, ValuesOfConstants) {
  const struct {
    const char* page;
    const char* fault;  // null: no fault
  } cases[] = {
      {"2 MiB (`kMaxFile`), 8 KiB (`Log::kMaxLine`), 16 KiB (`b::kMaxLine`)", nullptr},
      {"500 ms (`Log::kWait`), 10 s (`Store::kTime`), 65536 (`kMaxIds`)", nullptr},
      {"`limits.message`, `Log`, kMaxIds", nullptr},
      {"9 KiB (`Log::kMaxLine`)", "says 9 KiB of Log::kMaxLine, which is 8 << 10"},
      {"8 (`Log::kMaxLine`)", "says 8 of Log::kMaxLine, which is 8 << 10"},
      {"11 s (`Store::kTime`)", "says 11 s of Store::kTime, which is 10"},
      {"8 KiB (`kMaxLine`)", "names kMaxLine, which several sources define: name its class"},
      {"8 KiB (`Log::kMaxIds`)", "names Log::kMaxIds, which no source defines"},
      {"8 KiB (`kNone`)", "names kNone, which no source defines"},
      {"some (`kMaxIds`)", "gives no value in front of kMaxIds"},
      {"8 (`kOdd`)", "names kOdd, whose value is not understood: size()"},
  };
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.page);
    const std::vector<std::string> found = limit_faults(expected.page, sources());
    if (expected.fault == nullptr) {
      EXPECT_THAT(found, IsEmpty());
    } else {
      EXPECT_THAT(found, ElementsAre(expected.fault));
    }
  }
}

TEST(Limits, TypesThatPagesName) {
  EXPECT_THAT(unknown_types("`Log`, `Log::write()`, `Store`, `log`, `Log-Id`, Gone", sources()),
              IsEmpty());
  EXPECT_THAT(unknown_types("`Gone`, `LogStore::kMax`", sources()),
              ElementsAre("names Gone, which no source declares",
                          "names LogStore, which no source declares"));
}

}  // namespace
}  // namespace stdgate
