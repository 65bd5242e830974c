// A Landlock domain with each version of the ABI: separate from other processes, with full access
// to files.
#include "transports/stdio/guard/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

namespace stdgate::guard {
namespace {

TEST(Landlock, PlanOfEachAbi) {
  constexpr uint64_t kAllScopes =
      guard::kLandlockScopeAbstractSockets | guard::kLandlockScopeSignals;
  struct Case {
    int abi;
    uint64_t handled_files;
    uint64_t scoped;
  };
  const Case cases[] = {{-1, 0, 0},
                        {0, 0, 0},
                        {1, 0, 0},
                        {2, guard::kLandlockRefer, 0},
                        {5, guard::kLandlockRefer, 0},
                        {6, 0, kAllScopes},
                        {7, 0, kAllScopes},
                        {100, 0, kAllScopes}};
  for (const Case& c : cases) {
    const guard::LandlockPlan plan = guard::landlock_plan(c.abi);
    EXPECT_EQ(plan.handled_files, c.handled_files) << c.abi;
    EXPECT_EQ(plan.scoped, c.scoped) << c.abi;
    EXPECT_EQ(plan.makes_domain(), c.abi >= 2) << c.abi;
  }
}

// Runs the checks inside a domain, in a process of its own. Returns the number of the first check
// that failed.
int in_domain(const guard::LandlockPlan& plan, const std::function<int()>& checks) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    guard::LandlockFailure failure;
    if (!guard::enter_landlock_domain(plan, {}, false, nullptr, &failure)) ::_exit(255);
    ::_exit(checks());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The numbers of the checks.
enum Failed { kNone, kMakeFolder, kMove, kLink, kOwnFile, kDescriptor, kSignal, kOwnChild };

int check_all(const std::string& folder, pid_t outside, bool signals_are_scoped) {
  const std::string one = folder + "/one";
  const std::string two = folder + "/two";
  if (::mkdir(one.c_str(), 0700) != 0 || ::mkdir(two.c_str(), 0700) != 0) return kMakeFolder;
  if (::close(::creat((one + "/a").c_str(), 0600)) != 0) return kMakeFolder;
  if (::rename((one + "/a").c_str(), (two + "/a").c_str()) != 0) return kMove;
  if (::link((two + "/a").c_str(), (one + "/b").c_str()) != 0) return kLink;
  if (::close(::open("/proc/self/environ", O_RDONLY)) != 0) return kOwnFile;
  const std::string descriptor = "/proc/" + std::to_string(outside) + "/fd/0";
  if (::open(descriptor.c_str(), O_PATH) >= 0 || errno != EACCES) return kDescriptor;
  if ((::kill(outside, 0) != 0) != signals_are_scoped) return kSignal;
  const pid_t own = ::fork();
  if (own == 0) ::pause();
  const bool is_killed = ::kill(own, SIGKILL) == 0 && ::waitpid(own, nullptr, 0) == own;
  return is_killed ? kNone : kOwnChild;
}

TEST(Landlock, DomainsKeepApartAndDenyNoFile) {
  for (const int abi : {2, 6}) {
    if (guard::landlock_abi() < abi) {
      std::printf("this kernel has Landlock ABI %d: %d is not checked\n", guard::landlock_abi(),
                  abi);
      continue;
    }
    std::string folder = (std::filesystem::temp_directory_path() / "stdgate-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const pid_t outside = ::getpid();
    EXPECT_EQ(
        in_domain(guard::landlock_plan(abi), [&] { return check_all(folder, outside, abi >= 6); }),
        kNone)
        << "ABI " << abi;
    std::filesystem::remove_all(folder);
  }
}

TEST(Landlock, RefusalIsTold) {
  const guard::LandlockPlan plans[] = {{}, {0, uint64_t{1} << 63}};  // empty; an unknown right
  for (const guard::LandlockPlan& plan : plans) {
    guard::LandlockFailure failure;
    EXPECT_FALSE(guard::enter_landlock_domain(plan, {}, false, nullptr, &failure));
    EXPECT_NE(failure.error, 0);
    EXPECT_FALSE(failure.is_of_path);
    EXPECT_STREQ(failure.what.data(), "landlock");
  }
}

TEST(Landlock, PlanOfASandboxByAbi) {
  constexpr uint64_t kAllWrites = 0b1'1111'1111'0010;
  constexpr uint64_t kReads = 0b1101;
  constexpr uint64_t kPorts = guard::kLandlockBindTcp | guard::kLandlockConnectTcp;
  static_assert(guard::kLandlockWrites == kAllWrites && guard::kLandlockReads == kReads);
  struct Case {
    int abi;
    uint64_t writes;  // handled with FileRule::writes
    uint64_t outbound;
    uint64_t ports;
  };
  const Case cases[] = {{0, 0, 0, 0},
                        {1, kAllWrites, 0, 0},
                        {2, kAllWrites | 1 << 13, 0, 0},
                        {3, kAllWrites | 0b11 << 13, 0, 0},
                        {4, kAllWrites | 0b11 << 13, guard::kLandlockBindTcp, kPorts},
                        {5, kAllWrites | 0b111 << 13, guard::kLandlockBindTcp, kPorts},
                        {9, kAllWrites | 0b111 << 13, guard::kLandlockBindTcp, kPorts}};
  for (const Case& c : cases) {
    const auto plan = [&](FileRule files, NetworkRule network) {
      return guard::landlock_plan(c.abi, files, network);
    };
    EXPECT_EQ(plan(FileRule::writes, NetworkRule::any).handled_files, c.writes) << c.abi;
    EXPECT_EQ(plan(FileRule::all, NetworkRule::any).handled_files,
              c.abi == 0 ? 0 : c.writes | kReads);
    EXPECT_EQ(plan(FileRule::none, NetworkRule::outbound).handled_network, c.outbound) << c.abi;
    EXPECT_EQ(plan(FileRule::none, NetworkRule::ports).handled_network, c.ports) << c.abi;
    EXPECT_EQ(plan(FileRule::writes, NetworkRule::any).is_open, c.abi == 0) << c.abi;
    EXPECT_TRUE(plan(FileRule::none, NetworkRule::ports).is_open) << c.abi;
  }
}

TEST(Landlock, WhatAKernelLacks) {
  struct Case {
    guard::KernelFeatures kernel;
    FileRule files;
    NetworkRule network;
    bool is_complete;
  };
  const Case cases[] = {{{7, false}, FileRule::none, NetworkRule::any, false},
                        {{0, true}, FileRule::none, NetworkRule::any, true},
                        {{0, true}, FileRule::none, NetworkRule::none, true},
                        {{2, true}, FileRule::writes, NetworkRule::any, false},
                        {{2, true}, FileRule::all, NetworkRule::any, false},
                        {{3, true}, FileRule::all, NetworkRule::none, true},
                        {{3, true}, FileRule::none, NetworkRule::outbound, false},
                        {{3, true}, FileRule::none, NetworkRule::ports, false},
                        {{4, true}, FileRule::all, NetworkRule::ports, true}};
  for (const Case& c : cases) {
    EXPECT_EQ(guard::missing_feature(c.files, c.network, c.kernel) == nullptr, c.is_complete)
        << &c - cases;
  }
}

}  // namespace
}  // namespace stdgate::guard
