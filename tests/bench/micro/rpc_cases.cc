// gateway/rpc: the envelope scan by size, both framers, the correlator.
#include <cstdlib>
#include <memory>
#include <span>

#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/framer.h"
#include "tests/bench/micro/case.h"
#include "tests/bench/micro/message_text.h"

namespace stdgate::bench {

namespace {

constexpr size_t kMaxMessage = 16 << 20;
constexpr size_t kChunk = 64 << 10;  // what a read brings

Case envelope(const std::string& name, const std::string& text) {
  return {"envelope/" + name, text.size(), [text]() -> Step {
            return [scanned = std::string(text),
                    parser = rpc::EnvelopeParser(rpc::EnvelopeLimits{})]() mutable {
              const auto document = parser.parse(scanned);
              if (!document || !document->messages[0].ok()) std::abort();
            };
          }};
}

std::string framed(rpc::Framing framing, const std::string& text) {
  std::string scratch;
  const rpc::FrameEnds ends = rpc::frame_ends(framing, text.size(), scratch);
  return std::string(ends.head) + text + std::string(ends.tail);
}

struct FrameCounter final : rpc::FrameSink {
  void on_frame(std::span<char> /*message*/) override { ++frames; }
  void on_oversized_frame(const rpc::OversizedFrame& /*frame*/) override { std::abort(); }
  void on_broken_framing(const char* /*reason*/) override { std::abort(); }
  size_t frames = 0;
};

// `stream` is fed in pieces of kChunk, over and over; it consists of whole messages.
Case framer(const std::string& name, rpc::Framing framing, const std::string& stream) {
  return {"framer/" + name, stream.size(), [framing, stream]() -> Step {
            auto storages = std::make_shared<StoragePool>();
            return [text = std::string(stream), sink = FrameCounter(), storages,
                    framer = std::shared_ptr<rpc::Framer>(
                        rpc::make_framer(framing, kMaxMessage, *storages))]() mutable {
              for (size_t at = 0; at < text.size(); at += kChunk) {
                framer->feed(std::span(text).subspan(at, std::min(kChunk, text.size() - at)), sink);
              }
              keep(sink);
            };
          }};
}

std::string many_small(rpc::Framing framing) {
  const std::string message = framed(framing, echo_request_of(100));
  std::string stream;
  while (stream.size() + message.size() <= kChunk) stream += message;
  return stream;
}

// Opens an entry and closes the oldest one, with so many in flight meanwhile.
Case correlator(size_t in_flight) {
  return {"correlator/" + std::to_string(in_flight), 0, [in_flight]() -> Step {
            auto calls = std::make_shared<rpc::Correlator<uint64_t>>(in_flight);
            for (size_t i = 1; i < in_flight; ++i) calls->open(i);
            return [calls] {
              const auto id = calls->open(7);
              if (calls->find(*id) == nullptr) std::abort();
              keep(calls->close(*calls->oldest()));
            };
          }};
}

}  // namespace

std::vector<Case> rpc_cases() {
  std::vector<Case> cases = {
      envelope("100B", echo_request_of(100)),
      envelope("1kB", echo_request_of(1'000)),
      envelope("10kB", echo_request_of(10'000)),
      envelope("1MB", echo_request_of(1'000'000)),
      envelope("10kB-escapes", echo_request_of(10'000, R"(a\n\"b\u00e9)")),
      envelope("10kB-utf8", echo_request_of(10'000, "a\u00e9\u20ac")),
  };
  for (const rpc::Framing framing : {rpc::Framing::newline, rpc::Framing::content_length}) {
    const std::string name = framing == rpc::Framing::newline ? "newline" : "length";
    cases.push_back(framer(name + "-100B", framing, many_small(framing)));
    cases.push_back(framer(name + "-1MB", framing, framed(framing, echo_request_of(1'000'000))));
  }
  cases.push_back(correlator(1));
  cases.push_back(correlator(256));
  return cases;
}

}  // namespace stdgate::bench
