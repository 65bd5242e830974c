#include "tests/bench/call_text.h"

#include <cstring>

namespace stdgate::bench {
namespace {

constexpr std::string_view kNoId = "0000000000";
constexpr std::string_view kBegin = R"({"jsonrpc":"2.0","id":)";
constexpr std::string_view kResult = R"(,"result":)";
constexpr std::string_view kComplete = R"("resultType":"complete")";
constexpr std::string_view kToolResult = R"({"content":[{"type":"text","text":)";
constexpr std::string_view kModernResult =
    R"({"resultType":"complete","content":[{"type":"text","text":)";
constexpr std::string_view kToolEnd = "}]}";
// The beginning of the params of a modern request.
constexpr std::string_view kMeta =
    R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},)"
    R"("io.modelcontextprotocol/clientCapabilities":{}},)";

// A JSON string with `size` bytes between its quotes. `id_place` is set to the distance of the id
// from the first quote. The fill is printable, and its period is not a power of two, so that a
// shifted piece differs.
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
  const bool is_tool = form == CallForm::tool || form == CallForm::modern_tool;
  std::string method = "echo";
  std::string params = R"({"text":)";
  std::string params_end = "}";
  if (form == CallForm::sleep) {
    method = "sleep";
    params = R"({"ms":)" + std::to_string(sleep_ms) + R"(,"text":)";
  } else if (is_tool) {
    method = "tools/call";
    params = form == CallForm::tool ? "{" : kMeta;
    params += R"("name":"echo","arguments":{"text":)";
    params_end = "}}";
  }
  request_.bytes.append(kBegin).append(kNoId).append(R"(,"method":")").append(method);
  request_.bytes.append(R"(","params":)").append(params);
  request_.places = {kBegin.size(), request_.bytes.size() + id_in_payload};
  request_.bytes.append(payload).append(params_end).append("}");

  payload_size_ = payload.size();
  if (form == CallForm::modern_tool) demanded_ = kComplete;
  if (form == CallForm::tool) add_answer(kToolResult, payload, id_in_payload, kToolEnd);
  if (is_tool) add_answer(kModernResult, payload, id_in_payload, kToolEnd);
  if (!is_tool) add_answer(params, payload, id_in_payload, params_end);
  result_begin_ = answer().places[0] + kIdDigits + kResult.size();
  payload_begin_ = answer().places[1] - id_in_payload;
}

void CallText::add_answer(std::string_view begin, std::string_view payload, size_t id_in_payload,
                          std::string_view end) {
  NumberedText& answer = answers_.emplace_back();
  answer.bytes.append(kBegin).append(kNoId).append(kResult).append(begin);
  answer.places = {kBegin.size(), answer.bytes.size() + id_in_payload};
  answer.bytes.append(payload).append(end).append("}");
}

}  // namespace stdgate::bench
