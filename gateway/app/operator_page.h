// The operator's page: GET / of the admin listener, for browsers.
//
// One file, operator_page.html, which is compiled into the program. It reads /debug/state every two
// seconds and shows it; it changes nothing. Its policy lets the page's own script and style run,
// known by their hashes, and nothing else; no markup can be made of text (Trusted Types).
#pragma once

#include "transports/http/admin_endpoint.h"

namespace stdgate::app {

http::HtmlPage operator_page();

}  // namespace stdgate::app
