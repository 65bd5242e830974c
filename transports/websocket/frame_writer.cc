#include "transports/websocket/frame_writer.h"

#include <array>

namespace stdgate::websocket {

void FrameWriter::write(Opcode opcode, std::span<const std::string_view> parts) {
  meter_.note_write();
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  const FrameHead head(opcode, size);
  std::array<std::string_view, 8> pieces;
  size_t count = 0;
  pieces[count++] = head.view();
  for (const std::string_view part : parts) {
    if (count == pieces.size()) {
      stream_->write(pieces);
      count = 0;
    }
    pieces[count++] = part;
  }
  stream_->write(std::span(pieces).first(count));
}

void FrameWriter::write_close(CloseCode code, std::string_view reason) {
  const auto number = static_cast<uint16_t>(code);
  const std::array bytes{static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
  const std::array parts{std::string_view(bytes.data(), bytes.size()), reason};
  const bool has_code = code != CloseCode::no_status;
  write(Opcode::close, std::span(parts).first(has_code ? parts.size() : 0));
}

}  // namespace stdgate::websocket
