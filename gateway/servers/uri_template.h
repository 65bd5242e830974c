// Whether a URI could come from a template of a resource (RFC 6570). Pure.
#pragma once

#include <string_view>

namespace stdgate::servers {

// An expression stands for any characters; one without an operator for none of "/?#". Takes time in
// proportion to both lengths, multiplied, at most. A text that is no template matches only itself.
bool matches_template(std::string_view uri_template, std::string_view uri);

}  // namespace stdgate::servers
