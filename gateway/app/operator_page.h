// The operator's page: GET / of the admin listener, for browsers.
//
// One file, operator_page.html, which is compiled into the program. The page reads /debug/state
// every two seconds and shows it; it changes nothing. Its content policy allows only the page's own
// script and style, by their hashes, and no text can become markup (Trusted Types).
#pragma once

#include <string_view>

#include "transports/http/admin_endpoint.h"

namespace stdgate::app {

// The text of operator_page.html, which the build puts into the program.
extern const std::string_view kOperatorPageText;

http::HtmlPage operator_page();

}  // namespace stdgate::app
