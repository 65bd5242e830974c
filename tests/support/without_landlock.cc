// without_landlock [ARGUMENT]...: runs stdgate as on a kernel without Landlock, whose system calls
// fail with ENOSYS. Tests use it to check what stdgate reports then.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>

int main(int /*argc*/, char** argv) {
  constexpr unsigned kFirst = 444;  // landlock_create_ruleset … landlock_restrict_self
  constexpr unsigned kLast = 446;
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirst, 0, 2),
                        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kLast, 1, 0),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
    return 64;
  }
  ::execv(STDGATE_PROGRAM, argv);
  return 127;
}
