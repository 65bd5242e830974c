#include "gateway/schema/schema_node.h"

namespace stdgate::schema {

const Property* find_property(const ObjectChecks& checks, std::string_view name) {
  if (!checks.places.empty()) {
    const auto place = checks.places.find(name);
    return place == checks.places.end() ? nullptr : &checks.properties[place->second];
  }
  for (const Property& property : checks.properties) {
    if (property.name == name) return &property;
  }
  return nullptr;
}

}  // namespace stdgate::schema
