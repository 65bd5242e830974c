// The syntax of listen addresses, checked when the configuration is read: the error then has a
// place in the file. Binding is the transports' business.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate {

// "127.0.0.1:8080", "localhost:8080", "[::]:8080", ":8080", "unix:/run/stdgate.sock". Gives a form
// that is equal for equal addresses, or says what is wrong.
tl::expected<std::string, std::string> normalize_listen_address(std::string_view text);

// The kernel chooses the port, so two of the same do not collide.
bool has_any_port(std::string_view normalized);

}  // namespace stdgate
