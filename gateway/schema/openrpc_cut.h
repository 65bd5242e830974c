// An OpenRPC document for a client: without the methods that the client may not use, and without
// the components to which only those methods refer.
//
// Owner: none; pure. Linear in the document.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace stdgate::schema {

// `text` is valid JSON. `keeps` judges the decoded name of a method; one without a name is not
// kept. Nothing: it is no such document. A document with too many values is cut to `{}`.
std::optional<std::string> cut_openrpc(std::string_view text,
                                       const std::function<bool(std::string_view)>& keeps);

}  // namespace stdgate::schema
