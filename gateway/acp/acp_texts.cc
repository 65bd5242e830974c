#include "gateway/acp/acp_texts.h"

#include <algorithm>
#include <array>

#include "gateway/base/text_place.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::acp {

std::string session_in(std::string_view params) {
  const auto raw = rpc::find_member(params, "sessionId");
  if (!raw || raw->size() < 2 || raw->front() != '"') return {};
  std::string scratch;
  return std::string(rpc::decode_string(raw->substr(1, raw->size() - 2), scratch));
}

bool is_method(const rpc::Envelope& message, std::string_view method) {
  return rpc::json_string_equals(message.method, method);
}

// The RFD wants that of answers and of what takes up a session, too, and the Python SDK leaves it
// out there.
bool needs_session(const rpc::Envelope& message) {
  constexpr auto kTakeUp =
      std::to_array<std::string_view>({"session/load", "session/resume", "session/fork"});
  return !message.method.empty() && std::ranges::none_of(kTakeUp, [&](std::string_view method) {
    return is_method(message, method);
  });
}

std::string with_connection_id(std::string_view answer, std::string_view result,
                               const std::string& id) {
  std::string text(answer);
  const rpc::Member named = rpc::find_member(result, "connectionId");
  if (named) {
    const TextPlace place = place_of(*named, answer);
    return text.replace(place.offset, place.length, '"' + id + '"');
  }
  if (!result.starts_with('{') || !rpc::is_absent(named)) return text;
  const size_t inside = place_of(result, answer).offset + 1;
  const bool is_empty = text[text.find_first_not_of(" \t\r\n", inside)] == '}';
  return text.insert(inside, R"("connectionId":")" + id + (is_empty ? "\"" : "\","));
}

}  // namespace stdgate::acp
