#include "tests/bench/http_dialogue.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace stdgate::bench {

namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::string_view view_of(std::span<char> bytes) { return {bytes.data(), bytes.size()}; }

tl::unexpected<const char*> wrong(const char* why) { return tl::unexpected(why); }

char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte; }

// Joins the chunks behind `head_size` in place. Nothing moves until all chunks have arrived,
// because the next attempt starts from the beginning.
tl::expected<HttpAnswer, const char*> read_chunks(std::span<char> bytes, HttpAnswer answer) {
  const std::string_view text = view_of(bytes);
  const size_t begin = answer.size;
  answer.size = 0;
  size_t body_size = 0;
  for (const bool joining : {false, true}) {
    size_t at = begin;
    body_size = 0;
    for (;;) {
      const size_t line_end = text.find(kLineEnd, at);
      if (line_end == std::string_view::npos) return answer;
      size_t size = 0;
      const char* const line = text.data() + at;
      if (std::from_chars(line, text.data() + line_end, size, 16).ptr == line) {
        return wrong("a chunk without a size");
      }
      const size_t data = line_end + kLineEnd.size();
      at = data + size + kLineEnd.size();
      if (size > text.size() || at > text.size()) return answer;
      // The joined bytes end before the next chunk, because each chunk begins with a line for its
      // size.
      if (joining) std::memmove(bytes.data() + begin + body_size, bytes.data() + data, size);
      body_size += size;
      if (size == 0) break;
    }
    if (joining) answer.size = at;
  }
  answer.body = bytes.subspan(begin, body_size);
  return answer;
}

// The data of the last event with data. A message takes a single line.
std::span<char> last_event(std::span<char> body) {
  constexpr std::string_view kData = "\ndata:";
  const std::string_view text(body.data(), body.size());
  const size_t found = text.rfind(kData);
  size_t begin = found == std::string_view::npos ? 0 : found + 1;
  if (found == std::string_view::npos && !text.starts_with(kData.substr(1))) return {};
  begin += kData.size() - 1;
  if (begin < text.size() && text[begin] == ' ') ++begin;
  const size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
  return body.subspan(begin, end - begin);
}

}  // namespace

std::span<char> message_of(const HttpAnswer& answer) {
  const bool has_events = http_field(answer.head, "content-type").starts_with("text/event-stream");
  return has_events ? last_event(answer.body) : answer.body;
}

std::string_view http_field(std::string_view head, std::string_view name) {
  size_t line = head.find(kLineEnd);
  while (line != std::string_view::npos) {
    line += kLineEnd.size();
    const size_t end = std::min(head.find(kLineEnd, line), head.size());
    const std::string_view field = head.substr(line, end - line);
    if (field.size() > name.size() && field[name.size()] == ':' && lower(field[0]) == name[0] &&
        std::equal(name.begin(), name.end(), field.begin(),
                   [](char wanted, char byte) { return wanted == lower(byte); })) {
      std::string_view value = field.substr(name.size() + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      while (value.ends_with(' ')) value.remove_suffix(1);
      return value;
    }
    line = end < head.size() ? end : std::string_view::npos;
  }
  return {};
}

tl::expected<HttpAnswer, const char*> read_http_head(std::span<char> bytes) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  const std::string_view text = view_of(bytes);
  HttpAnswer answer;
  const size_t end = text.find(kHeadEnd);
  if (end == std::string_view::npos) return answer;
  if (!text.starts_with(kVersion)) return wrong("not an answer of HTTP/1.1");
  std::from_chars(text.data() + kVersion.size(), text.data() + end, answer.status);
  answer.head = text.substr(0, end + kLineEnd.size());
  answer.size = end + kHeadEnd.size();
  return answer;
}

tl::expected<HttpAnswer, const char*> read_http_answer(std::span<char> bytes) {
  auto answer = read_http_head(bytes);
  if (!answer || answer->size == 0) return answer;
  const size_t head_size = answer->size;
  size_t body_size = 0;
  const std::string_view length = http_field(answer->head, "content-length");
  if (!length.empty()) {
    std::from_chars(length.data(), length.data() + length.size(), body_size);
  } else if (http_field(answer->head, "transfer-encoding") == "chunked") {
    return read_chunks(bytes, *answer);
  } else if (answer->status != 204 && answer->status != 304) {
    return wrong("a body without a length");
  }
  answer->size = 0;
  answer->needed = head_size + body_size;
  if (bytes.size() < answer->needed) return answer;
  answer->size = answer->needed;
  answer->body = bytes.subspan(head_size, body_size);
  return answer;
}

HttpDialogue::HttpDialogue(const LoadOptions& options, CallBook book, Channel& channel,
                           Tally& tally)
    : Dialogue(tally), options_(options), channel_(channel), book_(std::move(book)) {}

void HttpDialogue::begin() {
  prepare_calls("");
  ++tally_.ready;
}

void HttpDialogue::begin_calls(Instant now) { call_again(now); }

std::string HttpDialogue::request_head(std::string_view method, std::string_view fields,
                                       size_t body_size) const {
  std::string head = std::string(method) + " " + options_.path +
                     " HTTP/1.1\r\nHost: " + options_.host + ":" + std::to_string(options_.port) +
                     "\r\n";
  head.append(fields).append(options_.fields);
  if (body_size > 0) {
    head +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body_size) + "\r\n";
  }
  return head + "\r\n";
}

void HttpDialogue::prepare_calls(std::string_view fields) {
  if (options_.mode == LoadMode::get) {
    request_.bytes = request_head("GET", fields, 0);
    return;
  }
  const NumberedText& body = book_.request();
  request_.bytes = request_head("POST", fields, body.bytes.size());
  for (size_t i = 0; i < body.places.size(); ++i) {
    request_.places[i] = request_.bytes.size() + body.places[i];
  }
  request_.bytes += body.bytes;
}

void HttpDialogue::call_again(Instant now) {
  if (!tally_.calling) return;
  const IdText id = book_.open(0, now);
  if (options_.mode != LoadMode::get) request_.patch(id);
  channel_.send_kept(request_.bytes);
}

tl::expected<size_t, std::string> HttpDialogue::take(std::span<char> bytes, Instant now) {
  const auto answer = read_http_answer(bytes);
  if (!answer) return tl::unexpected(std::string(answer.error()));
  needed_ = answer->needed;
  if (answer->size == 0) return 0;
  needed_ = 0;
  if (const Checked good = on_answer(*answer, now); !good) return tl::unexpected(good.error());
  return answer->size;
}

HttpDialogue::Checked HttpDialogue::on_answer(const HttpAnswer& answer, Instant now) {
  if (!book_.is_open(0)) return tl::unexpected(std::string("an answer that nobody asked for"));
  if (options_.mode != LoadMode::get && options_.mode != LoadMode::post) {
    close_call(answer, answer.body, now);
  } else if (answer.status == 200) {
    book_.close_unread(0, now, answer.body.size());
  } else {
    tally_.add_error("status " + std::to_string(answer.status));
    book_.abandon(0, now);
  }
  call_again(now);
  return {};
}

void HttpDialogue::close_call(const HttpAnswer& answer, std::span<char> message, Instant now) {
  if (message.empty()) {
    tally_.add_error("no message, status " + std::to_string(answer.status));
  } else if (book_.close(message, now)) {
    return;
  }
  // Over HTTP a bad answer ends the call too.
  if (book_.is_open(0)) book_.abandon(0, now);
}

}  // namespace stdgate::bench
