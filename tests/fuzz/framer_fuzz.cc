// Fuzz target: a framer finds the same frames, however the stream is cut into pieces.
//
// The first byte of the input chooses the framing and the limit, the second how the stream is cut.

#include <algorithm>
#include <string>
#include <vector>

#include "gateway/rpc/framer.h"
#include "tests/fuzz/fuzz_target.h"

namespace stdgate::test::framer_fuzz {
namespace {

class Transcript final : public rpc::FrameSink {
 public:
  void on_frame(std::span<char> message) override {
    lines_.push_back("frame " + std::string(message.data(), message.size()));
    largest_ = std::max(largest_, message.size());
    // A reader may change the bytes of its frame. Other frames must not be affected.
    std::fill(message.begin(), message.end(), '\n');
  }
  void on_oversized_frame(const rpc::OversizedFrame& frame) override {
    lines_.push_back("oversized " + std::to_string(frame.size) + " " + std::string(frame.id) + " " +
                     std::string(frame.beginning));
    smallest_oversized_ = std::min(smallest_oversized_, frame.size);
  }
  void on_broken_framing(const char* reason) override {
    lines_.push_back(std::string("broken ") + reason);
  }

  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  [[nodiscard]] bool within(size_t limit) const {
    return largest_ <= limit && smallest_oversized_ > limit;
  }

 private:
  std::vector<std::string> lines_;
  size_t largest_ = 0;
  size_t smallest_oversized_ = SIZE_MAX;
};

Transcript transcript(rpc::Framing framing, size_t limit, std::string_view stream, size_t piece) {
  Transcript sink;
  std::vector<char> bytes(stream.begin(), stream.end());
  StoragePool storages;
  const auto framer = rpc::make_framer(framing, limit, storages);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    framer->feed(std::span<char>(bytes).subspan(at, std::min(piece, bytes.size() - at)), sink);
  }
  framer->finish(sink);
  require(framer->buffered() == 0, "nothing is left after the end", stream);
  return sink;
}

void check(std::string_view input) {
  if (input.size() < 2) return;
  const auto choice = static_cast<uint8_t>(input[0]);
  const rpc::Framing framing =
      (choice & 1) != 0 ? rpc::Framing::newline : rpc::Framing::content_length;
  const size_t limit = (choice >> 1) + 1;
  const std::string stream(input.substr(2));
  const Transcript whole = transcript(framing, limit, stream, stream.size() + 1);
  require(whole.within(limit), "the limit", input);
  const size_t piece = static_cast<uint8_t>(input[1]) % 61 + 2;
  for (const size_t size : {size_t{1}, piece}) {
    require(transcript(framing, limit, stream, size).lines() == whole.lines(), "the same frames",
            input);
  }
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::framer_fuzz
