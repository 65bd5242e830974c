// References of a schema to parts of it: URIs (RFC 3986) and JSON pointers (RFC 6901).
//
// Nothing is fetched: a reference is resolved to compare it with the names within the document.
// Owner: none; pure.
#pragma once

#include <string>
#include <string_view>

namespace stdgate::schema {

struct Reference {
  std::string uri;       // without the fragment
  std::string fragment;  // decoded
};

// `base` has no fragment; it may be empty.
Reference resolve_reference(std::string_view base, std::string_view reference);

// Appends a token of a pointer, with its slash.
void append_pointer(std::string& pointer, std::string_view token);

}  // namespace stdgate::schema
