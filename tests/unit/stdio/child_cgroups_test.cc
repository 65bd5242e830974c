// Cgroups of children, with a tree of plain files in place of the kernel's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "tests/support/test_folder.h"
#include "tests/unit/stdio/child_fixture.h"
#include "transports/stdio/process_tree.h"

namespace stdgate::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// A service of systemd. The memory controller is delegated unless a test removes it.
class FakeCgroups {
 public:
  FakeCgroups() {
    std::filesystem::create_directories(service());
    folder_.write("self", "4:memory:/elsewhere\n0::/system.slice/stdgate.service\n");
    write("cgroup.controllers", "cpu memory pids\n");
    write("cgroup.subtree_control", "");
    write("cgroup.procs", "");
  }
  // Returns false if the file system of this machine has no extended attributes.
  bool delegate() { return ::setxattr(service().c_str(), "user.delegate", "1", 1, 0) == 0; }
  void write(const std::string& file, const std::string& text) {
    const std::string path = service() + "/" + file;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] std::string read(const std::string& file) const {
    return stdio::read_whole(service() + "/" + file).value_or("no such file");
  }
  // The kernel would create these files together with the directory, so the test creates them
  // beforehand.
  std::string expect_child(int number) {
    const std::string name = "child-" + std::to_string(::getpid()) + "-" + std::to_string(number);
    write(name + "/cgroup.procs", "");
    return name;
  }
  [[nodiscard]] std::string service() const {
    return folder_.path("root/system.slice/stdgate.service");
  }
  [[nodiscard]] stdio::CgroupPlaces places() const {
    return {folder_.path("root"), folder_.path("self")};
  }
  TestFolder& folder() { return folder_; }

 private:
  TestFolder folder_;
};

#define DELEGATE_OR_SKIP(cgroups) \
  if (!(cgroups).delegate()) GTEST_SKIP() << "no attributes of files here"

TEST(ChildCgroups, TheFigureIsWithoutCachedFiles) {
  FakeCgroups cgroups;
  EXPECT_EQ(stdio::ChildCgroups::memory_of(cgroups.service()), std::nullopt);
  cgroups.write("memory.current", "0\n");
  EXPECT_EQ(stdio::ChildCgroups::memory_of(cgroups.service()), std::nullopt) << "nobody joined it";
  cgroups.write("memory.current", "1000\n");
  EXPECT_EQ(stdio::ChildCgroups::memory_of(cgroups.service()), 1000U);
  cgroups.write("memory.stat",
                "anon 500\nfile 450\ninactive_anon 7\nactive_file 100\ninactive_file 300\n");
  EXPECT_EQ(stdio::ChildCgroups::memory_of(cgroups.service()), 600U);
  cgroups.write("memory.stat", "active_file 900\ninactive_file 300");
  EXPECT_EQ(stdio::ChildCgroups::memory_of(cgroups.service()), 0U) << "read at different moments";
}

TEST(ChildCgroups, AreMadeWhereSystemdHasDelegatedThem) {
  FakeCgroups cgroups;
  DELEGATE_OR_SKIP(cgroups);
  RecordingLog log;
  cgroups.write("cgroup.procs", "17\n18\n");
  cgroups.write("gateway/cgroup.procs", "");
  stdio::ChildCgroups children(log, cgroups.places());
  const std::string first = children.make();
  EXPECT_EQ(cgroups.read("gateway/cgroup.procs"), "18") << "the last one that was written";
  EXPECT_EQ(cgroups.read("cgroup.subtree_control"), "+memory");
  EXPECT_THAT(first, EndsWith("-1"));
  EXPECT_TRUE(std::filesystem::is_directory(first));
  EXPECT_NE(children.make(), first);
  children.remove(first);
  EXPECT_FALSE(std::filesystem::exists(first));
  ASSERT_NE(log.find("memory of children"), nullptr);
  EXPECT_THAT(*log.find("memory of children"), HasSubstr("figure=cgroup"));
}

// The service has DelegateSubgroup=gateway, or another stdgate runs in it.
TEST(ChildCgroups, AProcessInASubgroupDividesItsParent) {
  FakeCgroups cgroups;
  DELEGATE_OR_SKIP(cgroups);
  RecordingLog log;
  cgroups.folder().write("self", "0::/system.slice/stdgate.service/gateway\n");
  cgroups.write("cgroup.subtree_control", "memory\n");
  stdio::ChildCgroups children(log, cgroups.places());
  EXPECT_THAT(children.make(), HasSubstr("stdgate.service/child-"));
  EXPECT_EQ(cgroups.read("cgroup.subtree_control"), "memory\n") << "that has been done";
}

TEST(ChildCgroups, NoneElsewhere) {
  FakeCgroups cgroups;
  RecordingLog log;
  const auto made = [&] { return stdio::ChildCgroups(log, cgroups.places()).make(); };
  EXPECT_EQ(made(), "") << "it is another program's to divide";
  EXPECT_EQ(cgroups.read("cgroup.subtree_control"), "");
  DELEGATE_OR_SKIP(cgroups);
  cgroups.write("cgroup.controllers", "cpu pids\n");
  EXPECT_EQ(made(), "");
  cgroups.write("cgroup.controllers", "memory\n");
  std::filesystem::remove(cgroups.service() + "/cgroup.subtree_control");
  EXPECT_EQ(made(), "") << "the kernel has refused it";
  cgroups.write("cgroup.subtree_control", "");
  EXPECT_NE(made(), "");
  cgroups.folder().write("self", "4:memory:/elsewhere\n");
  EXPECT_EQ(made(), "") << "cgroups of version 1 alone";
  EXPECT_THAT(log.lines.front(), HasSubstr("figure=/proc"));
}

struct ChildCgroup : ChildTest {
  ~ChildCgroup() override { child.reset(); }  // before the launcher's end
  FakeCgroups cgroups;
  stdio::ChildProcesses measured{loop, log, orphans, STDGATE_GUARD, cgroups.places()};
  bool is_told(const std::function<bool(uint64_t)>& condition) {
    return until([&] { return condition(recorder.memory); });
  }
  void launch_measured() {
    spec.watches_memory = true;
    spec.command = {STDGATE_ROGUE, "rpc", "0", mark};
    child = measured.launch(spec, recorder);
  }
};

TEST_F(ChildCgroup, ItsFigureIsToldAndTheGuardJoinsIt) {
  DELEGATE_OR_SKIP(cgroups);
  const std::string name = cgroups.expect_child(1);
  cgroups.write(name + "/memory.current", "123456\n");
  launch_measured();
  EXPECT_TRUE(started());
  EXPECT_EQ(cgroups.read(name + "/cgroup.procs"), "0") << "the guard's word for itself";
  EXPECT_TRUE(is_told([](uint64_t bytes) { return bytes == 123456; }));
  // No process has joined the cgroup.
  cgroups.write(name + "/memory.current", "0\n");
  EXPECT_TRUE(is_told([](uint64_t bytes) { return bytes > 123456; })) << "as /proc shows it";
}

TEST_F(ChildCgroup, WithoutOneTheTreeIsSummedUp) {
  launch_measured();
  EXPECT_TRUE(is_told([](uint64_t bytes) { return bytes > 100'000; }));
}

}  // namespace
}  // namespace stdgate::test
