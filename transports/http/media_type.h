// Media types: is a body JSON, and does a client want an event stream (RFC 9110
// sections 8.3, 12.5). Pure functions over field values.
#pragma once

#include <optional>
#include <string_view>

#include "transports/http/request_head.h"
#include "transports/http/response.h"

namespace stdgate::http {

// application/json, application/json-rpc, application/jsonrequest or any type ending in +json; a
// charset, if there is one, is utf-8.
bool is_json_type(std::string_view content_type);

// What the Accept fields say about the types that are answered in. Weights are thousandths; absent:
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
