// Media types: is a body JSON, and does a client want an event stream (RFC 9110
// sections 8.3, 12.5). Pure functions over field values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/base/text.h"
#include "transports/http/request_head.h"
#include "transports/http/response.h"

namespace stdgate::http {

// --- Header field values as RFC 9110 section 5.6 builds them: tokens, white space, lists
//
// Pure functions over views.

// Whether the text has only visible characters, obs-text, space and tab (section 5.5).
bool is_field_value(std::string_view text);

// The number in a text of digits only, without sign, that fits into 64 bits.
std::optional<uint64_t> parse_digits(std::string_view text);

// Calls visit(element) for each element of a list cut at `separator`, empty ones included. A
// separator inside of a quoted string does not count (section 5.6.4).
template <class Visitor>
void for_each_element(std::string_view list, char separator, Visitor&& visit) {
  for (;;) {
    size_t end = 0;
    for (bool quoted = false; end < list.size() && (quoted || list[end] != separator); ++end) {
      if (list[end] == '"') quoted = !quoted;
      if (quoted && list[end] == '\\' && end + 1 < list.size()) ++end;
    }
    visit(trim(list.substr(0, end)));
    if (end == list.size()) return;
    list.remove_prefix(end + 1);
  }
}

// Whether the type is application/json, application/json-rpc, application/jsonrequest or any type
// with +json. A charset, if given, has to be utf-8.
bool is_json_type(std::string_view content_type);

// The preferences of the Accept fields among the types of answers. Weights are thousandths; absent:
// not listed by that name.
struct Acceptance {
  std::optional<int> json;
  std::optional<int> event_stream;
  std::optional<int> html;
  std::optional<int> plain;
  std::optional<int> open_metrics;  // in version 1.0.0
  std::optional<int> any_application;
  std::optional<int> anything;
  bool stated = false;  // there was such a field; without one everything is fine

  static Acceptance of(const RequestHead& head);
  void take(std::string_view accept);  // one field value

  [[nodiscard]] bool takes_json() const;
  [[nodiscard]] bool takes_event_stream() const;
  // Browsers name it when a person goes to a page.
  [[nodiscard]] bool lists_html() const { return html.value_or(0) > 0; }
  [[nodiscard]] bool lists_event_stream() const { return event_stream.value_or(0) > 0; }
  // Only a client that names event streams gets one, and only when it likes JSON less, or as much
  // but without naming it.
  [[nodiscard]] bool prefers_event_stream() const;
};

// Where only an event stream is served, and the client does not take one.
inline constexpr HttpError kNotStream{406, "send Accept: text/event-stream"};

// Whether a request's head announces what JSON-RPC endpoints take as a body: 415 for a Content-Type
// that is not JSON, or none, and for a body that is encoded.
std::optional<HttpError> check_json_body(const RequestHead& head);

}  // namespace stdgate::http
