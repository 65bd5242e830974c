#include "transports/http/json_body.h"

#include "transports/http/field_value.h"
#include "transports/http/media_type.h"

namespace stdgate::http {

namespace {

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

std::optional<HttpError> check_json_body(const RequestHead& head) {
  const HeaderField* type = head.find("content-type");
  if (type == nullptr || !is_json_type(type->value)) return kBadType;
  if (has_content_encoding(head)) return kBadEncoding;
  return std::nullopt;
}

}  // namespace stdgate::http
