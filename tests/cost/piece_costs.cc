// Input in pieces that are joined: header blocks, bodies, frames, lines, records. Pieces are as
// small as a peer can make them. The size is the number of pieces, unless a case says otherwise.
#include <array>
#include <memory>
#include <string>

#include "gateway/base/byte_storage.h"
#include "gateway/rpc/framer.h"
#include "tests/cost/cost_case.h"
#include "tests/unit/websocket/client_frames.h"
#include "transports/http/http1_request.h"
#include "transports/net/stream.h"
#include "transports/stdio/command_output.h"
#include "transports/tls/tls_layer.h"
#include "transports/websocket/client_messages.h"
#include "transports/websocket/message_reader.h"

namespace stdgate::test {

namespace {

constexpr size_t kLimit = 16 << 20;

// --- Storage -------------------------------------------------------------------------------------

std::vector<CostCase> storage_costs() {
  const auto append = [](const std::string& name, uint64_t announced) {
    return CostCase{"storage/" + name, 4000, [announced](size_t n) -> Step {
                      return [n, announced] {
                        StoragePool storages;
                        PooledBuffer buffer(storages);
                        for (size_t i = 0; i < n; ++i) buffer.append_announced("x", announced);
                        must(buffer.size() == n, "append");
                      };
                    }};
  };
  const auto consume = CostCase{"storage/consumed at the front", 4000, [](size_t n) -> Step {
                                  return [n] {
                                    ByteQueue queue;
                                    queue.append(std::string(n, 'x'));
                                    for (size_t i = 0; i < n; ++i) {
                                      queue.consume(1);
                                      queue.append("y");
                                    }
                                    must(queue.size() == n, "consume");
                                  };
                                }};
  const auto send = CostCase{"storage/sent in small pieces", 4000, [](size_t n) -> Step {
                               return [n] {
                                 StoragePool storages;
                                 net::OutQueue queue(storages);
                                 const std::string_view byte = "x";
                                 for (size_t i = 0; i < n; ++i) queue.append({&byte, 1}, 1);
                                 for (size_t i = 0; i < n; ++i) queue.consume(1);
                                 must(queue.empty(), "consume");
                               };
                             }};
  // Each piece has its own storage.
  const auto pieces = CostCase{"storage/sent in large pieces", 200, [](size_t n) -> Step {
                                 return [n] {
                                   StoragePool storages;
                                   net::OutQueue queue(storages);
                                   for (size_t i = 0; i < n; ++i) {
                                     ByteQueue own;
                                     own.append("x");
                                     queue.push(net::OutPiece(std::move(own)));
                                   }
                                   while (!queue.empty()) queue.consume(1);
                                 };
                               }};
  return {append("whose size nobody knows", 0),
          append("that is announced byte by byte", 1),
          append("that is announced at once", kLimit),
          consume,
          send,
          pieces};
}

// --- HTTP ----------------------------------------------------------------------------------------

constexpr std::string_view kBegin = "POST /rpc HTTP/1.1\r\nHost: a\r\n";

// A request with the limits and storage that it needs.
struct HeadReader {
  HeadReader() { limits.headers = kLimit; }

  StoragePool storages;
  config::LimitsConfig limits;
  config::TimeoutsConfig timeouts;
  http::Http1Request request{storages, limits, timeouts};
};

// Reads a head that grows by one byte at a time, as on a connection.
Step read_head(const std::string& text, std::shared_ptr<HeadReader> reader) {
  return [text = std::string(text), reader = std::move(reader)]() mutable {
    http::Http1Request::Step step;
    reader->request.start_head();
    for (size_t size = 1; size <= text.size(); ++size) {
      step = reader->request.read_head({text.data(), size});
      must(step.outcome != http::Http1Request::Outcome::failed, "read_head");
    }
    must(step.outcome == http::Http1Request::Outcome::complete, "the end of a head");
  };
}

CostCase head_in_bytes(const std::string& name, size_t size,
                       std::function<std::string(size_t)> fields) {
  return {"head/" + name, size, [fields](size_t n) -> Step {
            return read_head(std::string(kBegin) + fields(n) + "\r\n\r\n",
                             std::make_shared<HeadReader>());
          }};
}

// The previous head was equal except for its last byte.
CostCase head_nearly_repeated() {
  return {"head/nearly the last one, byte by byte", 4000, [](size_t n) -> Step {
            const std::string same = std::string(kBegin) + "a: " + std::string(n, 'x');
            auto reader = std::make_shared<HeadReader>();
            std::string last = same + "\r\n\r\n";
            reader->request.start_head();
            const auto step = reader->request.read_head({last.data(), last.size()});
            must(step.outcome == http::Http1Request::Outcome::complete, "a head");
            return read_head(same + std::string(n, 'y') + "\r\n\r\n", std::move(reader));
          }};
}

CostCase body(const std::string& name, size_t size, bool chunked,
              std::function<std::string(size_t)> text_of, size_t piece = 1) {
  return {"body/" + name, size, [chunked, text_of, piece](size_t n) -> Step {
            return [chunked, piece, text = text_of(n)]() mutable {
              StoragePool storages;
              http::Http1Body reader(storages);
              chunked ? reader.start_chunked(kLimit) : reader.start_length(text.size());
              for (size_t at = 0; at < text.size(); at += piece) {
                const size_t part = std::min(piece, text.size() - at);
                must(reader.feed({text.data() + at, part}) == part, "feed");
              }
              must(reader.state() != http::Http1Body::State::failed, "a body");
            };
          }};
}

std::vector<CostCase> http_costs() {
  const auto chunks = [](size_t n) {
    return repeated(n, [](size_t) { return "1\r\nx\r\n"; }) + "0\r\n\r\n";
  };
  return {
      head_in_bytes("a long field, byte by byte", 1000,
                    [](size_t n) { return "a: " + std::string(n, 'x'); }),
      head_in_bytes("fields, byte by byte", http::Http1Head::kMaxField / 4 - 1,
                    [](size_t n) {
                      return repeated(n, [](size_t i) { return i == 0 ? "a: b" : "\r\na: b"; });
                    }),
      head_nearly_repeated(),
      body("by length, byte by byte", 2000, false, [](size_t n) { return std::string(n, 'x'); }),
      body("chunks of a byte", 1000, true, chunks, SIZE_MAX / 2),
      body("chunks of a byte, byte by byte", 300, true, chunks),
      // The size is within BodyReader::kMaxTrailer.
      body(
          "trailers, byte by byte", 200, true,
          [](size_t n) { return "0\r\n" + repeated(n, [](size_t) { return "a:\r\n"; }) + "\r\n"; }),
  };
}

// --- WebSocket -----------------------------------------------------------------------------------

struct Messages final : websocket::MessageSink {
  bool on_message(std::span<char> /*text*/) override {
    ++count;
    return true;
  }
  bool on_ping(std::string_view /*payload*/) override {
    ++pings;
    return true;
  }
  void on_close(websocket::CloseCode /*code*/, std::string_view /*reason*/) override {}
  size_t count = 0;
  size_t pings = 0;
};

std::string text_frame(std::string_view payload, bool final) {
  return client_frame(websocket::Opcode::text, payload, final);
}
std::string next_frame(std::string_view payload, bool final = false) {
  return client_frame(websocket::Opcode::continuation, payload, final);
}
std::string ping_frame(std::string_view payload) {
  return client_frame(websocket::Opcode::ping, payload);
}

// `piece`: how many bytes are fed at a time.
CostCase frames(const std::string& name, size_t size, size_t messages, size_t piece,
                std::function<std::string(size_t)> bytes_of) {
  return {"websocket/" + name, size, [messages, piece, bytes_of](size_t n) -> Step {
            return [messages, piece, bytes = bytes_of(n)]() mutable {
              StoragePool storages;
              websocket::MessageReader reader(storages, kLimit);
              Messages sink;
              for (size_t at = 0; at < bytes.size(); at += piece) {
                const size_t part = std::min(piece, bytes.size() - at);
                must(reader.feed({bytes.data() + at, part}, sink) == part, "feed");
              }
              must(sink.count >= messages, "messages");
            };
          }};
}

std::vector<CostCase> websocket_costs() {
  constexpr size_t kWhole = SIZE_MAX / 2;
  std::vector<CostCase> costs;
  // The first fragment is as long as the frames of all other fragments together.
  costs.push_back(frames("fragments of a byte behind a long one", 500, 1, kWhole, [](size_t n) {
    return text_frame(std::string(32 * n, 'x'), false) +
           repeated(n, [](size_t) { return next_frame("x"); }) + next_frame("", true);
  }));
  costs.push_back(frames("fragments of a byte", 1000, 1, kWhole, [](size_t n) {
    return text_frame("", false) + repeated(n, [](size_t) { return next_frame("x"); }) +
           next_frame("", true);
  }));
  costs.push_back(frames("empty fragments", 1000, 1, kWhole, [](size_t n) {
    return text_frame(std::string(n, 'x'), false) +
           repeated(n, [](size_t) { return next_frame(""); }) + next_frame("", true);
  }));
  costs.push_back(frames("pings between fragments", 500, 1, kWhole, [](size_t n) {
    return text_frame(std::string(16 * n, 'x'), false) +
           repeated(n, [](size_t) { return ping_frame("p") + next_frame("x"); }) +
           next_frame("", true);
  }));
  costs.push_back(frames("pings in two pieces each", 200, 0, 7, [](size_t n) {
    return repeated(n, [](size_t) { return ping_frame("pppppppp"); });
  }));
  costs.push_back(frames("a message byte by byte", 1000, 1, 1,
                         [](size_t n) { return text_frame(std::string(n, 'x'), true); }));
  costs.push_back(frames("characters cut in pieces", 300, 1, 1, [](size_t n) {
    return text_frame(repeated(n, [](size_t) { return "\xe2\x82\xac"; }), true);
  }));
  costs.push_back(frames("small messages", 1000, 1, kWhole, [](size_t n) {
    return repeated(n, [](size_t) { return text_frame("1", true); });
  }));
  costs.push_back({"websocket/messages that are kept", 1000, [](size_t n) -> Step {
                     return [n] {
                       StoragePool storages;
                       websocket::KeptMessages kept(storages);
                       for (size_t i = 0; i < n; ++i) kept.push("1", TimePoint());
                       for (size_t i = 0; i < n; ++i) kept.pop();
                       must(kept.empty(), "pop");
                     };
                   }});
  return costs;
}

// --- Children ------------------------------------------------------------------------------------

struct Frames final : rpc::FrameSink {
  void on_frame(std::span<char> /*message*/) override { ++count; }
  void on_oversized_frame(const rpc::OversizedFrame& /*frame*/) override { ++oversized; }
  void on_broken_framing(const char* /*reason*/) override { must(false, "framing"); }
  size_t count = 0;
  size_t oversized = 0;
};

CostCase framing(const std::string& name, size_t size, rpc::Framing how, size_t limit, size_t piece,
                 std::function<std::string(size_t)> text_of) {
  return {"framer/" + name, size, [how, limit, piece, text_of](size_t n) -> Step {
            return [how, limit, piece, text = text_of(n)]() mutable {
              StoragePool storages;
              Frames sink;
              const auto framer = rpc::make_framer(how, limit, storages);
              for (size_t at = 0; at < text.size(); at += piece) {
                framer->feed({text.data() + at, std::min(piece, text.size() - at)}, sink);
              }
              must(sink.count + sink.oversized > 0, "frames");
            };
          }};
}

struct QuietLog final : Log {
  [[nodiscard]] bool enabled(LogLevel /*level*/) const override { return false; }
  void write(LogLevel /*level*/, std::string_view /*event*/,
             std::initializer_list<LogField> /*fields*/) override {}
};

std::vector<CostCase> child_costs() {
  constexpr size_t kWhole = SIZE_MAX / 2;
  constexpr auto kLines = rpc::Framing::newline;
  constexpr auto kLength = rpc::Framing::content_length;
  const auto line = [](size_t n) { return std::string(n, 'x') + "\n"; };
  const auto lines = [](size_t n) { return repeated(n, [](size_t) { return "x\n"; }); };
  const auto length = [](size_t n) {
    return "Content-Length: " + std::to_string(n) + "\r\n\r\n" + std::string(n, 'x');
  };
  const auto lengths = [](size_t n) {
    return repeated(n, [](size_t) { return "Content-Length: 1\r\n\r\nx"; });
  };
  const auto headers = [](size_t n) {
    return repeated(n, [](size_t) { return "a:\r\n"; }) + "Content-Length: 1\r\n\r\nx";
  };
  return {framing("a line, byte by byte", 2000, kLines, kLimit, 1, line),
          framing("lines", 1000, kLines, kLimit, kWhole, lines),
          framing("lines, byte by byte", 200, kLines, kLimit, 1, lines),
          framing("a line over the limit, byte by byte", 2000, kLines, 500, 1, line),
          framing("a length, byte by byte", 2000, kLength, kLimit, 1, length),
          framing("lengths", 500, kLength, kLimit, kWhole, lengths),
          framing("lengths, byte by byte", 60, kLength, kLimit, 1, lengths),
          framing("a length over the limit, byte by byte", 2000, kLength, 500, 1, length),
          framing("headers, byte by byte", 120, kLength, kLimit, 1, headers),
          {"stderr/byte by byte", 4000, [line](size_t n) -> Step {
             return [text = line(n)] {
               QuietLog log;
               stdio::StderrLog stderr_log(log, "a");
               for (const char& byte : text) stderr_log.add({&byte, 1}, TimePoint());
               must(!stderr_log.last_lines().empty(), "stderr");
             };
           }}};
}

// Input of a TLS stream that is paused, or whose first record is incomplete.
std::vector<CostCase> tls_costs() {
  return {{"tls/bytes before the first record is whole", 2000, [](size_t n) -> Step {
             return [n] {
               StoragePool storages;
               tls::MemoryBio bio(storages);
               for (size_t i = 0; i < n; ++i) {
                 bio.feed("x");
                 keep(bio.byte(i));
                 bio.keep_rest();
               }
               must(bio.unread() == n, "keep_rest");
             };
           }}};
}

}  // namespace

std::vector<CostCase> piece_costs() {
  std::vector<CostCase> costs;
  for (const auto& some :
       {storage_costs(), http_costs(), websocket_costs(), child_costs(), tls_costs()}) {
    costs.insert(costs.end(), some.begin(), some.end());
  }
  return costs;
}

}  // namespace stdgate::test
