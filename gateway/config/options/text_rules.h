// Rules for texts of the configuration, beyond their type.
#pragma once

#include <string>

#include "gateway/config/options/option.h"

namespace stdgate::config {

bool is_web_origin(std::string_view text);
bool is_host_name(std::string_view text);
bool is_variable_name(std::string_view text);
bool is_field_name(std::string_view text);
bool is_pattern(std::string_view text);
bool is_server_name(std::string_view text);
bool is_shown_name(std::string_view text);
bool is_role(std::string_view text);
bool is_scope(std::string_view text);

// The mistake in a text that names a file; empty: none.
std::string wrong_with_path(std::string_view text);

// "npx -y server" -> ["npx", "-y", "server"]
std::string list_form(std::string_view command);

// "https://app.example.com", as a browser sends it (RFC 6454 section 6.2), or "*".
inline constexpr TextRule kWebOrigin{
    is_web_origin, "\"*\" or an origin without a path, like https://app.example.com"};
inline constexpr TextRule kHostName{is_host_name, "\"*\" or a host name, like gateway.example.com"};
// AddressBlock::parse() is the judge.
inline constexpr TextRule kAddressBlock{kAnyText.accepts,
                                        "an address or a block of them, like 10.1.0.0/16"};
// ProxySource::parse() is the judge.
inline constexpr TextRule kProxySource{kAnyText.accepts,
                                       "unix, an address or a block of them, like 10.1.0.0/16"};
// As execve(2) takes it; more than what ${NAME} can name.
inline constexpr TextRule kVariableName{is_variable_name,
                                        "not a name that an environment variable can have"};
// Of HTTP (RFC 9110 section 5.1).
inline constexpr TextRule kFieldName{is_field_name, "not a name that a header field can have"};

// The name of a virtual server: see check_backend_name().
inline constexpr TextRule kServerName{
    is_server_name, "1 to 64 characters out of a-z, 0-9, '_' and '-', and no path of the gateway"};
// The prefix of the names of tools.
inline constexpr TextRule kShownName{is_shown_name,
                                     "1 to 64 characters out of A-Z, a-z, 0-9, '_' and '-'"};
// A pattern of a rule: see policy::matches().
inline constexpr TextRule kPattern{is_pattern,
                                   "a name, or a pattern of names with *, of at most 1024 bytes"};
// Port::parse() is the judge.
inline constexpr TextRule kPort{kAnyText.accepts, "a port from 1 to 65535"};
// Of principals.
inline constexpr TextRule kRole{is_role, "a role of 1 to 256 bytes"};
// RFC 6749 section 3.3; it stands in a header field.
inline constexpr TextRule kScope{is_scope,
                                 "a scope: visible ASCII without space, quote and backslash"};

}  // namespace stdgate::config
