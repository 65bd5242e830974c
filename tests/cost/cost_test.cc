// Work is linear in the number of bytes. At four times the size, every parser, collector and list
// that peers feed takes at most five times the instructions: 1.25 times the cost per byte.
//
// The tests count instructions instead of time, because the counts are the same in each run,
// however busy the machine is. The counter is valgrind's callgrind, which sees everything: copies
// in libc, work of llhttp, simdjson and OpenSSL, and allocation. Counters in our own code would
// miss an unexpected copy, and containers do not have the processor's counters (perf_event_open).
// Sanitizers do not run under valgrind. With sanitizers, the tests only check that each case does
// what it should.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/cost/cost_case.h"
#include "tests/support/test_folder.h"

namespace stdgate::test {
namespace {

constexpr uint64_t kMostTimes = 5;  // at four times the size

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The count in the file that callgrind has written; 0: there is no file.
uint64_t instructions_in(const std::string& path) {
  std::ifstream file(path);
  const std::string key = "totals: ";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return std::stoull(line.substr(key.size()));
  }
  return 0;
}

class CostPerByte : public testing::TestWithParam<size_t> {
 protected:
  static std::string quoted(const std::string& text) { return "'" + text + "'"; }
  // Runs the group, and puts its output into `said`.
  int run(const std::string& group) {
    std::string command;
    if (STDGATE_COUNTS_COSTS) {
      command = "valgrind --tool=callgrind --dump-line=no --callgrind-out-file=" + quoted(out());
      for (const char* option : {"--toggle-collect", "--dump-after"}) {
        command.append(" ").append(option).append("=stdgate_counted_step");
      }
      command += ' ';
    }
    command += quoted(STDGATE_COSTS) + " " + group + " > " + quoted(said()) + " 2>&1";
    return std::system(command.c_str());
  }
  [[nodiscard]] std::string out() const { return folder_.path("out"); }
  [[nodiscard]] std::string said() const { return folder_.path("said"); }

 private:
  const TestFolder folder_;
};

TEST_P(CostPerByte, IsTheSameAtFourTimesTheSize) {
  if (STDGATE_COUNTS_COSTS) {
    ASSERT_EQ(std::system("command -v valgrind > /dev/null"), 0)
        << "valgrind is missing: deploy/packages test";
  }
  const CostGroup& group = cost_groups()[GetParam()];
  ASSERT_EQ(run(std::string(group.name)), 0) << read_file(said());
  if (!STDGATE_COUNTS_COSTS) return;
  size_t file = 0;
  for (const CostCase& one : group.cases()) {
    const uint64_t once = instructions_in(out() + "." + std::to_string(++file));
    const uint64_t four_times = instructions_in(out() + "." + std::to_string(++file));
    ASSERT_GT(once, one.size / 64) << one.name << " has done nothing: " << read_file(said());
    EXPECT_LE(four_times, kMostTimes * once)
        << one.name << " costs " << once << " instructions at " << one.size << ", and "
        << static_cast<double>(four_times) / static_cast<double>(once)
        << " times as many at four times that";
    RecordProperty(one.name, std::to_string(once) + " " + std::to_string(four_times));
    if (std::getenv("STDGATE_SHOW_COSTS") != nullptr) {
      std::printf("%-60s %12zu %12lu %12lu %6.2f\n", one.name.c_str(), one.size, once, four_times,
                  static_cast<double>(four_times) / static_cast<double>(once));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, CostPerByte, testing::Range<size_t>(0, cost_groups().size()),
                         [](const auto& tested) {
                           return std::string(cost_groups()[tested.param].name);
                         });

}  // namespace
}  // namespace stdgate::test
