// The text of operator_page.html, which the build puts into the program.
#pragma once

#include <string_view>

namespace stdgate::app {

extern const std::string_view kOperatorPageText;

}  // namespace stdgate::app
