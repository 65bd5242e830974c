#include "tests/bench/http_dialogue.h"

#include <utility>

namespace stdgate::bench {

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
  // Over HTTP the answer ends the call, whatever it says.
  if (book_.is_open(0)) book_.abandon(0, now);
}

}  // namespace stdgate::bench
