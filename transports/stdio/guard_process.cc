#include "transports/stdio/guard_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "transports/stdio/guard/protocol.h"

namespace stdgate::stdio {

namespace {

// One descriptor each for gateway and guard; 0 or libuv's code. All are close-on-exec: libuv hands
// the guard's on.
int open_pipe(net::FileDescriptor& read_end, net::FileDescriptor& write_end) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return uv_translate_sys_error(errno);
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return 0;
}

int open_ends(GuardEnds& ours, GuardEnds& theirs) {
  std::array<int, 2> control{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control.data()) != 0) {
    return uv_translate_sys_error(errno);
  }
  ours.control.reset(control[0]);
  theirs.control.reset(control[1]);
  if (const int error = open_pipe(theirs.input, ours.input); error != 0) return error;
  if (const int error = open_pipe(ours.output, theirs.output); error != 0) return error;
  if (const int error = open_pipe(ours.errors, theirs.errors); error != 0) return error;
  // Best effort: without privileges all pipes of a user share a budget.
  ::fcntl(ours.input.get(), F_SETPIPE_SZ, GuardProcess::kPipeSize);
  ::fcntl(ours.output.get(), F_SETPIPE_SZ, GuardProcess::kPipeSize);
  return 0;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& string : strings) out.push_back(string.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

struct GuardProcess::Block {
  uv_process_t process{};
  GuardProcess* owner = nullptr;
  const net::Loop* loop = nullptr;
  std::shared_ptr<GuardTable> table;

  void close() {
    uv_close(reinterpret_cast<uv_handle_t*>(&process),
             [](uv_handle_t* handle) { delete static_cast<Block*>(handle->data); });
  }
  static void exited(uv_process_t* process, int64_t code, int signal) {
    auto* block = static_cast<Block*>(process->data);
    GuardProcess* owner = block->owner;
    if (owner != nullptr) {
      owner->block_ = nullptr;
      owner->on_exit_(code, signal);
    }
    // Not before its owner has had what it left behind swept: that must not pass for strangers.
    block->leave_table();
    block->close();
  }
  // Its pid may be that of another loop's guard by now.
  void leave_table() const {
    const std::scoped_lock lock(table->mutex);
    const auto found = table->guards.find(process.pid);
    if (found != table->guards.end() && found->second.loop == loop) table->guards.erase(found);
  }
};

std::unique_ptr<GuardProcess> GuardProcess::start(
    net::Loop& loop, std::shared_ptr<GuardTable> table, const std::string& binary,
    std::vector<std::string> arguments, const std::map<std::string, std::string>& environment,
    ExitCallback on_exit, GuardEnds* ends, int* error) {
  GuardEnds theirs;
  *error = open_ends(*ends, theirs);
  if (*error != 0) return nullptr;

  std::vector<std::string> variables;
  variables.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    variables.emplace_back(name).append("=").append(value);
  }
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> envp = pointers(variables);

  std::array<uv_stdio_container_t, guard::kControlFd + 1> stdio{};
  const std::array<const net::FileDescriptor*, stdio.size()> descriptors{
      &theirs.input, &theirs.output, &theirs.errors, &theirs.control};
  for (size_t i = 0; i < stdio.size(); ++i) {
    stdio[i].flags = UV_INHERIT_FD;
    stdio[i].data.fd = descriptors[i]->get();
  }
  uv_process_options_t options{};
  options.exit_cb = &Block::exited;
  options.file = binary.c_str();
  options.args = argv.data();
  options.env = envp.data();
  options.stdio_count = static_cast<int>(stdio.size());
  options.stdio = stdio.data();

  auto block = std::make_unique<Block>();
  block->process.data = block.get();
  {
    const std::scoped_lock lock(table->mutex);
    *error = uv_spawn(loop.uv(), &block->process, &options);
    if (*error == 0) table->guards[block->process.pid] = {&loop, {}};
  }
  if (*error != 0) {
    block.release()->close();
    return nullptr;
  }
  block->loop = &loop;
  block->table = std::move(table);
  return std::unique_ptr<GuardProcess>(new GuardProcess(block.release(), std::move(on_exit)));
}

GuardProcess::GuardProcess(Block* block, ExitCallback on_exit)
    : block_(block), on_exit_(std::move(on_exit)) {
  block_->owner = this;
}

GuardProcess::~GuardProcess() {
  if (block_ != nullptr) block_->owner = nullptr;
}

int GuardProcess::pid() const { return block_ == nullptr ? 0 : block_->process.pid; }

}  // namespace stdgate::stdio
