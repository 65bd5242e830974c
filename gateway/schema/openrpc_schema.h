// OpenRPC's own schema, as a JSON Schema of draft 7: what a document of OpenRPC 1.x has where.
//
// What a schema can't say, like names that are there twice, OpenRpcDocument finds.
#pragma once

#include <string_view>

namespace stdgate::schema {

extern const std::string_view kOpenRpcSchema;

}  // namespace stdgate::schema
