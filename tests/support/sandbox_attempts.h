// Attempts at everything that a sandboxed child must not be able to do. Each result is 0, or errno.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stdgate::test {

using Attempts = std::vector<std::pair<std::string, int>>;

// Makes system calls that a sandbox refuses. They do no harm where they are allowed.
Attempts attempt_syscalls();
// Creates sockets of each family and type; the results have their names.
Attempts attempt_sockets();
// Connects to `port` of 127.0.0.1: TCP by connect(2) and by sendto(2) with MSG_FASTOPEN, MPTCP,
// UDP.
Attempts attempt_connects(int port);
// Binds and listens at `port`, and listens without binding.
Attempts attempt_listening(int port);
// Connects to the Unix socket at `path`, with a new socket and with one end of a socket pair.
Attempts attempt_unix(const std::string& path);
// Attempts each way to read a file or directory at `path`.
Attempts attempt_reading(const std::string& path);
// Executes a program that was put together in memory.
Attempts attempt_memory_code();
// Sets each attribute of the file or directory at `path`, but not its content, to its present
// value.
Attempts attempt_metadata(const std::string& path);
// Attempts each change of the content of the directory `path`. The directory has a file "old".
Attempts attempt_writing(const std::string& path);

}  // namespace stdgate::test
