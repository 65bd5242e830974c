// rogue_child: a stdio JSON-RPC child that misbehaves as told, for tests of the gateway.
//
// rogue_child MODE [NUMBER] [anything: a mark that lets a test find the process]
//   rpc            answers each line with {"jsonrpc":"2.0","id":<its id>,"result":<its params>}
//   cat            echoes bytes
//   ignore-term    like rpc, but ignores SIGTERM
//   ignore-eof     like rpc, but stays when its input has ended
//   stubborn       like rpc, but does both
//   grandchild     like rpc, with a detached stubborn grandchild in a session of its own
//   die-after N    like rpc, but kills itself after N answers
//   split-writes   like rpc, but writes each answer byte by byte
//   garbage        like rpc; before each answer it writes a line of invalid JSON and a line that
//                  is no JSON-RPC
//   late N         like rpc, but delays each answer by N milliseconds
//   no-read        reads nothing before SIGUSR1, then reads to the end and prints the number of
//                  bytes
//   close-input    closes its stdin and stays
//   flood-stdout   writes "x" for ever
//   flood-stderr N   writes N numbered lines to stderr
//   burst N        writes N bytes and exits at once
//   exit N, abort, signal N   end the process in this way
//   describe       prints environment, descriptors, directory, process group and no_new_privs
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace {

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count <= 0) std::_Exit(1);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

void wait_for_ever() {
  for (;;) ::pause();
}

// The raw value of a member of the outermost object; empty if the member is missing. `json` must be
// valid.
std::string_view member(std::string_view json, std::string_view name) {
  int depth = 0;
  bool in_string = false;
  size_t value = 0;  // where the wanted value begins
  size_t token = 0;  // where the last token at depth 1 began
  for (size_t i = 0; i < json.size(); ++i) {
    const char byte = json[i];
    if (in_string) {
      if (byte == '\\') ++i;
      if (byte == '"') in_string = false;
      continue;
    }
    if (byte == '"') {
      if (depth == 1) token = i;
      in_string = true;
    } else if (byte == '{' || byte == '[') {
      ++depth;
    } else if (depth == 1 && byte == ':') {
      if (value == 0 && json.substr(token + 1, name.size() + 1) == std::string(name) + '"') {
        value = i + 1;
      }
    } else if (byte == '}' || byte == ']' || (depth == 1 && byte == ',')) {
      if (depth == 1 && value != 0) return json.substr(value, i - value);
      if (byte != ',') --depth;
    }
  }
  return {};
}

using Send = std::function<void(std::string_view answer)>;

// Answers lines until the end of input, and ignores notifications.
void serve(const Send& send) {
  std::string buffer;
  std::string answers;
  std::array<char, 1 << 16> chunk;
  ssize_t count = 0;
  while ((count = ::read(STDIN_FILENO, chunk.data(), chunk.size())) > 0) {
    buffer.append(chunk.data(), static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end = 0; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string_view line = std::string_view(buffer).substr(begin, end - begin);
      const std::string_view id = member(line, "id");
      const std::string_view params = member(line, "params");
      if (id.empty() || member(line, "method").empty()) continue;
      answers.append(R"({"jsonrpc":"2.0","id":)").append(id).append(R"(,"result":)");
      answers.append(params.empty() ? "null" : params).append("}\n");
      if (send == nullptr) continue;
      send(answers);
      answers.clear();
    }
    buffer.erase(0, begin);
    write_all(STDOUT_FILENO, answers);
    answers.clear();
  }
}

void serve_stubbornly() {
  std::signal(SIGTERM, SIG_IGN);
  serve(nullptr);
  wait_for_ever();
}

void serve_with_grandchild() {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    wait_for_ever();
  }
  serve(nullptr);
}

void serve_and_die(long answers) {
  serve([left = answers](std::string_view answer) mutable {
    write_all(STDOUT_FILENO, answer);
    if (--left == 0) ::kill(::getpid(), SIGKILL);
  });
}

void serve_byte_by_byte() {
  serve([](std::string_view answer) {
    for (const char byte : answer) write_all(STDOUT_FILENO, {&byte, 1});
  });
}

void serve_with_garbage() {
  serve([](std::string_view answer) {
    write_all(STDOUT_FILENO, "starting up, please wait...\n{\"hello\":[1]}\n");
    write_all(STDOUT_FILENO, answer);
  });
}

void serve_late(long milliseconds) {
  serve([milliseconds](std::string_view answer) {
    const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
    ::nanosleep(&time, nullptr);
    write_all(STDOUT_FILENO, answer);
  });
}

void cat() {
  std::array<char, 1 << 16> chunk;
  ssize_t count = 0;
  while ((count = ::read(STDIN_FILENO, chunk.data(), chunk.size())) > 0) {
    write_all(STDOUT_FILENO, {chunk.data(), static_cast<size_t>(count)});
  }
}

void read_after_signal() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
  write_all(STDOUT_FILENO, "waiting\n");
  int received = 0;
  ::sigwait(&wanted, &received);
  std::array<char, 1 << 16> chunk;
  size_t total = 0;
  ssize_t count = 0;
  while ((count = ::read(STDIN_FILENO, chunk.data(), chunk.size())) > 0) {
    total += static_cast<size_t>(count);
  }
  std::printf("%zu\n", total);
}

void flood_stdout() {
  const std::string bytes(1 << 16, 'x');
  for (;;) write_all(STDOUT_FILENO, bytes);
}

void flood_stderr(long lines) {
  for (long i = 0; i < lines; ++i) write_all(STDERR_FILENO, "line " + std::to_string(i) + "\n");
}

// Resets the signal's handler first, because a sanitizer may have installed its own.
void die_of(int signal) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::signal(signal, SIG_DFL);
  ::kill(::getpid(), signal);
}

void describe() {
  for (char** entry = environ; *entry != nullptr; ++entry) std::printf("env %s\n", *entry);
  DIR* directory = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(directory)) std::printf("fd %d\n", fd);
  }
  ::closedir(directory);
  std::array<char, 4096> path{};
  if (::getcwd(path.data(), path.size()) != nullptr) std::printf("cwd %s\n", path.data());
  std::printf("leads_group %d\n", ::getpgrp() == ::getpid() ? 1 : 0);
  std::printf("no_new_privs %d\n", ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  sigset_t blocked;
  ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
  std::printf("term_blocked %d\n", sigismember(&blocked, SIGTERM));
  std::printf("pipe_ignored %d\n", std::signal(SIGPIPE, SIG_DFL) == SIG_IGN ? 1 : 0);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  std::printf("open_files %llu\n", static_cast<unsigned long long>(files.rlim_cur));
  std::printf("uid %u gid %u\n", ::getuid(), ::getgid());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const long number = argc > 2 ? std::atol(argv[2]) : 0;
  const std::map<std::string, std::function<void()>> modes{
      {"rpc", [] { serve(nullptr); }},
      {"cat", cat},
      {"ignore-term",
       [] {
         std::signal(SIGTERM, SIG_IGN);
         serve(nullptr);
       }},
      {"ignore-eof",
       [] {
         serve(nullptr);
         wait_for_ever();
       }},
      {"stubborn", serve_stubbornly},
      {"grandchild", serve_with_grandchild},
      {"die-after", [=] { serve_and_die(number); }},
      {"split-writes", serve_byte_by_byte},
      {"garbage", serve_with_garbage},
      {"late", [=] { serve_late(number); }},
      {"no-read", read_after_signal},
      {"close-input",
       [] {
         ::close(STDIN_FILENO);
         wait_for_ever();
       }},
      {"flood-stdout", flood_stdout},
      {"flood-stderr", [=] { flood_stderr(number); }},
      {"burst", [=] { write_all(STDOUT_FILENO, std::string(static_cast<size_t>(number), 'b')); }},
      {"exit", [=] { std::exit(static_cast<int>(number)); }},
      {"abort", [] { die_of(SIGABRT); }},
      {"signal", [=] { die_of(static_cast<int>(number)); }},
      {"describe", describe}};
  const auto found = modes.find(mode);
  if (found == modes.end()) {
    std::fprintf(stderr, "rogue_child: no such mode: %s\n", mode.c_str());
    return 64;
  }
  found->second();
  return 0;
}
