#include <gtest/gtest.h>

#include <string>

#include "tests/unit/websocket/client_frames.h"
#include "transports/websocket/message_reader.h"

namespace stdgate::test {
namespace {

using namespace std::string_view_literals;

// RFC 6455 section 5.7, those that a server sends.
TEST(Frame, HeadsOfTheSpecification) {
  EXPECT_EQ(websocket::FrameHead(websocket::Opcode::text, 5).view(), "\x81\x05"sv);
  EXPECT_EQ(websocket::FrameHead(websocket::Opcode::ping, 5).view(), "\x89\x05"sv);
  EXPECT_EQ(websocket::FrameHead(websocket::Opcode::binary, 256).view(), "\x82\x7e\x01\x00"sv);
  EXPECT_EQ(websocket::FrameHead(websocket::Opcode::binary, 65536).view(),
            "\x82\x7f\0\0\0\0\0\x01\0\0"sv);
}

TEST(Frame, HeadsAtTheBoundariesOfTheirForms) {
  struct Case {
    size_t size;
    std::string_view head;
  };
  const Case cases[] = {
      {0, "\x81\x00"sv},
      {125, "\x81\x7d"sv},
      {126, "\x81\x7e\x00\x7e"sv},
      {65535, "\x81\x7e\xff\xff"sv},
      {65536, "\x81\x7f\0\0\0\0\0\x01\0\0"sv},
      {0x0102030405060708, "\x81\x7f\x01\x02\x03\x04\x05\x06\x07\x08"sv},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(websocket::FrameHead(websocket::Opcode::text, c.size).view(), c.head) << c.size;
    const websocket::FrameHeader header = websocket::parse_frame_header(c.head);
    EXPECT_EQ(header.length, c.size);
    EXPECT_TRUE(header.has_good_length()) << c.size;
    EXPECT_EQ(websocket::frame_header_size(header), c.head.size());
  }
}

TEST(Frame, ReadsEveryFieldOfAHeader) {
  const websocket::FrameHeader header = websocket::parse_frame_header("\x59\x83\x37\xfa\x21\x3d"sv);
  EXPECT_FALSE(header.final);
  EXPECT_EQ(header.reserved, 5);
  EXPECT_EQ(header.opcode, 9);
  EXPECT_TRUE(header.is_control());
  EXPECT_TRUE(header.masked);
  EXPECT_EQ(header.length, 3u);
  EXPECT_EQ(websocket::frame_header_size(header), 6u);
}

TEST(Frame, LengthsHaveToBeInTheShortestForm) {
  EXPECT_FALSE(websocket::parse_frame_header("\x81\x7e\x00\x7d"sv).has_good_length());
  EXPECT_FALSE(websocket::parse_frame_header("\x81\x7f\0\0\0\0\0\0\xff\xff"sv).has_good_length());
  EXPECT_TRUE(websocket::parse_frame_header("\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"sv)
                  .has_good_length());
  EXPECT_FALSE(websocket::parse_frame_header("\x81\x7f\x80\0\0\0\0\x01\0\0"sv).has_good_length());
}

TEST(Frame, UnmasksAnyLengthFromAnyPlace) {
  std::string text;
  for (int i = 0; i < 64; ++i) text += static_cast<char>(i * 37);
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t size = 0; begin + size <= text.size(); ++size) {
      const std::string part = text.substr(begin, size);
      std::string masked = client_frame(part);
      const websocket::FrameHeader header = websocket::parse_frame_header(masked);
      // From an odd address, in two pieces.
      const size_t cut = size / 3;
      char* const payload = masked.data() + websocket::frame_header_size(header);
      websocket::unmask(payload, payload, cut, header.mask);
      websocket::unmask(payload + cut, payload + cut, size - cut,
                        websocket::rotate_mask(header.mask, cut));
      EXPECT_EQ(std::string_view(payload, size), part) << begin << " " << size;
    }
  }
}

}  // namespace
}  // namespace stdgate::test
