// echo_child: the stdio JSON-RPC server behind gateways in benchmarks.
//
// Messages are delimited by newlines. Each request is answered at once with its params as the
// result, in the order of arrival. The answers to all requests of one read are written together.
//   sleep {"ms": N, …}   is answered with its params after that time; other answers overtake it
//   initialize, tools/list, tools/call   an MCP server with two tools, "echo" and "form", whose
//                        result is the text of their argument "text"; "form" has ten arguments
// With the argument "modern" it is a server of MCP's modern era: it has server/discover instead of
// initialize, and refuses calls without a version in _meta. Notifications, responses and invalid
// messages are ignored. The program ends at the end of its input.
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/rpc/envelope.h"
#include "gateway/rpc/framer.h"
#include "gateway/rpc/json_reader.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr size_t kMaxMessage = size_t{256} << 20;
// A payload of at least this size is written without a copy.
constexpr size_t kLargePayload = size_t{16} << 10;
constexpr std::string_view kTools =
    R"({"tools":[{"name":"echo","description":"Says it again","inputSchema":{"type":"object",)"
    R"("properties":{"text":{"type":"string"}},"required":["text"]}},)"
    R"({"name":"form","inputSchema":{"type":"object","properties":{)"
    R"("text":{"type":"string","minLength":1,"maxLength":1000},"n":{"type":"integer"},)"
    R"("part":{"type":"number","minimum":0,"maximum":1},"on":{"type":"boolean"},)"
    R"("all":{"type":"array","items":{"type":"string"},"maxItems":20},)"
    R"("is":{"enum":["new","old"]},"lo":{"type":"integer","minimum":0},)"
    R"("hi":{"type":"integer","minimum":0},"id":{"type":"string"},"x":{"type":"string"}},)"
    R"("required":["text","n","is"],"additionalProperties":false}}]})";
constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
// The beginnings of a modern server's results.
constexpr std::string_view kModernList =
    R"({"resultType":"complete","ttlMs":0,"cacheScope":"private",)";
constexpr std::string_view kModernText =
    R"({"resultType":"complete","content":[{"type":"text","text":)";
constexpr std::string_view kLegacyText = R"({"content":[{"type":"text","text":)";
constexpr std::string_view kDiscovery =
    R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},)"
    R"("ttlMs":0,"cacheScope":"private",)"
    R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"echo","version":"1"}}})";

class EchoServer : stdgate::rpc::FrameSink {
 public:
  explicit EchoServer(bool is_modern) : is_modern_(is_modern) {}

  // Serves until the end of input, and returns the exit code.
  int serve() {
    for (;;) {
      const ssize_t count = read_some();
      if (count == 0) break;
      if (count < 0) return 1;
      framer_->feed({buffer_.get(), static_cast<size_t>(count)}, *this);
      if (!flush({})) return 1;
    }
    framer_->finish(*this);
    return flush({}) ? 0 : 1;
  }

 private:
  // Reads input, and answers sleeping calls that are due while it waits.
  ssize_t read_some() {
    for (;;) {
      if (!sleeping_.empty()) {
        pollfd input = {STDIN_FILENO, POLLIN, 0};
        const int ready = ::poll(&input, 1, answer_due());
        if (broken_) return -1;
        if (ready <= 0) continue;
      }
      const ssize_t count = ::read(STDIN_FILENO, buffer_.get(), kReadBytes);
      if (count >= 0 || errno != EINTR) return count;
    }
  }

  // Answers the calls that are due. Returns the milliseconds until the next call is due; -1: no
  // call sleeps.
  int answer_due() {
    const Clock::time_point now = Clock::now();
    while (!sleeping_.empty() && sleeping_.begin()->first <= now) {
      out_ += sleeping_.begin()->second;
      sleeping_.erase(sleeping_.begin());
    }
    flush({});
    if (sleeping_.empty()) return -1;
    const auto left = sleeping_.begin()->first - now;
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  }

  void on_frame(std::span<char> message) override {
    if (echo_plain({message.data(), message.size()})) return;
    const auto document = parser_.parse(message);
    if (!document) return;
    for (const stdgate::rpc::ParsedMessage& each : document->messages) {
      const stdgate::rpc::Envelope& envelope = each.envelope;
      if (each.ok() && envelope.kind == stdgate::rpc::MessageKind::request) handle(envelope);
    }
  }
  void on_oversized_frame(const stdgate::rpc::OversizedFrame& /*frame*/) override {}
  void on_broken_framing(const char* /*reason*/) override {}

  // Answers a message of the form of nearly all benchmark calls,
  //   {"jsonrpc":"2.0","id":…,"method":"echo","params":{"text":"…"}}
  // with a text without escapes, without looking at every byte. False: another form.
  bool echo_plain(std::string_view message) {
    constexpr std::string_view kBegin = R"({"jsonrpc":"2.0","id":)";
    constexpr std::string_view kMiddle = R"(,"method":"echo","params":)";
    constexpr std::string_view kText = R"({"text":")";
    if (!message.starts_with(kBegin)) return false;
    size_t at = kBegin.size();
    while (at < message.size() && message[at] >= '0' && message[at] <= '9') ++at;
    const std::string_view id = message.substr(kBegin.size(), at - kBegin.size());
    message.remove_prefix(at);
    if (id.empty() || !message.starts_with(kMiddle)) return false;
    const std::string_view params = message.substr(kMiddle.size(), message.size() - kMiddle.size());
    if (!params.starts_with(kText)) return false;
    const size_t quote = params.find('"', kText.size());
    if (params.substr(std::min(quote, params.size())) != "\"}}" || params[quote - 1] == '\\') {
      return false;
    }
    answer(id, params.substr(0, params.size() - 1));
    return true;
  }

  void handle(const stdgate::rpc::Envelope& request) {
    if (request.method == "sleep") return sleep(request);
    if (is_modern_ && request.method == "server/discover") return answer(request.id, kDiscovery);
    if (request.method == "initialize") return initialize(request);
    if (request.method == "tools/list") return list_tools(request);
    if (request.method == "tools/call") return call_tool(request);
    answer(request.id, request.params.empty() ? "null" : request.params);
  }

  void sleep(const stdgate::rpc::Envelope& request) {
    unsigned ms = 0;
    if (const auto value = stdgate::rpc::find_member(request.params, "ms")) {
      std::from_chars(value->data(), value->data() + value->size(), ms);
    }
    std::string line;
    append_answer(line, request.id, request.params);
    line += "}\n";
    sleeping_.emplace(Clock::now() + std::chrono::milliseconds(ms), std::move(line));
  }

  void initialize(const stdgate::rpc::Envelope& request) {
    if (is_modern_) return refuse(request.id, -32601, "no sessions here");
    const auto revision = stdgate::rpc::find_member(request.params, "protocolVersion");
    std::string result = R"({"protocolVersion":)";
    result.append(revision ? *revision : R"("2025-06-18")");
    result += R"(,"capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}})";
    answer(request.id, result);
  }

  void list_tools(const stdgate::rpc::Envelope& request) {
    if (!is_modern_) return answer(request.id, kTools);
    answer(request.id, kModernList, kTools.substr(1), "");
  }

  void call_tool(const stdgate::rpc::Envelope& request) {
    if (is_modern_ && !names_version(request)) {
      return refuse(request.id, -32602, "_meta names no version");
    }
    const auto arguments = stdgate::rpc::find_member(request.params, "arguments");
    const auto text = stdgate::rpc::find_member(arguments ? *arguments : "{}", "text");
    answer(request.id, is_modern_ ? kModernText : kLegacyText, text ? *text : "\"\"", "}]}");
  }

  static bool names_version(const stdgate::rpc::Envelope& request) {
    const auto meta = stdgate::rpc::find_member(request.params, "_meta");
    return meta && stdgate::rpc::find_member(*meta, kVersionKey);
  }

  void refuse(std::string_view id, int code, std::string_view message) {
    out_.append(R"({"jsonrpc":"2.0","id":)").append(id).append(R"(,"error":{"code":)");
    out_.append(std::to_string(code)).append(R"(,"message":")").append(message).append("\"}}\n");
  }

  static void append_answer(std::string& out, std::string_view id, std::string_view payload) {
    out.append(R"({"jsonrpc":"2.0","id":)").append(id).append(R"(,"result":)").append(payload);
  }

  void answer(std::string_view id, std::string_view payload) { answer(id, "", payload, ""); }
  void answer(std::string_view id, std::string_view before, std::string_view payload,
              std::string_view after) {
    append_answer(out_, id, before);
    if (payload.size() < kLargePayload) {
      out_ += payload;
    } else {
      flush(payload);
    }
    out_.append(after).append("}\n");
  }

  // Writes the collected bytes, and then `more`.
  bool flush(std::string_view more) {
    std::array<iovec, 2> parts = {iovec{out_.data(), out_.size()},
                                  iovec{const_cast<char*>(more.data()), more.size()}};
    while (!broken_ && parts[0].iov_len + parts[1].iov_len > 0) {
      const ssize_t count = ::writev(STDOUT_FILENO, parts.data(), parts.size());
      if (count < 0 && errno == EINTR) continue;
      broken_ = count < 0;
      auto taken = static_cast<size_t>(std::max<ssize_t>(count, 0));
      for (iovec& part : parts) {
        const size_t of_this = std::min(taken, part.iov_len);
        part.iov_base = static_cast<char*>(part.iov_base) + of_this;
        part.iov_len -= of_this;
        taken -= of_this;
      }
    }
    out_.clear();
    return !broken_;
  }

  const bool is_modern_;
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kReadBytes);
  stdgate::StoragePool storages_;
  std::unique_ptr<stdgate::rpc::Framer> framer_ =
      stdgate::rpc::make_framer(stdgate::rpc::Framing::newline, kMaxMessage, storages_);
  stdgate::rpc::EnvelopeParser parser_{stdgate::rpc::EnvelopeLimits()};
  std::string out_;
  std::multimap<Clock::time_point, std::string> sleeping_;  // whole answers by due time
  bool broken_ = false;                                     // the output is not read any more
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return EchoServer(argc > 1 && argv[1] == std::string_view("modern")).serve();
}
