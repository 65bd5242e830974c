#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <array>

namespace stdgate::test {
namespace {

using namespace std::string_view_literals;

constexpr std::array kWords{
    "{"sv,
    "}"sv,
    "["sv,
    "]"sv,
    ","sv,
    ":"sv,
    "\""sv,
    "\\"sv,
    "\\\""sv,
    "\\\\"sv,
    "\\u"sv,
    "\\u0041"sv,
    "\\ud83d\\ude00"sv,
    "\\ud800"sv,
    "\\udc00x"sv,
    "\n"sv,
    "\r\n"sv,
    "\r"sv,
    "\t"sv,
    " "sv,
    "\0"sv,
    "\x1f"sv,
    "\x7f"sv,
    "\xc3\xa9"sv,
    "\xc0\xaf"sv,
    "\xe2\x82\xac"sv,
    "\xed\xa0\x80"sv,
    "\xf0\x9f\x98\x80"sv,
    "\xf4\x90\x80\x80"sv,
    "\xef\xbb\xbf"sv,
    "\xff"sv,
    "0"sv,
    "-"sv,
    "-0"sv,
    "1e400"sv,
    "1.0"sv,
    "1E+2"sv,
    "01"sv,
    "12345678901234567890"sv,
    "true"sv,
    "false"sv,
    "null"sv,
    "\"id\":"sv,
    "\"id\":1,"sv,
    "\"\\u0069d\":1,"sv,
    "\"method\":\"m\","sv,
    "\"jsonrpc\":\"2.0\","sv,
    "\"params\":[],"sv,
    "\"result\":1,"sv,
    "\"error\":{\"code\":1,\"message\":\"\"},"sv,
    "\"_meta\":{"sv,
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"},"sv,
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}},"sv,
    "\"io.modelcontextprotocol/subscriptionId\":1,"sv,
    "\"progressToken\":1,"sv,
    "\"resultType\":\"input_required\","sv,
    "\"inputRequests\":{\"k\":{\"method\":\"roots/list\"}},"sv,
    "\"inputResponses\":{\"k\":{}},"sv,
    "\"requestState\":\"s\","sv,
    "\"x-mcp-header\":\"A\","sv,
    "MCP-Protocol-Version: 2026-07-28\r\n"sv,
    "Mcp-Method: tools/call\r\n"sv,
    "Mcp-Name: =?base64?eA==?=\r\n"sv,
    "Mcp-Param-A: "sv,
    "=?base64?"sv,
    "Content-Length: 2\r\n\r\n"sv,
    "Content-Length: "sv,
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["sv};

}  // namespace

std::string_view Mutator::word() { return kWords[below(kWords.size())]; }

std::string Mutator::mutate(std::string_view text) {
  std::string out(text);
  for (size_t changes = 1 + below(4); changes > 0; --changes) change(out);
  return out;
}

void Mutator::change(std::string& text) {
  constexpr size_t kLongest = 4096;
  const size_t at = below(text.size() + 1);
  const size_t size = below(16) + 1;
  switch (below(7)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(below(256));
      break;
    case 1:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
      break;
    case 2:
      text.erase(at, size);
      break;
    case 3:
      if (text.size() < kLongest) text.insert(at, text.substr(below(text.size() + 1), size));
      break;
    case 4:
      text.resize(at);
      break;
    case 5:
      if (text.size() < kLongest) text.insert(at, std::string(size, ' '));
      break;
    default:
      text.insert(at, word());
      break;
  }
}

std::string Mutator::invent() {
  std::string out;
  for (size_t parts = below(24); parts > 0; --parts) {
    if (below(8) == 0) {
      out += static_cast<char>(below(256));
    } else {
      out += word();
    }
  }
  return out;
}

Stretch::Stretch(std::string_view text, Mutator& mutator) {
  constexpr size_t kMaxPiece = 24;
  const size_t begin = mutator.below(text.size());
  const size_t size = 1 + mutator.below(std::min(kMaxPiece, text.size() - begin));
  before_ = text.substr(0, begin);
  piece_ = text.substr(begin, size);
  after_ = text.substr(begin + size);
  if (mutator.below(2) == 0) return;
  // Behind the last word of the piece, so that the number becomes a part of the word.
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const size_t letter = piece_.find_last_of(kLetters);
  number_at_ = letter == std::string::npos ? piece_.size() : letter + 1;
}

std::string Stretch::text(size_t size) const {
  std::string text = before_;
  for (size_t i = 0; text.size() + after_.size() < size; ++i) {
    if (number_at_ == std::string::npos) {
      text += piece_;
    } else {
      text.append(piece_, 0, number_at_).append(std::to_string(i)).append(piece_, number_at_);
    }
  }
  return text + after_;
}

}  // namespace stdgate::test
