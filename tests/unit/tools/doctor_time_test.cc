// The duration of an examination by doctor, with a server that never answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/app/dialects.h"
#include "gateway/tools/doctor.h"
#include "gateway/tools/findings.h"
#include "tests/support/loop_runner.h"
#include "tests/support/manual_clock.h"

namespace stdgate::test {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The children start at once, write nothing, and end when they are asked to.
class SilentLauncher final : public pool::ChildLauncher {
 public:
  explicit SilentLauncher(net::Loop& loop) : loop_(loop) {}

  std::unique_ptr<pool::ChildLink> launch(const pool::LaunchSpec& /*spec*/,
                                          pool::ChildEvents& events) override {
    return std::make_unique<Link>(loop_, events);
  }

 private:
  struct Link final : pool::ChildLink {
    Link(net::Loop& loop, pool::ChildEvents& told)
        : events(told), start(loop.timers(), [this] { events.on_started(1); }) {
      start.arm(loop.now());
    }
    void write(std::span<const std::string_view> /*parts*/) override {}
    [[nodiscard]] size_t unsent_bytes() const override { return 0; }
    void set_reading(bool /*reading*/) override {}
    void end(Duration /*grace*/) override { events.on_exit({}); }
    pool::ChildEvents& events;
    Timer start;
  };

  net::Loop& loop_;
};

tools::Diagnosis examine(Duration whole) {
  net::Loop loop;
  SilentLauncher launcher(loop);
  const pool::LaunchSpec launch;
  const std::unique_ptr<pool::Dialect> dialect = app::make_dialect({}, {});
  const config::LimitsConfig limits;
  config::BackendConfig backend;
  backend.command = {"silent"};
  tools::Doctor doctor({{loop, launcher, launch, *dialect, limits, [] { return uint64_t{0}; }},
                        [](const std::string&) { return false; },
                        [](const std::string&) {}},
                       backend,
                       {.step = milliseconds(200), .fetch = milliseconds(200), .whole = whole});
  return doctor.examine();
}

const tools::Finding* shortage_of(const tools::Diagnosis& diagnosis) {
  const auto found = std::ranges::find(diagnosis.findings, "out-of-time", &tools::Finding::code);
  return found == diagnosis.findings.end() ? nullptr : &*found;
}

bool was_tried(const tools::Diagnosis& diagnosis, std::string_view step) {
  return std::ranges::find(diagnosis.steps, step, &tools::Step::name) != diagnosis.steps.end();
}

TEST(DoctorTime, BoundsAllStepsTogether) {
  const tools::Diagnosis diagnosis = examine(milliseconds(250));
  EXPECT_TRUE(was_tried(diagnosis, "server/discover")) << "it was begun in time";
  EXPECT_FALSE(was_tried(diagnosis, "initialize, other framing"));
  const tools::Finding* const shortage = shortage_of(diagnosis);
  ASSERT_NE(shortage, nullptr);
  EXPECT_THAT(shortage->message,
              AllOf(HasSubstr("together have 250 ms"), HasSubstr("initialize ("),
                    HasSubstr(", server/discover ("), Not(HasSubstr("end of input"))));
}

TEST(DoctorTime, SaysNothingWhereItWasEnough) {
  const tools::Diagnosis diagnosis = examine(std::chrono::minutes(1));
  EXPECT_TRUE(was_tried(diagnosis, "initialize, other framing"));
  EXPECT_EQ(shortage_of(diagnosis), nullptr);
}

TEST(DoctorTime, IsAtLeastWhatAStepNeeds) {
  ManualClock clock;
  const tools::DoctorTime time(clock, std::chrono::seconds(20));
  EXPECT_EQ(time.left(std::chrono::seconds(30)), std::chrono::seconds(20));
  EXPECT_EQ(time.left(std::chrono::seconds(10)), std::chrono::seconds(10));
  clock.set(clock.now() + std::chrono::seconds(19));
  EXPECT_EQ(time.left(std::chrono::seconds(10)), tools::DoctorTime::kLeast);
  EXPECT_EQ(time.left(std::chrono::seconds(1)), std::chrono::seconds(1));
  EXPECT_FALSE(time.is_over());
  clock.set(clock.now() + std::chrono::seconds(1));
  EXPECT_TRUE(time.is_over());
}

}  // namespace
}  // namespace stdgate::test
