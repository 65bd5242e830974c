// Rules for options beyond their types: for texts, and across the keys of a section.
#pragma once

#include <span>
#include <string>

#include "gateway/config/config.h"
#include "gateway/config/options/option.h"
#include "gateway/config/section_reader.h"
#include "gateway/config/value_names.h"

namespace stdgate::config {

// Rules across the keys of a section, and the meaning of its words and short forms. The reader of
// options calls these functions before and after it has read a section.
//
// Each source has the rules of the sections whose keys the table of that name has: auth, backend,
// gateway, server. `out` has been read from the section; complete_…() fills in what depends on
// other keys, and records errors.

// --- auth_rules.cc
void complete_item(const Section& section, ApiKeyConfig& out);
void complete_item(const Section& section, JwtConfig& out);
void complete_item(const Section& section, RuleConfig& out);
void complete_item(const Section& section, SignatureConfig& out);
// Rules that need the whole configuration.
void complete_auth(const Section& root, Config& out);

// --- backend_rules.cc
// The words that stand for a whole section; the first is its default, which is not printed.
std::span<const Named<NetworkConfig>> words_of(const NetworkConfig&);
std::span<const Named<SandboxConfig>> words_of(const SandboxConfig&);
// Before a section's keys are read: that it is there means something.
void begin_section(NetworkConfig& out);
void begin_section(SandboxConfig& out);
void complete_backend(const Section& backend, const LimitsConfig& limits, BackendConfig& out);

// --- gateway_rules.cc
void complete_tls(const Section& section, TlsConfig& out);
void complete_config(const Section& root, Config& out);

// --- server_rules.cc
std::span<const Named<ExposeConfig>> words_of(const ExposeConfig&);
void begin_section(ExposeConfig& out);
// A name alone, in the place of a member.
void read_short(const Value& value, MemberConfig& out);
// Once the keys of a member have been read.
void complete_item(const Section& member, MemberConfig& out);
// An only backend is the default unless a server says that it is.
void yield_defaults(const Section& root, Config& out);
// `out` has been read from the root.
void complete_servers(const Section& servers, Config& out);

// --- Rules for texts of the configuration, beyond their type

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
