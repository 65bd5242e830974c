// The words of SchemaCheck for what was expected, for people and models.
#include "gateway/schema/schema_check.h"

namespace stdgate::schema {

std::string expected_type(const SchemaNode& node) {
  if (node.types == kAnyType) return {};
  std::string expected;
  const auto add = [&expected](std::string_view name) {
    if (!expected.empty()) expected += " or ";
    expected += name;
  };
  for (size_t i = 0; i < kJsonKinds; ++i) {
    const auto kind = static_cast<JsonKind>(i);
    if ((node.types & type_bit(kind)) != 0) add(kind_name(kind));
  }
  if ((node.types & kIntegerBit) != 0) add("integer");
  return expected.empty() ? "nothing" : expected;
}

std::string text_of(const std::vector<Misfit>& misfits, std::string_view whole) {
  std::string text;
  for (const Misfit& misfit : misfits) {
    if (!text.empty()) text += "; ";
    text.append(misfit.place.empty() ? whole : std::string_view(misfit.place));
    text.append(": expected ").append(misfit.expected);
  }
  return text;
}

}  // namespace stdgate::schema
