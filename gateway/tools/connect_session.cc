#include "gateway/tools/connect_session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/config/config_files.h"
#include "gateway/remote/acp_remote.h"
#include "gateway/remote/http_remote.h"
#include "gateway/remote/link_remote.h"
#include "gateway/rpc/fault.h"
#include "gateway/rpc/json_text.h"
#include "gateway/tools/peer.h"
#include "transports/websocket/socket_link.h"

namespace stdgate::tools {

namespace {

constexpr size_t kMaxKeptError = 16 << 10;

std::string path_of(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t path = url.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  return path == std::string_view::npos ? std::string("/") : std::string(url.substr(path));
}

// MCP servers and agents over HTTP, all else over WebSocket, which keeps the order of messages.
std::string url_of(const PeerBackend& backend, const std::string& gateway) {
  const std::string_view end = backend.protocol == "mcp"   ? "/mcp"
                               : backend.protocol == "acp" ? kAcpPath
                                                           : "/ws";
  for (const std::string& place : backend.places) {
    const std::string path = path_of(place);
    if (path.ends_with(end)) return (end == "/ws" ? "ws" + gateway.substr(4) : gateway) + path;
  }
  return {};
}

// A file and /dev/null cannot be waited for: a thread reads them into a pipe.
int pollable(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return -1;
  const bool is_pollable = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) ||
                           (S_ISCHR(status.st_mode) && ::isatty(fd) == 1);
  if (is_pollable) return ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
  std::thread([from = fd, to = ends[1]] {
    std::array<char, 64 << 10> buffer;
    for (;;) {
      const ssize_t count = ::read(from, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0 || ::write(to, buffer.data(), static_cast<size_t>(count)) != count) break;
    }
    ::close(to);
  }).detach();
  return ends[0];
}

// As a terminal is, or a log for both.
bool is_same_file(int one, int other) {
  struct stat first {};
  struct stat second {};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// nohup(1) has a program go on.
bool is_ignored(int signal) {
  struct sigaction present {};
  return ::sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
}

// Whether another program may still read what is written there.
bool is_read(int fd) {
  pollfd polled{fd, POLLOUT, 0};
  return ::poll(&polled, 1, 0) >= 0 && (polled.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

// Whether bytes wait to be read there.
bool has_bytes(int fd) {
  int count = 0;
  return ::ioctl(fd, FIONREAD, &count) == 0 && count > 0;
}

// Restores the flags of a descriptor at its end, because other programs share a terminal's
// descriptors.
class DescriptorFlags {
 public:
  explicit DescriptorFlags(int fd) : fd_(fd), flags_(::fcntl(fd, F_GETFL)) {}
  ~DescriptorFlags() {
    if (flags_ >= 0) ::fcntl(fd_, F_SETFL, flags_);
  }
  DescriptorFlags(const DescriptorFlags&) = delete;
  DescriptorFlags& operator=(const DescriptorFlags&) = delete;

 private:
  const int fd_;
  const int flags_;
};

}  // namespace

ConnectAuthorizer::ConnectAuthorizer(net::Loop& loop, const ConnectPlan& plan)
    : loop_(loop), plan_(plan), done_timer_(loop.timers(), [this] { finish(read_); }) {}

ConnectAuthorizer::~ConnectAuthorizer() = default;

std::vector<std::string> ConnectAuthorizer::fields() const {
  std::vector<std::string> fields = plan_.fields;
  if (!token_.empty()) fields.push_back("Authorization: Bearer " + token_);
  return fields;
}

std::string ConnectAuthorizer::name() const {
  if (!plan_.key_file.empty()) return "the key of " + plan_.key_file;
  if (!plan_.token_file.empty()) return "the token of " + plan_.token_file;
  return plan_.token_command.empty() ? std::string() : "the token that --token-command prints";
}

bool ConnectAuthorizer::can_renew() const {
  return !plan_.token_file.empty() || !plan_.token_command.empty();
}

void ConnectAuthorizer::renew(Done done) {
  done_ = std::move(done);
  if (!plan_.token_command.empty()) {
    command_ = std::make_unique<stdio::CommandOutput>(
        loop_, plan_.token_command, kCommandTime, [this](stdio::CommandOutput::Result output) {
          loop_.retire(std::move(command_));
          finish(take(std::move(output), "--token-command"));
        });
    return;
  }
  read_ = take(config::read_text_file(plan_.token_file, kMaxToken), "--token-file");
  done_timer_.arm(TimePoint{});
}

void ConnectAuthorizer::finish(tl::expected<void, std::string> read) {
  if (const Done done = std::exchange(done_, nullptr)) done(std::move(read));
}

tl::expected<void, std::string> ConnectAuthorizer::take(tl::expected<std::string, std::string> text,
                                                        const std::string& source) {
  if (!text) return tl::unexpected(source + ": " + text.error());
  const std::string_view line = trim(std::string_view(*text).substr(0, text->find('\n')), " \t\r");
  const auto fits = [](char c) { return c > ' ' && c <= '~'; };
  if (line.empty()) return tl::unexpected(source + " has no token");
  if (!std::ranges::all_of(line, fits)) {
    return tl::unexpected(source + ": a token has no blanks, and nothing but ASCII");
  }
  token_ = line;
  return {};
}

ConnectLookup::ConnectLookup(const ConnectPlan& plan, const remote::RemoteServices& services,
                             std::function<void(Found)> done)
    : plan_(plan),
      done_(std::move(done)),
      credential_(services.authorizer.name()),
      stream_(services.web, services.clock, services.timers, *this, kMaxList) {
  std::vector<std::string> fields = services.authorizer.fields();
  fields.emplace_back("Accept: application/json");
  stream_.open({.url = plan.gateway + "/", .fields = std::move(fields), .time = kTime});
}

// A server of MCP's HTTP and SSE at the address itself sends events for as long as they are read.
void ConnectLookup::on_stream_head(const remote::WebHead& head) {
  if (!head.is_success() || !head.has_type("text/event-stream")) return;
  stream_.close();
  done_(guessed());
}

void ConnectLookup::on_stream_end(const remote::WebFailure* failure) {
  if (failure != nullptr) {
    return done_(tl::unexpected(remote::problem_of(*failure, plan_.gateway)));
  }
  done_(find());
}

// The URL to use without the list of backends: of the named backend, or of the gateway.
std::string ConnectLookup::guessed() const {
  if (!plan_.backend.empty()) return plan_.gateway + "/" + plan_.backend + "/mcp";
  return plan_.gateway + "/";
}

ConnectLookup::Found ConnectLookup::find() const {
  using remote::Problem;
  const remote::WebHead& head = stream_.head();
  if (head.status == 401 || head.status == 403) {
    return tl::unexpected(remote::problem_of(head, stream_.body(), plan_.gateway, credential_));
  }
  const auto backends = head.is_success() ? listed_backends(stream_.body()) : std::nullopt;
  if (!backends) return guessed();
  std::vector<std::string> names;
  for (const PeerBackend& backend : *backends) {
    names.push_back(backend.name);
    const bool is_meant = plan_.backend.empty() ? backend.is_default || backends->size() == 1
                                                : backend.name == plan_.backend;
    if (!is_meant) continue;
    if (std::string url = url_of(backend, plan_.gateway); !url.empty()) return url;
  }
  const std::string said = plan_.backend.empty() ? "name one of the backends of the gateway"
                                                 : "no backend '" + plan_.backend + "'";
  return tl::unexpected(Problem{remote::Exit::no_server, rpc::Fault::not_found,
                                said + " at " + remote::shown_url(plan_.gateway) + ": it has " +
                                    (names.empty() ? "none" : joined(names, ", "))});
}

class ConnectSession::Output final : public net::StreamEvents {
 public:
  explicit Output(ConnectSession& session) : session_(session) {}
  void on_bytes(std::span<char> /*bytes*/) override {}
  void on_end() override {}
  void on_error(int error) override { session_.on_error(error); }
  void on_writable() override {
    if (!std::exchange(session_.is_unread_, false)) return;
    if (session_.remote_ != nullptr) session_.remote_->resume();
  }
  void on_flushed() override {
    if (session_.is_leaving_) session_.end();
  }

 private:
  ConnectSession& session_;
};

ConnectSession::ConnectSession(ConnectPlan plan)
    : plan_(std::move(plan)),
      random_(plan_.chance),
      web_(loop_, plan_.web),
      authorizer_(loop_, plan_),
      services_{*this, web_, authorizer_, loop_, loop_.timers(), random_},
      parser_({.version_optional = true}),  // its server judges that
      framer_(rpc::make_framer(plan_.framing, kMaxMessage, loop_.storages())),
      signals_(loop_, [this](int /*signal*/) { end(); }),
      output_events_(std::make_unique<Output>(*this)),
      shares_outputs_(is_same_file(STDOUT_FILENO, STDERR_FILENO)),
      answers_timer_(loop_.timers(), [this] { end_when_answered(); }),
      end_timer_(loop_.timers(), [this] { finish(); }) {}

ConnectSession::~ConnectSession() = default;

int ConnectSession::run() {
  const DescriptorFlags input_flags(STDIN_FILENO);
  const DescriptorFlags output_flags(STDOUT_FILENO);
  if (!open_streams()) {
    say("stdin and stdout cannot be used");
    return static_cast<int>(remote::Exit::bad_usage);
  }
  signals_.watch(SIGTERM);
  signals_.watch(SIGINT);
  if (!is_ignored(SIGHUP)) signals_.watch(SIGHUP);
  find_server();
  if (!is_ending_) loop_.run();
  remote_.reset();
  lookup_.reset();
  departure_.reset();
  reader_departure_.reset();
  input_.reset();
  output_.reset();
  return exit_code_;
}

bool ConnectSession::open_streams() {
  using net::ByteStream;
  const int in = pollable(STDIN_FILENO);
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (in < 0 || out < 0) return false;
  int error = 0;
  input_ = ByteStream::adopt(loop_, in, ByteStream::Kind::pipe, *this, &error);
  output_ = ByteStream::adopt(loop_, out, ByteStream::Kind::pipe, *output_events_, &error);
  if (input_ == nullptr || output_ == nullptr) return false;
  // One that has only said all, as in `cat requests | stdgate connect`, gets its answers while it
  // reads them.
  departure_ = std::make_unique<net::DepartureWatch>(loop_, in, [this, in] {
    const bool has_said_nothing = remote_ == nullptr && !has_bytes(in);
    if (has_said_nothing || !is_read(STDOUT_FILENO)) return end();
    reader_departure_->start();
  });
  reader_departure_ = std::make_unique<net::DepartureWatch>(loop_, out, [this] { end(); });
  output_->set_watermark(kMaxUnread);
  departure_->start();
  return true;
}

// Once there is a server, or none.
void ConnectSession::begin_reading() {
  departure_->stop();
  input_->resume_read(net::Stream::kNotStarted);
}

// --- The server ---------------------------------------------------------------------------------

void ConnectSession::find_server() {
  if (!authorizer_.can_renew()) return find_backend();
  authorizer_.renew([this](const tl::expected<void, std::string>& read) {
    if (read) return find_backend();
    problem_ = {remote::Exit::refused, rpc::Fault::unauthenticated, read.error()};
    begin_reading();
  });
}

void ConnectSession::find_backend() {
  if (!plan_.endpoint.empty()) return open_remote(plan_.endpoint);
  lookup_ =
      std::make_unique<ConnectLookup>(plan_, services_, [this](const ConnectLookup::Found& found) {
        if (is_ending_ || is_leaving_) return;
        if (found) return open_remote(*found);
        problem_ = found.error();
        begin_reading();
      });
}

void ConnectSession::open_remote(const std::string& url) {
  if (url.starts_with("ws")) {
    remote_ = std::make_unique<remote::LinkRemote>(
        url, std::make_unique<websocket::SocketLink>(url, services_, web_, loop_), services_);
  } else if (url.ends_with(kAcpPath)) {
    remote_ = std::make_unique<remote::AcpRemote>(url, services_);
  } else {
    remote_ = std::make_unique<remote::HttpRemote>(url, services_);
  }
  begin_reading();
}

// --- What comes from the server -----------------------------------------------------------------

void ConnectSession::send(std::string_view message) {
  if (output_ == nullptr || is_ending_) return;
  const rpc::FrameEnds ends = rpc::frame_ends(plan_.framing, message.size(), frame_head_);
  const std::array parts{ends.head, message, ends.tail};
  output_->write(parts);
  if (shares_outputs_ && message.size() <= kMaxKeptError) last_error_ = message;
  // The remote notes the answer after it has handed it over.
  if (has_said_all_) answers_timer_.arm(loop_.now());
  if (output_->unsent_bytes() <= kMaxUnread || std::exchange(is_unread_, true)) return;
  if (remote_ != nullptr) remote_->pause();
}

bool ConnectSession::is_told(std::string_view text) const {
  std::string in_json;
  rpc::append_json_string(in_json, text);
  return last_error_.find(in_json) != std::string::npos;
}

void ConnectSession::say(const std::string& line) {
  if (is_told(line)) return;
  std::fprintf(stderr, "stdgate: connect: %s\n", visible(line, VisibleText::line).c_str());
}

void ConnectSession::leave(remote::Exit exit) {
  if (is_ending_ || is_leaving_) return;
  const bool is_backend = remote_ != nullptr && plan_.endpoint.empty();
  if (is_backend && (exit == remote::Exit::lost || exit == remote::Exit::unreachable)) {
    say("stdgate ls shows how the backends are; where gateway.yaml is, stdgate doctor " +
        (plan_.backend.empty() ? std::string("NAME") : plan_.backend) + " tries this one");
  }
  exit_code_ = static_cast<int>(exit);
  is_leaving_ = true;
  end_timer_.arm(loop_.now() + kLastWordsTime);
  if (output_->unsent_bytes() == 0) end();
}

// --- What comes from the client -----------------------------------------------------------------

void ConnectSession::on_bytes(std::span<char> bytes) {
  if (is_ending_ || is_leaving_) return;
  framer_->feed(bytes, *this);
  give_up();
  hold_back();
}

// A client that is still there, as in `echo … | stdgate connect`, gets the answers that come soon.
void ConnectSession::on_end() {
  if (!is_leaving_) framer_->finish(*this);
  give_up();
  if (is_ending_ || is_leaving_ || !is_read(STDOUT_FILENO)) return end();
  has_said_all_ = true;
  answers_due_ = loop_.now() + kLastAnswersTime;
  end_when_answered();
}

void ConnectSession::end_when_answered() {
  if (is_ending_ || is_leaving_) return;
  const bool is_answered = remote_ == nullptr || remote_->is_answered();
  const bool is_told = is_answered && output_->unsent_bytes() == 0;
  if (is_told || loop_.now() >= answers_due_ || !is_read(STDOUT_FILENO)) {
    if (!is_answered) say("the end of input came before the last answers; they are given up");
    return end();
  }
  answers_timer_.arm(std::min(answers_due_, loop_.now() + kAnswersInterval));
}

void ConnectSession::on_error(int /*error*/) { end(); }

void ConnectSession::on_frame(std::span<char> text) {
  if (is_ending_ || is_leaving_) return;
  const auto document = parser_.parse(text);
  if (!document) return answer({}, rpc::report_of(document.error()));
  const bool is_good = std::ranges::any_of(document->messages, &rpc::ParsedMessage::ok);
  if (!is_good) {
    const rpc::ParsedMessage& message = document->messages[0];
    return answer(message.envelope.id,
                  rpc::faults::because(rpc::Fault::invalid_request, message.rejection));
  }
  remote::ClientMessage message =
      remote::read_client_message(*document, {text.data(), text.size()});
  if (remote_ != nullptr) return remote_->take(std::move(message));
  for (const std::string& id : message.requests) {
    send(remote::answer_of(*problem_, id));
    has_refused_ = true;
  }
}

void ConnectSession::on_oversized_frame(const rpc::OversizedFrame& frame) {
  answer(frame.id, rpc::faults::message_too_large());
}

void ConnectSession::on_broken_framing(const char* reason) {
  say(std::string("the client's messages cannot be told apart: ") + reason);
  leave(remote::Exit::bad_usage);
}

void ConnectSession::answer(std::string_view id, const rpc::FaultReport& report) {
  std::string text;
  rpc::append_fault_response(text, id, report, rpc::CodeSet::mcp, false);
  send(text);
}

// While much waits, the client is not read; that it has gone is noticed all the same.
void ConnectSession::hold_back() {
  if (is_held_ || !is_full() || is_ending_) return;
  is_held_ = true;
  input_->pause_read(net::Stream::kBackPressure);
  departure_->start();
}

bool ConnectSession::is_full() const { return remote_ != nullptr && remote_->is_full(); }

void ConnectSession::on_room() {
  if (!is_held_ || is_ending_ || is_full()) return;
  is_held_ = false;
  departure_->stop();
  input_->resume_read(net::Stream::kBackPressure);
}

// --- Ends ---------------------------------------------------------------------------------------

// Ends the program when the client has been told why there is no server.
void ConnectSession::give_up() {
  if (!has_refused_ || is_leaving_) return;
  say(problem_->message);
  leave(problem_->exit);
}

void ConnectSession::end() {
  if (std::exchange(is_ending_, true)) return;
  if (problem_ && !is_leaving_) {
    say(problem_->message);
    exit_code_ = static_cast<int>(problem_->exit);
  }
  departure_->stop();
  input_->close();
  answers_timer_.disarm();
  if (remote_ == nullptr || is_leaving_) return finish();
  end_timer_.arm(loop_.now() + remote::Remote::kFarewellTime);
  remote_->close([this] { finish(); });
}

void ConnectSession::finish() {
  is_ending_ = true;
  loop_.stop();
}

}  // namespace stdgate::tools
