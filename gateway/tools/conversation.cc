#include "gateway/tools/conversation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/pool/child_link.h"
#include "gateway/pool/child_output.h"
#include "gateway/rpc/fault.h"
#include "gateway/rpc/message_text.h"
#include "gateway/tools/local_files.h"

namespace stdgate::tools {

bool SplitMessage::take(std::string_view line) {
  if (depth_ == 0) {
    clear();
    const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    if (!line.substr(begin).starts_with('{') && !line.substr(begin).starts_with('[')) return false;
  }
  if (text_.size() + line.size() >= kMaxSize) {
    clear();
    return false;
  }
  text_.append(line).append("\n");
  ++lines_;
  count_brackets(line);
  if (depth_ > 0) return false;
  return lines_ > 1;
}

// No string of JSON goes on in another line.
void SplitMessage::count_brackets(std::string_view line) {
  bool is_in_string = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (is_in_string) {
      if (c == '\\') ++at;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && depth_ > 0) {
      --depth_;
    }
  }
}

void SplitMessage::clear() {
  text_.clear();
  lines_ = depth_ = 0;
}

namespace {

constexpr size_t kMaxBeginning = 4096;
constexpr Duration kGuardTick = std::chrono::milliseconds(1);

std::string shown(std::string_view text) {
  return visible(cut_utf8(text, Observations::kMaxShown), VisibleText::line);
}

template <class T>
void keep(std::vector<T>& notes, T note) {
  if (notes.size() < Observations::kMaxKept) notes.push_back(std::move(note));
}

std::vector<std::string> first_lines(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) keep(lines, shown(line));
  return lines;
}

bool is_length_header(std::string_view line) {
  constexpr std::string_view kName = "content-length:";
  return equals_ignoring_case(line.substr(0, kName.size()), kName);
}

}  // namespace

Answer Answer::of(const rpc::Envelope& envelope) {
  Answer answer;
  answer.text = envelope.text;
  answer.is_error = envelope.kind == rpc::MessageKind::error;
  answer.payload = envelope.payload;
  return answer;
}

rpc::Envelope Answer::envelope() const {
  rpc::Envelope envelope;
  envelope.kind = is_error ? rpc::MessageKind::error : rpc::MessageKind::result;
  envelope.text = text;
  envelope.payload = payload;
  return envelope;
}

Conversation::Conversation(const ConversationServices& services, rpc::Framing framing)
    : services_(services),
      framing_(framing),
      framer_(rpc::make_framer(framing, services.limits.message, services.loop.storages())),
      parser_(pool::ChildOutput::envelope_limits(services.limits, services.envelope)),
      left_before_(services.left_behind()) {}

Conversation::~Conversation() = default;

TimePoint Conversation::now() {
  services_.loop.refresh_now();
  return services_.loop.now();
}

template <class Condition>
bool Conversation::wait(TimePoint deadline, Condition&& holds) {
  Timer alarm(services_.loop.timers(), [] {});
  alarm.arm(deadline);
  while (!holds()) {
    if (now() >= deadline) return false;
    services_.loop.wait_once();
  }
  return true;
}

std::optional<Duration> Conversation::start(Duration timeout) {
  started_at_ = now();
  link_ = services_.launcher.launch(services_.launch, *this);
  wait(started_at_ + timeout, [this] { return is_running_ || seen_.exit.has_value(); });
  if (seen_.pid == 0) return std::nullopt;
  return now() - started_at_;
}

std::optional<Answer> Conversation::ask(rpc::WireId id, std::string_view request,
                                        Duration timeout) {
  if (!is_open()) return std::nullopt;
  waiting_for_ = id;
  answer_.reset();
  doubted_at_.reset();
  request_ = request;
  const TimePoint asked_at = now();
  TimePoint deadline = asked_at + timeout;
  write(request);
  const auto is_over = [this] { return answer_.has_value() || !is_open(); };
  wait(deadline, [&] { return is_over() || doubted_at_.has_value(); });
  if (!is_over() && doubted_at_) {
    deadline = std::min(deadline, *doubted_at_ + kSecondThoughts);
    wait(deadline, is_over);
  }
  waiting_for_.reset();
  if (!answer_) {
    given_up_.insert(id);
    const bool has_begun = line_begins_ == '{' || line_begins_ == '[';
    if (framing_ == rpc::Framing::newline && has_begun) seen_.lacks_line_end = true;
    if (framing_ == rpc::Framing::content_length && seen_.largest == 0) note_text();
    if (output_ended_) wait(now() + kSecondThoughts, [this] { return seen_.exit.has_value(); });
    return std::nullopt;
  }
  answer_->took = now() - asked_at;
  return std::exchange(answer_, std::nullopt);
}

void Conversation::end(Duration grace) {
  if (link_ == nullptr || seen_.exit) return;
  is_ending_ = true;
  seen_.last_words_before_end = link_->last_words();
  end_asked_at_ = now();
  link_->end(grace);
  // The link needs twice the grace; more is a process that hangs in the kernel.
  wait(end_asked_at_ + 2 * grace + std::chrono::seconds(5),
       [this] { return seen_.exit.has_value(); });
}

void Conversation::write(std::string_view message) {
  if (link_ == nullptr) return;
  std::string head;
  const rpc::FrameEnds ends = rpc::frame_ends(framing_, message.size(), head);
  const std::array<std::string_view, 3> parts{ends.head, message, ends.tail};
  link_->write(parts);
}

void Conversation::on_started(int pid) {
  seen_.pid = pid;
  is_running_ = true;
}

void Conversation::on_output(std::span<char> bytes) {
  if (!seen_.first_output) {
    seen_.first_output = services_.loop.now() - started_at_;
    if (framing_ == rpc::Framing::content_length && bytes.front() == '{') {
      seen_.lacks_length_headers = true;
      note_doubt();
    }
  }
  if (seen_.beginning.size() < kMaxBeginning) {
    seen_.beginning.append(bytes.data(),
                           std::min(bytes.size(), kMaxBeginning - seen_.beginning.size()));
  }
  const std::string_view text(bytes.data(), bytes.size());
  const size_t line = text.rfind('\n') + 1;  // npos + 1 is 0: it goes on with a line
  if (line > 0) line_begins_ = '\0';
  const std::string_view rest = trim(text.substr(line));
  if (line_begins_ == '\0' && !rest.empty()) line_begins_ = rest.front();
  framer_->feed(bytes, *this);
}

void Conversation::on_output_end() {
  framer_->finish(*this);
  output_ended_ = true;
}

void Conversation::on_exit(const pool::ExitStatus& status) {
  is_running_ = false;
  seen_.exit = status;
  seen_.left_behind = services_.left_behind() - left_before_;
  // The processes that it had started may have gone on after it. How long is told in milliseconds
  // cut off at both ends, so up to one too many.
  const TimePoint ended_at = now() - std::max(status.lingered - kGuardTick, Duration::zero());
  seen_.exited_by_itself = !is_ending_ || ended_at < end_asked_at_;
  if (!seen_.exited_by_itself) seen_.ended_after = ended_at - end_asked_at_;
  seen_.last_words = link_ == nullptr ? std::vector<std::string>() : link_->last_words();
}

void Conversation::on_frame(std::span<char> message) {
  seen_.largest = std::max(seen_.largest, message.size());
  if (framing_ == rpc::Framing::newline) return take_line(message);
  take_text(message);
}

void Conversation::take_line(std::span<char> line) {
  const std::string_view text(line.data(), line.size());
  if (text.starts_with(kByteOrderMark)) {
    seen_.has_byte_order_mark = true;
    note_doubt();
    // The gateway cannot use it: a message that is noted, and nothing that is taken for an answer.
    if (parser_.parse(line.subspan(kByteOrderMark.size()))) return;
  }
  const bool is_whole = split_.take(text);
  if (split_.has_begun()) {
    noise_before_ = seen_.noise_lines;
    broken_before_ = seen_.broken.size();
  }
  if (is_whole && note_split()) return;
  take_text(line);
}

// Whether the text that has come in several lines is a message; then these are no noise.
bool Conversation::note_split() {
  std::string text = split_.text();
  std::vector<std::string> lines = first_lines(text);
  const auto document = parser_.parse(text);
  if (!document || document->messages.empty() || !document->messages.front().ok()) return false;
  seen_.noise_lines = noise_before_;
  seen_.noise.resize(std::min(seen_.noise.size(), noise_before_));
  seen_.broken.resize(std::min(seen_.broken.size(), broken_before_));
  if (seen_.split.empty()) seen_.split = std::move(lines);
  note_doubt();
  return true;
}

void Conversation::take_text(std::span<char> message) {
  const std::string_view text(message.data(), message.size());
  std::string as_written(cut_utf8(text, Observations::kMaxShown));  // the parser may change it
  const auto document = parser_.parse(message);
  if (document) {
    for (const rpc::ParsedMessage& parsed : document->messages) handle(parsed);
    return;
  }
  if (document.error().fault == rpc::Fault::parse_error) {
    if (is_length_header(text)) {
      seen_.has_length_headers = true;
      note_doubt();
      return;
    }
    ++seen_.noise_lines;
    keep(seen_.noise, shown(as_written));
  } else {
    keep(seen_.broken, std::string(document.error().reason) + ": " + shown(as_written));
    note_doubt();
  }
}

void Conversation::handle(const rpc::ParsedMessage& message) {
  const rpc::Envelope& envelope = message.envelope;
  if (!message.ok()) {
    keep(seen_.broken, std::string(message.rejection) + ": " + shown(envelope.text));
    return note_doubt();
  }
  switch (envelope.kind) {
    case rpc::MessageKind::result:
    case rpc::MessageKind::error:
      return take_answer(envelope);
    case rpc::MessageKind::request:
      if (!is_echo(envelope)) return reply(envelope);
      seen_.echoes = true;
      return note_doubt();
    case rpc::MessageKind::notification:
      ++seen_.notifications;
      return;
  }
}

void Conversation::take_answer(const rpc::Envelope& answer) {
  const auto id = rpc::parse_wire_id(answer.id);
  if (id && waiting_for_ == *id) {
    answer_ = Answer::of(answer);
    waiting_for_.reset();
  } else if (id && given_up_.contains(*id)) {
    ++seen_.late;
    if (!seen_.late_answer) {
      seen_.late_answer = Answer::of(answer);
      seen_.late_answer->took = services_.loop.now() - started_at_;
    }
    if (is_ending_ && services_.loop.now() - end_asked_at_ < kFlushTime) ++seen_.after_end;
  } else {
    keep(seen_.other_ids, shown(answer.id));
    note_doubt();
  }
}

// An answer to it would be sent back too, and be taken for one.
bool Conversation::is_echo(const rpc::Envelope& request) const {
  if (request.text == request_) return true;
  const auto id = rpc::parse_wire_id(request.id);
  const bool has_its_id = id && (waiting_for_ == *id || given_up_.contains(*id));
  std::string method = "\"method\":\"";
  method.append(request.method).append("\"");
  return has_its_id && request.method != "ping" && request_.find(method) != std::string::npos;
}

// As the gateway answers for a child that clients share.
void Conversation::reply(const rpc::Envelope& request) {
  std::string scratch;
  const std::string_view method = request.decoded_method(scratch);
  keep(seen_.asked, shown(method));
  const std::string_view result = services_.dialect.answer_child(method);
  write(result.empty()
            ? rpc::error_text(request.id, rpc::rpc_error_code(rpc::RpcError::method_not_found),
                              "Method not found")
            : rpc::result_text(request.id, result));
}

void Conversation::on_oversized_frame(const rpc::OversizedFrame& frame) {
  keep(seen_.oversized, frame.size);
  seen_.largest = std::max(seen_.largest, frame.size);
  note_doubt();
}

void Conversation::on_broken_framing(const char* reason) {
  note_text();
  if (!seen_.lacks_length_headers) keep(seen_.broken, std::string(reason));
  output_ended_ = true;
}

// Its output is not what its framing wants.
void Conversation::note_text() {
  const bool is_text = !seen_.beginning.empty() && !is_length_header(seen_.beginning);
  if (!is_text || seen_.lacks_length_headers) return;
  seen_.breaks_headers = true;
  seen_.noise = first_lines(seen_.beginning);
}

void Conversation::note_doubt() {
  if (waiting_for_ && !doubted_at_) doubted_at_ = services_.loop.now();
}

tl::expected<std::unique_ptr<CommandStage>, std::string> CommandStage::open(
    const config::Config& config, const config::BackendConfig& backend,
    const ToolSurroundings& surroundings, std::string client_name) {
  auto guard = stdio::GuardBinary::open();
  if (!guard) return tl::unexpected(guard.error());
  return std::unique_ptr<CommandStage>(
      new CommandStage(std::move(*guard), config, backend, surroundings,
                       {surroundings.version, own_program(), std::move(client_name)}));
}

CommandStage::CommandStage(stdio::GuardBinary guard, const config::Config& config,
                           const config::BackendConfig& backend,
                           const ToolSurroundings& surroundings,
                           const app::GatewayIdentity& identity)
    : guard_(std::move(guard)),
      backend_(backend),
      limits_(config.limits),
      launch_(pool::make_launch_spec(backend_, surroundings.variables, identity.binary)),
      dialect_(app::make_dialect(backend_, identity)),
      stamp_(mcp::stamp_of_gateway(identity.name, identity.version)),
      processes_(loop_, log_, orphans_, guard_.path()) {}

}  // namespace stdgate::tools
