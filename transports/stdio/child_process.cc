#include "transports/stdio/child_process.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "transports/net/byte_stream.h"
#include "transports/stdio/command_output.h"
#include "transports/stdio/guard/protocol.h"
#include "transports/stdio/guard_process.h"
#include "transports/stdio/guard_watch.h"
#include "transports/stdio/program_search.h"

namespace stdgate::stdio {

namespace {

// How far the end that the core asked for has come.
enum class Ending : uint8_t { no, input_closed, terminated, killed };

class ChildProcess final : public pool::ChildLink {
 public:
  ChildProcess(net::Loop& loop, Log& log, GuardWatch& guards, UsageLedger& ledger,
               MemoryWatch& memory, pool::Confinement& confinement, uint64_t& incomplete_starts,
               uint64_t& left_behind, const pool::LaunchSpec& spec, pool::ChildEvents& events)
      : loop_(loop),
        log_(log),
        guards_(guards),
        ledger_(ledger),
        memory_(memory),
        confinement_(confinement),
        incomplete_starts_(incomplete_starts),
        left_behind_(left_behind),
        backend_(spec.backend),
        events_(events),
        stderr_log_(log, spec.backend),
        grace_timer_(loop.timers(), [this] { next_step(); }),
        drain_timer_(loop.timers(), [this] { finish(); }) {}
  ~ChildProcess() override;

  // `identity` as for guard_arguments(), or errno of its look-up.
  void start(const std::string& guard_binary, const pool::LaunchSpec& spec,
             const tl::expected<std::string, int>& identity);

  void write(std::span<const std::string_view> parts) override;
  [[nodiscard]] size_t unsent_bytes() const override;
  void set_reading(bool reading) override;
  void set_name(const pool::ChildName& name) override { stderr_log_.set_name(name); }
  [[nodiscard]] std::vector<std::string> last_words() const override {
    return stderr_log_.last_lines();
  }
  void end(Duration grace) override;

 private:
  // The events of one stream, as calls of this object's functions.
  template <auto OnBytes, auto OnEnd>
  struct Reader final : net::StreamEvents {
    explicit Reader(ChildProcess& owner) : child(owner) {}
    void on_bytes(std::span<char> bytes) override { (child.*OnBytes)(bytes); }
    void on_end() override { (child.*OnEnd)(); }
    void on_error(int /*error*/) override { (child.*OnEnd)(); }
    ChildProcess& child;
  };
  struct Writer final : net::StreamEvents {
    explicit Writer(ChildProcess& owner) : child(owner) {}
    void on_bytes(std::span<char> /*bytes*/) override {}
    void on_end() override {}
    void on_error(int /*error*/) override { child.on_input_broken(); }
    void on_writable() override { child.events_.on_writable(); }
    ChildProcess& child;
  };

  bool open_streams(GuardEnds& ends, int* error);
  void not_started(int error, std::string reason);

  void on_input_broken();
  void on_output(std::span<char> bytes) { events_.on_output(bytes); }
  void on_output_end();
  void on_stderr(std::span<char> bytes);
  void on_stderr_end();
  void on_control(std::span<char> bytes);
  void on_control_end();
  void on_control_line(std::string_view line);
  void on_unsandboxed(std::string_view missing);
  void on_started(int pid);
  void on_guard_exit(int64_t code, int signal);

  void end_after(Duration grace);
  void next_step();
  void kill_everything();
  void finish_when_drained();
  void finish();
  void account(double cpu_seconds);

  net::Loop& loop_;
  Log& log_;
  GuardWatch& guards_;
  UsageLedger& ledger_;
  MemoryWatch& memory_;
  pool::Confinement& confinement_;
  uint64_t& incomplete_starts_;  // of its backend
  uint64_t& left_behind_;
  const std::string backend_;
  pool::ChildEvents& events_;
  StderrLog stderr_log_;
  Timer grace_timer_;
  Timer drain_timer_;

  Writer input_events_{*this};
  Reader<&ChildProcess::on_output, &ChildProcess::on_output_end> output_events_{*this};
  Reader<&ChildProcess::on_stderr, &ChildProcess::on_stderr_end> stderr_events_{*this};
  Reader<&ChildProcess::on_control, &ChildProcess::on_control_end> control_events_{*this};
  // All four are there from start() on, unless that failed; a finished one is closed.
  std::unique_ptr<net::ByteStream> input_;
  std::unique_ptr<net::ByteStream> output_;
  std::unique_ptr<net::ByteStream> stderr_;
  std::unique_ptr<net::ByteStream> control_;
  std::unique_ptr<GuardProcess> guard_;
  int guard_pid_ = 0;

  std::string control_line_;
  int pid_ = 0;  // of the command; 0 until it runs
  CommandGroup group_;
  pool::ExitStatus status_;
  Duration grace_{0};
  Ending ending_ = Ending::no;
  bool start_failed_ = false;
  bool held_ = false;  // its output is not wanted at the moment
  bool accounted_ = false;
  bool output_ended_ = false;
  bool stderr_ended_ = false;
  bool control_ended_ = false;
  bool guard_exited_ = false;
  bool finished_ = false;
};

ChildProcess::~ChildProcess() {
  if (!accounted_ && guard_pid_ != 0) account(process_tree_usage(guard_pid_).cpu_seconds);
  // Its channel closes with this object.
  if (!guard_exited_ && guard_pid_ != 0) guards_.expect_end(guard_pid_);
}

void ChildProcess::start(const std::string& guard_binary, const pool::LaunchSpec& spec,
                         const tl::expected<std::string, int>& identity) {
  if (!identity) {
    not_started(identity.error(), std::string("find user: ") + std::strerror(identity.error()));
    drain_timer_.arm(loop_.now());  // tells it, from the loop
    return;
  }
  guards_.know_strangers();
  std::string cgroup = spec.watches_memory ? memory_.make_cgroup() : std::string();
  int error = 0;
  GuardEnds ends;
  guard_ = GuardProcess::start(
      loop_, guards_.table(), guard_binary, guard_arguments(spec, *identity, cgroup),
      spec.environment, [this](int64_t code, int signal) { on_guard_exit(code, signal); }, &ends,
      &error);
  if (guard_ == nullptr || !open_streams(ends, &error)) {
    if (guard_ != nullptr) guards_.expect_end(guard_->pid());
    guard_.reset();  // if it runs, it ends with its control channel
    memory_.drop_cgroup(std::move(cgroup));
    not_started(-error, std::string("spawn: ") + uv_strerror(error));
    drain_timer_.arm(loop_.now());
    return;
  }
  guard_pid_ = guard_->pid();
  ledger_.open(backend_, guard_pid_);
  if (spec.watches_memory) memory_.watch(guard_pid_, std::move(cgroup), events_);
  input_->set_watermark(kHighWatermark);
  input_->set_payer(spec.payer);
  control_->resume_read(net::ByteStream::kNotStarted);
}

bool ChildProcess::open_streams(GuardEnds& ends, int* error) {
  const auto open = [&](std::unique_ptr<net::ByteStream>& stream, net::FileDescriptor& fd,
                        net::StreamEvents& stream_events) {
    stream = net::ByteStream::adopt(loop_, fd.release(), net::ByteStream::Kind::pipe, stream_events,
                                    error);
    return stream != nullptr;
  };
  return open(input_, ends.input, input_events_) && open(output_, ends.output, output_events_) &&
         open(stderr_, ends.errors, stderr_events_) &&
         open(control_, ends.control, control_events_);
}

void ChildProcess::not_started(int error, std::string reason) {
  start_failed_ = true;
  status_ = {pool::ExitStatus::Kind::not_started, error, std::move(reason)};
}

void ChildProcess::write(std::span<const std::string_view> parts) {
  if (input_ != nullptr) input_->write(parts);
}

size_t ChildProcess::unsent_bytes() const { return input_ == nullptr ? 0 : input_->unsent_bytes(); }

void ChildProcess::on_input_broken() {
  input_->close();
  if (ending_ == Ending::no) end_after(ChildProcesses::kBrokenInputGrace);
}

void ChildProcess::on_output_end() {
  output_ended_ = true;
  output_->close();
  events_.on_output_end();
  finish_when_drained();
}

void ChildProcess::on_stderr(std::span<char> bytes) {
  stderr_log_.add({bytes.data(), bytes.size()}, loop_.now());
}

void ChildProcess::on_stderr_end() {
  stderr_ended_ = true;
  stderr_->close();
  stderr_log_.end(loop_.now());
  finish_when_drained();
}

void ChildProcess::on_control(std::span<char> bytes) {
  for (const char byte : bytes) {
    if (byte != '\n') {
      control_line_ += byte;
      continue;
    }
    on_control_line(control_line_);
    control_line_.clear();
  }
}

void ChildProcess::on_control_line(std::string_view line) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, space);
  std::string_view rest = line.substr(std::min(space + 1, line.size()));
  int64_t number = 0;
  const char* end = rest.data() + rest.size();
  rest = {std::from_chars(rest.data(), end, number).ptr, end};
  rest.remove_prefix(std::min<size_t>(1, rest.size()));
  if (word == guard::kPidLine && number > 1) {
    on_started(static_cast<int>(number));
  } else if (word == guard::kFailedLine) {
    not_started(static_cast<int>(number), std::string(rest));
  } else if (word == guard::kUnconfinedLine) {
    ++confinement_.unconfined_starts;
    log_.write(LogLevel::warn, "child is not confined", {{"backend", backend_}, {"reason", rest}});
  } else if (word == guard::kLeftLine) {
    left_behind_ += static_cast<uint64_t>(std::max<int64_t>(number, 0));
  } else if (word == guard::kLingeredLine) {
    status_.lingered = std::chrono::milliseconds(std::max<int64_t>(number, 0));
  } else if (word == guard::kUnsandboxedLine) {
    on_unsandboxed(rest);
  } else if (word == guard::kCpuLine) {
    account(static_cast<double>(number) / 1e6);
  }
}

// Said once of each backend; all of its children are started alike.
void ChildProcess::on_unsandboxed(std::string_view missing) {
  if (++incomplete_starts_ > 1) return;
  log_.write(LogLevel::warn, "sandbox is incomplete",
             {{"backend", backend_}, {"missing", missing}});
}

// Nothing is read from the command before: so on_started() comes first, and each line of stderr has
// its pid.
void ChildProcess::on_started(int pid) {
  pid_ = pid;
  group_.note(pid, guard_pid_);
  stderr_log_.set_pid(pid);
  output_->resume_read(net::ByteStream::kNotStarted);
  stderr_->resume_read(net::ByteStream::kNotStarted);
  events_.on_started(pid);
}

void ChildProcess::on_control_end() {
  control_ended_ = true;
  control_->close();
  if (pid_ == 0) {
    output_ended_ = true;  // there never was one
    stderr_->resume_read(
        net::ByteStream::kNotStarted);  // the guard's own words, if it could not run
  } else if (!accounted_) {
    // The guard did not end as it should: it was killed. Its command was killed with it; for what
    // has left the group see on_guard_exit().
    group_.kill(*guards_.table());
  }
  finish_when_drained();
}

void ChildProcess::on_guard_exit(int64_t code, int signal) {
  loop_.refresh_now();
  guard_exited_ = true;
  if (!accounted_) guards_.sweep();
  grace_timer_.disarm();
  input_->close();
  if (!start_failed_) {
    const bool by_signal = signal != 0;
    status_.kind = by_signal ? pool::ExitStatus::Kind::signaled : pool::ExitStatus::Kind::exited;
    status_.value = by_signal ? signal : static_cast<int>(code);
  }
  if (!held_ || pid_ == 0) drain_timer_.arm(loop_.now() + ChildProcesses::kMaxDrainTime);
  finish_when_drained();
}

// on_exit() waits until the rest of the output has been read.
void ChildProcess::set_reading(bool reading) {
  held_ = !reading;
  if (output_ == nullptr) return;
  if (held_) {
    output_->pause_read(net::ByteStream::kBackPressure);
    if (pid_ != 0) drain_timer_.disarm();
  } else {
    output_->resume_read(net::ByteStream::kBackPressure);
    if (guard_exited_ && !finished_) drain_timer_.arm(loop_.now() + ChildProcesses::kMaxDrainTime);
  }
}

void ChildProcess::end(Duration grace) {
  if (guard_exited_ || start_failed_) return;
  end_after(grace);
}

void ChildProcess::end_after(Duration grace) {
  const TimePoint due = loop_.now() + grace;
  if (ending_ == Ending::no) {
    ending_ = Ending::input_closed;
    grace_ = grace;
    input_->shutdown_write();
    grace_timer_.arm(due);
  } else if (ending_ != Ending::killed && grace < grace_) {
    grace_ = grace;
    grace_timer_.arm(std::min(grace_timer_.due(), due));
  }
  if (grace_ <= Duration::zero()) kill_everything();
}

void ChildProcess::next_step() {
  if (ending_ == Ending::terminated) return kill_everything();
  ending_ = Ending::terminated;
  input_->close();
  control_->write({&guard::kTerminateByte, 1});
  grace_timer_.arm(loop_.now() + grace_);
}

// The guard does it at the end of its control channel. Its output of this time is still read.
void ChildProcess::kill_everything() {
  ending_ = Ending::killed;
  grace_timer_.disarm();
  input_->close();
  control_->shutdown_write();
  guards_.expect_end(guard_pid_);
}

void ChildProcess::finish_when_drained() {
  if (guard_exited_ && control_ended_ && output_ended_ && stderr_ended_) finish();
}

void ChildProcess::finish() {
  if (std::exchange(finished_, true)) return;
  drain_timer_.disarm();
  for (const auto* stream : {&input_, &output_, &stderr_, &control_}) {
    if (*stream != nullptr) (*stream)->close();
  }
  if (!accounted_ && guard_pid_ != 0) account(0);
  if (!stderr_ended_) stderr_log_.end(loop_.now());
  if (pid_ == 0 && !start_failed_) {
    const bool by_signal = status_.kind == pool::ExitStatus::Kind::signaled;
    not_started(0, ending_ != Ending::no ? "ended before it started"
                                         : std::string("guard: ") +
                                               (by_signal ? "killed by signal " : "exited with ") +
                                               std::to_string(status_.value));
  }
  if (pid_ != 0 && !output_ended_) events_.on_output_end();
  events_.on_exit(status_);
}

void ChildProcess::account(double cpu_seconds) {
  accounted_ = true;
  ledger_.close(backend_, guard_pid_, cpu_seconds);
  memory_.forget(events_);
}

guard::KernelFeatures kernel_of(const pool::Confinement& confinement) {
  return {confinement.landlock_abi, confinement.syscalls_filtered};
}

}  // namespace

ChildProcesses::ChildProcesses(net::Loop& loop, Log& log, OrphanReaper& orphans,
                               std::string guard_binary, CgroupPlaces cgroups)
    : loop_(loop),
      log_(log),
      guard_binary_(std::move(guard_binary)),
      guards_(loop, orphans),
      memory_(loop, log, std::move(cgroups)),
      confinement_(probe_confinement()) {}

std::unique_ptr<pool::ChildLink> ChildProcesses::launch(const pool::LaunchSpec& spec,
                                                        pool::ChildEvents& events) {
  auto child =
      std::make_unique<ChildProcess>(loop_, log_, guards_, ledger_, memory_, confinement_,
                                     incomplete_starts_[spec.backend], left_behind_, spec, events);
  child->start(guard_binary_, spec, identity_of(spec.user));
  return child;
}

tl::expected<std::string, int> ChildProcesses::identity_of(const std::string& user) {
  if (user.empty()) return std::string();
  if (const auto known = identities_.find(user); known != identities_.end()) return known->second;
  auto identity = look_identity_up(user);
  if (identity) identities_.emplace(user, *identity);
  return identity;
}

tl::expected<void, pool::LaunchProblem> ChildProcesses::look_for(
    const pool::LaunchSpec& spec) const {
  if (auto found = find_program(spec); !found) return found;
  return check_sandbox(spec, kernel_of(confinement_)).map_error([](const std::string& problem) {
    return pool::LaunchProblem{"not-started", "sandbox: " + problem};
  });
}

pool::SandboxStatus ChildProcesses::sandbox_status(const pool::LaunchSpec& spec) const {
  pool::SandboxStatus status = stdio::sandbox_status(spec.sandbox, kernel_of(confinement_));
  status.incomplete_starts = incomplete_starts(spec.backend);
  return status;
}

uint64_t ChildProcesses::incomplete_starts(std::string_view backend) const {
  const auto found = incomplete_starts_.find(backend);
  return found == incomplete_starts_.end() ? 0 : found->second;
}

}  // namespace stdgate::stdio
