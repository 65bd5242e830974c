#include "transports/stdio/guard/landlock.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "transports/net/file_descriptor.h"

namespace stdgate::guard {

namespace {

// The same numbers on every architecture; headers may be older.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;

constexpr unsigned kAskForVersion = 1U << 0;  // LANDLOCK_CREATE_RULESET_VERSION
constexpr int kPathBeneath = 1;               // LANDLOCK_RULE_PATH_BENEATH

// Kernels that know less of it take it as long as what they do not know is 0.
struct RulesetAttributes {
  uint64_t handled_access_fs = 0;
  uint64_t handled_access_net = 0;
  uint64_t scoped = 0;
};

struct [[gnu::packed]] PathBeneathAttributes {
  uint64_t allowed_access = 0;
  int32_t parent_fd = -1;
};

bool allow_everywhere(const net::FileDescriptor& ruleset, uint64_t access) {
  const net::FileDescriptor root(::open("/", O_PATH | O_CLOEXEC));
  const PathBeneathAttributes rule{access, root.get()};
  return root.is_open() && ::syscall(kAddRule, ruleset.get(), kPathBeneath, &rule, 0) == 0;
}

}  // namespace

int landlock_abi() {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskForVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

int enter_landlock_domain(const LandlockPlan& plan) {
  const RulesetAttributes attributes{plan.handled_files, 0, plan.scoped};
  const net::FileDescriptor ruleset(
      static_cast<int>(::syscall(kCreateRuleset, &attributes, sizeof(attributes), 0)));
  if (!ruleset.is_open()) return errno;
  if (plan.handled_files != 0 && !allow_everywhere(ruleset, plan.handled_files)) return errno;
  return ::syscall(kRestrictSelf, ruleset.get(), 0) == 0 ? 0 : errno;
}

}  // namespace stdgate::guard
