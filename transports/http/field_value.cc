#include "transports/http/field_value.h"

#include <algorithm>
#include <charconv>

namespace stdgate::http {

namespace {

constexpr std::array<bool, 256> value_table() {
  std::array<bool, 256> table{};
  for (size_t c = 0x20; c < table.size(); ++c) table[c] = c != 0x7f;
  table['\t'] = true;
  return table;
}

constexpr std::array<bool, 256> kValue = value_table();

bool all_in(std::string_view text, const std::array<bool, 256>& table) {
  for (const char c : text) {
    if (!table[static_cast<uint8_t>(c)]) return false;
  }
  return true;
}

}  // namespace

bool is_field_value(std::string_view text) { return all_in(text, kValue); }

std::optional<uint64_t> parse_digits(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

namespace {

// One `name=value` behind a media type; `value` without its quotes.
struct MediaParameter {
  std::string_view name;
  std::string_view value;
};

std::optional<MediaParameter> parse_parameter(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || !is_token(text.substr(0, equals))) return std::nullopt;
  std::string_view value = text.substr(equals + 1);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
  } else if (!is_token(value)) {
    return std::nullopt;
  }
  return MediaParameter{text.substr(0, equals), value};
}

// RFC 9110 section 12.4.2: 0 to 1 with at most three decimals.
std::optional<int> parse_weight(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  int weight = (text[0] - '0') * 1000;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int place = 100;
  for (const char c : text.substr(std::min<size_t>(2, text.size()))) {
    if (c < '0' || c > '9') return std::nullopt;
    weight += (c - '0') * place;
    place /= 10;
  }
  return weight <= 1000 ? std::optional<int>(weight) : std::nullopt;
}

bool ends_with_json(std::string_view type) {
  constexpr std::string_view kSuffix = "+json";
  const size_t slash = type.find('/');
  return slash != std::string_view::npos && type.size() > slash + 1 + kSuffix.size() &&
         is_token(type.substr(0, slash)) && is_token(type.substr(slash + 1)) &&
         equals_ignoring_case(type.substr(type.size() - kSuffix.size()), kSuffix);
}

void raise(std::optional<int>& weight, int by) { weight = std::max(weight.value_or(0), by); }

constexpr HttpError kBadType{
    415, "send Content-Type: application/json (or application/json-rpc, or any +json) in utf-8"};
constexpr HttpError kBadEncoding{415, "send the body without a Content-Encoding"};

bool has_content_encoding(const RequestHead& head) {
  for (const HeaderField& field : head.fields()) {
    if (equals_ignoring_case(field.name, "content-encoding") &&
        !equals_ignoring_case(field.value, "identity")) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_json_type(std::string_view content_type) {
  if (content_type == "application/json") return true;  // nearly everybody
  bool first = true;
  bool is_json = false;
  for_each_element(content_type, ';', [&](std::string_view part) {
    if (first) {
      is_json = equals_ignoring_case(part, "application/json") ||
                equals_ignoring_case(part, "application/json-rpc") ||
                equals_ignoring_case(part, "application/jsonrequest") || ends_with_json(part);
      first = false;
      return;
    }
    if (part.empty()) return;  // a lone ';' is harmless
    const auto parameter = parse_parameter(part);
    if (!parameter || (equals_ignoring_case(parameter->name, "charset") &&
                       !equals_ignoring_case(parameter->value, "utf-8"))) {
      is_json = false;
    }
  });
  return is_json;
}

Acceptance Acceptance::of(const RequestHead& head) {
  Acceptance acceptance;
  for (const HeaderField& field : head.fields()) {
    if (equals_ignoring_case(field.name, "accept")) acceptance.take(field.value);
  }
  return acceptance;
}

void Acceptance::take(std::string_view accept) {
  stated = true;
  for_each_element(accept, ',', [this](std::string_view range) {
    std::string_view type;
    std::string_view version;
    std::optional<int> weight = 1000;
    for_each_element(range, ';', [&](std::string_view part) {
      if (type.empty()) {
        type = part;
      } else if (const auto parameter = parse_parameter(part)) {
        if (equals_ignoring_case(parameter->name, "q")) weight = parse_weight(parameter->value);
        if (equals_ignoring_case(parameter->name, "version")) version = parameter->value;
      }
    });
    if (!weight) return;  // a malformed weight has no meaning
    if (equals_ignoring_case(type, "application/json")) raise(json, *weight);
    if (equals_ignoring_case(type, "text/event-stream")) raise(event_stream, *weight);
    if (equals_ignoring_case(type, "text/html")) raise(html, *weight);
    if (equals_ignoring_case(type, "text/plain")) raise(plain, *weight);
    if (equals_ignoring_case(type, "application/openmetrics-text") &&
        (version.empty() || version == "1.0.0")) {
      raise(open_metrics, *weight);
    }
    if (equals_ignoring_case(type, "application/*")) raise(any_application, *weight);
    if (type == "*/*") raise(anything, *weight);
  });
}

bool Acceptance::takes_json() const {
  return !stated || json.value_or(any_application.value_or(anything.value_or(0))) > 0;
}

bool Acceptance::takes_event_stream() const {
  return !stated || event_stream.value_or(anything.value_or(0)) > 0;
}

bool Acceptance::prefers_event_stream() const {
  if (!lists_event_stream()) return false;
  if (json) return *json < *event_stream;
  return any_application.value_or(anything.value_or(0)) <= *event_stream;
}

std::optional<HttpError> check_json_body(const RequestHead& head) {
  const HeaderField* type = head.find("content-type");
  if (type == nullptr || !is_json_type(type->value)) return kBadType;
  if (has_content_encoding(head)) return kBadEncoding;
  return std::nullopt;
}

}  // namespace stdgate::http
