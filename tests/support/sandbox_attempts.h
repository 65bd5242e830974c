// Attempts at everything that a sandboxed child must not be able to do. Each result is 0, or errno.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stdgate::test {

using Attempts = std::vector<std::pair<std::string, int>>;

// System calls that a sandbox refuses; harmless where they are not refused.
Attempts attempt_syscalls();
// Sockets of each family and type, by name.
Attempts attempt_sockets();
// Of 127.0.0.1 to `port`: TCP by connect(2) and by sendto(2) with MSG_FASTOPEN, MPTCP, UDP.
Attempts attempt_connects(int port);
// Binding and listening at `port`; listening without a port of its own.
Attempts attempt_listening(int port);
// The Unix socket at `path`: by a socket, and by one of a pair.
Attempts attempt_unix(const std::string& path);
// Everything that can be done to a file or directory at `path`.
Attempts attempt_reading(const std::string& path);
// A program that was put together in memory.
Attempts attempt_memory_code();
// Sets each attribute of the file or directory at `path`, beside its content, to its present value.
Attempts attempt_metadata(const std::string& path);
// Attempts each change of the content of the directory `path`, which has a file "old".
Attempts attempt_writing(const std::string& path);

}  // namespace stdgate::test
