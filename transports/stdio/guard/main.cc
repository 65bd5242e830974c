// stdgate-guard: the program that stdgate runs each command under (guard.h).
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "transports/net/file_descriptor.h"
#include "transports/stdio/guard/guard.h"
#include "transports/stdio/guard/protocol.h"

namespace guard = stdgate::guard;

int main(int argc, char** argv) {
  // First of all: no other process may read the environment, descriptors and memory of this one.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (!stdgate::net::open_standard_descriptors()) return guard::kSystemFailed;
  static guard::Options options;
  if (!guard::parse_options(argc, argv, &options) ||
      ::fcntl(guard::kControlFd, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("this program is for stdgate itself: it starts a child\n", stderr);
    return guard::kBadUsage;
  }
  ::setsid();
  ::prctl(PR_SET_NAME, guard::kProcessName, 0, 0, 0);
  ::closefrom(guard::kControlFd + 1);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return guard::kSystemFailed;
  // A stopped guard goes on when the gateway dies: its channel has ended then.
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  return guard::Guard(options).run();
}
