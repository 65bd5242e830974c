// The messages to a service manager, and their order. The manager's socket is like systemd's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "tests/support/test_folder.h"
#include "transports/net/systemd.h"

namespace stdgate::test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using Environment = std::map<std::string, std::string>;

// The manager's end. A `name` that begins with '@' is in the abstract namespace.
class ManagerSocket {
 public:
  explicit ManagerSocket(const std::string& name)
      : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0) << name;
  }
  ~ManagerSocket() { ::close(fd_); }
  ManagerSocket(const ManagerSocket&) = delete;
  ManagerSocket& operator=(const ManagerSocket&) = delete;

  std::vector<std::string> take() const {
    std::vector<std::string> told;
    std::array<char, 4096> buffer;
    for (;;) {
      const ssize_t size = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (size < 0) return told;
      told.emplace_back(buffer.data(), static_cast<size_t>(size));
    }
  }

 private:
  const int fd_;
};

class ServiceNotifierTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.path("notify"); }

  TestFolder folder_;
  net::Loop loop_;
};

TEST_F(ServiceNotifierTest, SaysWhenItIsReadyAndWhenItEnds) {
  const std::string abstract = "@stdgate-test-" + std::to_string(::getpid());
  for (const std::string& name : {path(), abstract}) {
    const ManagerSocket manager(name);
    net::ServiceNotifier notifier(loop_, {{"NOTIFY_SOCKET", name}});
    EXPECT_THAT(manager.take(), IsEmpty());
    notifier.ready("serving 2 backends");
    notifier.stopping("draining", milliseconds(1500));
    EXPECT_THAT(manager.take(),
                ElementsAre("READY=1\nSTATUS=serving 2 backends",
                            "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=1500000"));
  }
}

TEST_F(ServiceNotifierTest, SaysThatItLivesWhileTheLoopTurns) {
  const ManagerSocket manager(path());
  net::ServiceNotifier notifier(loop_, {{"NOTIFY_SOCKET", path()}, {"WATCHDOG_USEC", "40000"}});
  EXPECT_THAT(manager.take(), IsEmpty());
  notifier.ready("serving");
  EXPECT_THAT(manager.take(), ElementsAre("READY=1\nSTATUS=serving", "WATCHDOG=1"));
  const TimePoint begin = loop_.now();
  while (loop_.now() < begin + milliseconds(70)) loop_.run_once();
  EXPECT_GE(manager.take().size(), 2U);
}

TEST_F(ServiceNotifierTest, AWatchdogOfSomebodyElseIsNone) {
  const ManagerSocket manager(path());
  const std::string own = std::to_string(::getpid());
  const std::string other = std::to_string(::getppid());
  const std::pair<Environment, bool> cases[] = {
      {{{"WATCHDOG_USEC", "1000000"}, {"WATCHDOG_PID", own}}, true},
      {{{"WATCHDOG_USEC", "1000000"}, {"WATCHDOG_PID", other}}, false},
      {{{"WATCHDOG_USEC", "1000000"}, {"WATCHDOG_PID", "x"}}, false},
      {{{"WATCHDOG_USEC", ""}}, false},
      {{{"WATCHDOG_USEC", "0"}}, false},
      {{{"WATCHDOG_USEC", "-1"}}, false},
      {{{"WATCHDOG_USEC", "99999999999999999999"}}, false},
  };
  for (auto [environment, watched] : cases) {
    environment["NOTIFY_SOCKET"] = path();
    net::ServiceNotifier notifier(loop_, environment);
    notifier.ready("serving");
    EXPECT_EQ(manager.take().size(), watched ? 2U : 1U) << environment["WATCHDOG_USEC"];
  }
}

TEST_F(ServiceNotifierTest, WithoutAManagerNothingHappens) {
  for (const std::string& name :
       {std::string(), std::string("@"), std::string("vsock:2:1"), std::string("relative"),
        "/" + std::string(200, 'x'), path() + "-of-nobody"}) {
    net::ServiceNotifier notifier(loop_, {{"NOTIFY_SOCKET", name}, {"WATCHDOG_USEC", "1"}});
    notifier.ready("serving");
    notifier.stopping("draining", milliseconds(1));
  }
  net::ServiceNotifier notifier(loop_, {});
  notifier.ready("serving");
}

}  // namespace
}  // namespace stdgate::test
