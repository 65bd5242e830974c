// transports/websocket: frames read and written, UTF-8 judged.
#include <cstdlib>
#include <memory>

#include "tests/bench/micro/case.h"
#include "tests/bench/micro/message_text.h"
#include "transports/websocket/message_reader.h"

namespace stdgate::bench {

namespace {

struct MessageCounter final : websocket::MessageSink {
  bool on_message(std::span<char> /*text*/) override {
    ++messages;
    return true;
  }
  bool on_ping(std::string_view /*payload*/) override { return true; }
  void on_close(websocket::CloseCode /*code*/, std::string_view /*reason*/) override {}
  size_t messages = 0;
};

// A mask of zeros: what is read is unmasked in place, and is to be read again.
std::string client_frame(std::string_view payload) {
  std::string frame(websocket::FrameHead(websocket::Opcode::text, payload.size()).view());
  frame[1] = static_cast<char>(frame[1] | 0x80);
  return frame.append(4, '\0').append(payload);
}

Case read_message(const std::string& name, size_t size, size_t piece) {
  return {"websocket/read-" + name, size, [size, piece]() -> Step {
            auto storages = std::make_shared<StoragePool>();
            auto reader = std::make_shared<websocket::MessageReader>(*storages, size);
            return [frame = client_frame(echo_request_of(size)), sink = MessageCounter(), storages,
                    reader, piece]() mutable {
              for (size_t at = 0; at < frame.size(); at += piece) {
                const auto part = std::span(frame).subspan(at, std::min(piece, frame.size() - at));
                if (!reader->feed(part, sink)) std::abort();
              }
              keep(sink);
            };
          }};
}

Case write_head(const std::string& name, size_t size) {
  return {"websocket/head-" + name, 0, [size]() -> Step {
            return [size] {
              size_t length = size;
              asm volatile("" : "+r"(length));
              keep(websocket::FrameHead(websocket::Opcode::text, length));
            };
          }};
}

Case judge_utf8(const std::string& name, std::string_view filling) {
  const std::string text = echo_params(10'000, filling);
  return {"utf8/" + name, text.size(), [text]() -> Step {
            return [text] {
              websocket::Utf8Validator validator;
              if (!validator.feed(text) || !validator.complete()) std::abort();
            };
          }};
}

}  // namespace

std::vector<Case> websocket_cases() {
  return {
      read_message("100B", 100, SIZE_MAX),
      read_message("1MB", 1'000'000, SIZE_MAX),
      read_message("1MB-in-pieces", 1'000'000, 64 << 10),
      write_head("100B", 100),
      write_head("1MB", 1'000'000),
      judge_utf8("10kB-ascii", "x"),
      judge_utf8("10kB-mixed", "a\u00e9\u20ac"),
  };
}

}  // namespace stdgate::bench
