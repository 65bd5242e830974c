#include "gateway/remote/web_client.h"

#include <algorithm>

#include "gateway/base/text.h"

namespace stdgate::remote {

std::string_view WebHead::find(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, &std::pair<std::string, std::string>::first);
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

bool WebHead::has_type(std::string_view type) const {
  const std::string_view value = find("content-type");
  return equals_ignoring_case(trim(value.substr(0, value.find(';'))), type);
}

}  // namespace stdgate::remote
