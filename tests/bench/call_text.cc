#include "tests/bench/call_text.h"

#include <cstring>

namespace stdgate::bench {
namespace {

constexpr std::string_view kNoId = "0000000000";
constexpr std::string_view kBegin = R"({"jsonrpc":"2.0","id":)";

// A JSON string of `size` bytes between the quotes; `id_place` becomes the id's distance from its
// first quote. The fill is printable and repeats at no power of two, so a shifted piece differs.
std::string payload_text(size_t client, size_t size, size_t& id_place) {
  constexpr std::string_view kFill = "the quick brown fox jumps over the lazy dog 0123456789; ";
  std::string text = "\"client " + std::to_string(client) + " call ";
  id_place = text.size();
  text += kNoId;
  text += ' ';
  while (text.size() < size + 1) text += kFill.substr(0, size + 1 - text.size());
  return text + '"';
}

}  // namespace

IdText write_id(uint64_t id) {
  IdText digits;
  for (size_t i = kIdDigits; i > 0; --i, id /= 10) digits[i - 1] = static_cast<char>('0' + id % 10);
  return digits;
}

void NumberedText::patch(const IdText& id) {
  for (const size_t place : places) std::memcpy(bytes.data() + place, id.data(), id.size());
}

bool NumberedText::equals(std::string_view text, const IdText& id) const {
  if (text.size() != bytes.size()) return false;
  const auto same = [&](size_t begin, size_t end) {
    return std::memcmp(text.data() + begin, bytes.data() + begin, end - begin) == 0;
  };
  for (const size_t place : places) {
    if (std::memcmp(text.data() + place, id.data(), id.size()) != 0) return false;
  }
  return same(0, places[0]) && same(places[0] + kIdDigits, places[1]) &&
         same(places[1] + kIdDigits, text.size());
}

CallText::CallText(CallForm form, size_t client, size_t payload_bytes, unsigned sleep_ms) {
  size_t id_in_payload = 0;
  const std::string payload = payload_text(client, payload_bytes, id_in_payload);
  payload_size_ = payload.size();
  std::string method = "echo";
  std::string params = R"({"text":)";
  std::string params_end = "}";
  std::string result = params;
  std::string result_end = params_end;
  if (form == CallForm::sleep) {
    method = "sleep";
    params = R"({"ms":)" + std::to_string(sleep_ms) + R"(,"text":)";
    result = params;
  } else if (form == CallForm::tool) {
    method = "tools/call";
    params = R"({"name":"echo","arguments":{"text":)";
    params_end = "}}";
    result = R"({"content":[{"type":"text","text":)";
    result_end = "}]}";
  }
  request_.bytes.append(kBegin).append(kNoId).append(R"(,"method":")").append(method);
  request_.bytes.append(R"(","params":)").append(params);
  request_.places = {kBegin.size(), request_.bytes.size() + id_in_payload};
  request_.bytes.append(payload).append(params_end).append("}");

  answer_.bytes.append(kBegin).append(kNoId).append(R"(,"result":)");
  result_begin_ = answer_.bytes.size();
  answer_.bytes += result;
  payload_begin_ = answer_.bytes.size();
  answer_.places = {kBegin.size(), answer_.bytes.size() + id_in_payload};
  answer_.bytes.append(payload).append(result_end).append("}");
}

}  // namespace stdgate::bench
