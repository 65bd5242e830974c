#include "tests/bench/websocket_dialogue.h"

#include <cstring>
#include <utility>

#include "tests/bench/http_dialogue.h"

namespace stdgate::bench {
namespace {

constexpr uint32_t kMask = 0x5ac396e1;
constexpr uint8_t kMaskedBit = 0x80;

std::string masked_head(websocket::Opcode opcode, size_t size) {
  std::string head(websocket::FrameHead(opcode, size).view());
  head[1] = static_cast<char>(head[1] | kMaskedBit);
  head.append(reinterpret_cast<const char*>(&kMask), sizeof(kMask));
  return head;
}

}  // namespace

WebSocketDialogue::WebSocketDialogue(const LoadOptions& options, CallBook book, Channel& channel,
                                     Tally& tally)
    : Dialogue(tally), options_(options), channel_(channel), book_(std::move(book)) {}

void WebSocketDialogue::begin() {
  channel_.send("GET " + options_.path + " HTTP/1.1\r\nHost: " + options_.host + ":" +
                std::to_string(options_.port) +
                "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Key: c3RkZ2F0ZSBiZW5jaG1hcg==\r\nSec-WebSocket-Version: 13\r\n" +
                options_.fields + "\r\n");
}

void WebSocketDialogue::prepare_calls() {
  const std::string& payload = book_.request().bytes;
  frame_.bytes = masked_head(websocket::Opcode::text, payload.size());
  const size_t head_size = frame_.bytes.size();
  frame_.bytes += payload;
  websocket::unmask(frame_.bytes.data() + head_size, payload.data(), payload.size(), kMask);
  for (size_t i = 0; i < frame_.places.size(); ++i) {
    const size_t place = book_.request().places[i];
    frame_.places[i] = head_size + place;
    const IdText zeros = {};
    websocket::unmask(masks_[i].data(), zeros.data(), zeros.size(),
                      websocket::rotate_mask(kMask, place));
  }
}

void WebSocketDialogue::begin_calls(Instant now) {
  if (options_.mode == LoadMode::idle_ws) return;
  for (size_t slot = 0; slot < book_.slots(); ++slot) call(slot, now);
}

void WebSocketDialogue::call(size_t slot, Instant now) {
  if (!tally_.calling) return;
  const IdText id = book_.open(slot, now);
  for (size_t i = 0; i < frame_.places.size(); ++i) {
    char* const place = frame_.bytes.data() + frame_.places[i];
    for (size_t digit = 0; digit < id.size(); ++digit) {
      place[digit] = static_cast<char>(id[digit] ^ masks_[i][digit]);
    }
  }
  if (book_.slots() == 1) {
    channel_.send_kept(frame_.bytes);
  } else {
    channel_.send(frame_.bytes);
  }
}

tl::expected<size_t, std::string> WebSocketDialogue::take(std::span<char> bytes, Instant now) {
  if (!open_) return take_handshake(bytes);
  size_t taken = 0;
  needed_ = 0;
  while (bytes.size() - taken >= 2) {
    const std::span<char> rest = bytes.subspan(taken);
    const std::string_view text(rest.data(), rest.size());
    const size_t head_size = websocket::frame_header_size(websocket::begin_frame_header(text));
    if (rest.size() < head_size) break;
    const websocket::FrameHeader header = websocket::parse_frame_header(text);
    if (rest.size() - head_size < header.length) {
      needed_ = head_size + header.length;
      break;
    }
    const auto good = on_frame(header, rest.subspan(head_size, header.length), now);
    if (!good) return tl::unexpected(good.error());
    taken += head_size + header.length;
  }
  return taken;
}

tl::expected<size_t, std::string> WebSocketDialogue::take_handshake(std::span<char> bytes) {
  const auto answer = read_http_head(bytes);
  if (!answer) return tl::unexpected(std::string(answer.error()));
  if (answer->size == 0) return 0;
  if (answer->status != 101) {
    return tl::unexpected("handshake: status " + std::to_string(answer->status));
  }
  open_ = true;
  if (options_.mode != LoadMode::idle_ws) prepare_calls();
  ++tally_.ready;
  return answer->size;
}

WebSocketDialogue::Checked WebSocketDialogue::on_frame(const websocket::FrameHeader& header,
                                                       std::span<char> payload, Instant now) {
  if (header.masked || header.reserved != 0) {
    return tl::unexpected(std::string("a frame that is masked or has reserved bits"));
  }
  switch (static_cast<websocket::Opcode>(header.opcode)) {
    case websocket::Opcode::text:
    case websocket::Opcode::continuation:
      if (!header.final || !fragments_.empty()) {
        fragments_.append(payload.data(), payload.size());
        if (!header.final) return {};
        payload = fragments_;
      }
      if (const auto slot = book_.close(payload, now)) call(*slot, now);
      fragments_.clear();
      return {};
    case websocket::Opcode::ping: {
      std::string pong = masked_head(websocket::Opcode::pong, payload.size());
      const size_t head_size = pong.size();
      pong.append(payload.data(), payload.size());
      websocket::unmask(pong.data() + head_size, payload.data(), payload.size(), kMask);
      // A pong between two parts of a kept frame would break the frame. Servers tolerate a missing
      // pong.
      if (!channel_.has_unsent()) channel_.send(pong);
      return {};
    }
    case websocket::Opcode::pong:
      return {};
    case websocket::Opcode::close: {
      std::string why = "closed";
      if (payload.size() >= 2) {
        why += " with " + std::to_string(static_cast<uint8_t>(payload[0]) * 256 +
                                         static_cast<uint8_t>(payload[1]));
        why.append(": ").append(payload.data() + 2, payload.size() - 2);
      }
      return tl::unexpected(why);
    }
    default:
      return tl::unexpected("opcode " + std::to_string(header.opcode));
  }
}

}  // namespace stdgate::bench
