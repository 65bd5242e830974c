// The messages that a virtual server makes, and edits of JSON texts that pass.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/text.h"
#include "gateway/call/insertion.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/sinks.h"

namespace stdgate::servers {

// --- The messages that a virtual server makes, or changes on their way
//
// Pure.

// Params of the gateway's own initialize, which asks for a member's capabilities.
std::string greeting_of_gateway(const std::string& version);
// The message of an error (raw JSON), decoded.
std::string error_text(std::string_view error);
// The fault that a member has answered with, and its error (raw JSON), as the gateway's own.
rpc::FaultReport report_of(const session::Reply& reply, std::string_view error);
// Tells a member that the call with this number is given up.
std::string cancel_notice(session::Tag tag);
// Requests to a session at a member, in the gateway's own name.
std::string level_request(std::string_view level);
std::string subscribe_request(std::string_view uri);

// A log message of a member, with its name before the logger's; any other notification as it is.
std::string with_logger(const rpc::Envelope& notification, std::string_view member);
// A question of a member under another id, with the member's name in _meta.
std::string question_for_client(const rpc::Envelope& question, uint64_t id,
                                std::string_view member);
// The result of a modern member that asks the client, with the member's name in _meta of each
// question; empty: the result asks nothing.
std::string with_asking_member(const rpc::Envelope& answer, std::string_view member);
// The gateway's own error that there is no such tool or prompt, with the name that the client has
// used in the place of the member's own; empty: it is another answer.
std::string with_name_of_client(const rpc::Envelope& answer, std::string_view name);
// A message with another id.
std::string with_id(const rpc::Envelope& message, std::string_view id);
// The call inside of a call of call_tool; nothing: it is another call. The call inside may be
// malformed, and is judged as such.
std::optional<std::string> request_within(const rpc::Envelope& request);

// Whether it asks for updates of a resource, or for none any more.
bool is_subscription(std::string_view method);

// TextEdits: a JSON text with other values in some places; all else is kept byte for byte.
//
// Owner: the function that changes a text, which outlives it. Pure.
class TextEdits {
 public:
  explicit TextEdits(std::string_view text) : text_(text) { edits_.reserve(kUsual); }
  TextEdits(const TextEdits&) = delete;
  TextEdits& operator=(const TextEdits&) = delete;

  // `part` is a view into the text. Parts do not overlap. The new text is copied.
  void replace(std::string_view part, std::string_view with) { add(place_of(part, text_), with); }
  void insert(const char* before, std::string_view what);
  // With its members, whatever era it is for.
  void insert(const call::Insertion& insertion);
  [[nodiscard]] std::string apply() const;
  // The place of a part of the text, or of what has replaced it, in what apply() has returned.
  [[nodiscard]] std::string_view moved(std::string_view part, std::string_view edited) const;

 private:
  struct Edit {
    TextPlace place;
    TextPlace added;  // in `added_`
    // How much longer the text becomes.
    [[nodiscard]] size_t growth() const { return added.length - place.length; }
  };

  static constexpr size_t kUsual = 4;  // edits of a text

  void add(TextPlace place, std::string_view with);

  const std::string_view text_;
  // Enough for what is usual, so that nothing is allocated.
  std::array<std::byte, 384> space_;
  std::pmr::monotonic_buffer_resource memory_{space_.data(), space_.size()};
  std::pmr::vector<Edit> edits_{&memory_};  // by place
  std::pmr::string added_{&memory_};
};

// `object` without the members whose keys, decoded, are to go.
std::string without_members(std::string_view object,
                            const std::function<bool(std::string_view key)>& goes);
// `array` without the texts that are to go, decoded.
std::string without_texts(std::string_view array,
                          const std::function<bool(std::string_view text)>& goes);
// `object` with this member, which replaces one of the same key, or is added as the last one.
std::string with_member(std::string_view object, std::string_view key, std::string_view value);
// A text as JSON, with its quotes.
std::string json_text(std::string_view text);
// Calls visit(value) for each element, raw.
void for_each_element(std::string_view array,
                      const std::function<void(std::string_view value)>& visit);

}  // namespace stdgate::servers
