#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "gateway/base/addresses.h"
#include "gateway/base/text.h"
#include "gateway/config/environment_variables.h"
#include "gateway/config/options/option_rules.h"
#include "gateway/config/value_parser.h"

namespace stdgate::config {

// Rules between the keys of `traces`.
namespace {

constexpr std::string_view kDefaultPath = "/v1/traces";  // of OTLP over HTTP

// Attributes that the gateway sets itself.
bool is_own_field(std::string_view name) {
  static constexpr auto kOwn = std::to_array<std::string_view>(
      {"content-type", "content-length", "transfer-encoding", "connection", "expect"});
  return std::ranges::any_of(
      kOwn, [name](std::string_view own) { return equals_ignoring_case(name, own); });
}

bool is_field_value(std::string_view text) {
  return !text.empty() && text.front() != ' ' && text.back() != ' ' &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
}

void complete_endpoint(const Section& section, TracesConfig& out) {
  const auto url = WebUrl::parse(out.endpoint);
  if (!url) {
    section.fail("endpoint", "expected a URL, like http://127.0.0.1:4318");
    return;
  }
  if (url->path.empty() || url->path == "/") {
    out.endpoint = std::string(url->origin).append(kDefaultPath).append(url->query);
  }
}

void check_headers(const Section& section, const TracesConfig& out) {
  for (const auto& [name, source] : out.header_sources) {
    if (source.of_principal)
      section.fail("headers",
                   name + ": cannot name the principal, as spans of all clients are sent together");
  }
  if (out.headers.size() > kMaxTraceHeaders) {
    section.fail("headers", "at most " + std::to_string(kMaxTraceHeaders) + " of them");
  }
  for (const auto& [name, value] : out.headers) {
    if (is_own_field(name))
      section.fail("headers", name + " is set by stdgate itself; leave it out");
    if (value.size() > kMaxTraceHeader || !is_field_value(value)) {
      section.fail("headers", name + ": expected 1 to " + std::to_string(kMaxTraceHeader) +
                                  " visible ASCII characters");
    }
  }
}

void complete_traces(const Section& section, TracesConfig& out) {
  if (section.has("endpoint") && !section.failed("endpoint")) complete_endpoint(section, out);
  if (out.service_name.empty() || out.service_name.size() > kMaxServiceName) {
    section.fail("service_name", "expected 1 to " + std::to_string(kMaxServiceName) + " bytes");
  }
  if (!section.failed("headers")) check_headers(section, out);
}

}  // namespace

// Rules between the keys of `tls`.
void complete_tls(const Section& section, TlsConfig& out) {
  const bool both = !section.failed("certificate") && !section.failed("key") &&
                    section.has("certificate") && section.has("key");
  if (both && out.certificate.size() != out.key.size()) {
    section.fail(
        "key", "expected one key for each certificate: " + std::to_string(out.certificate.size()) +
                   ", found " + std::to_string(out.key.size()));
  }
  if (!section.has("client_certificate")) {
    if (!out.client_ca.empty()) out.client_certificate = ClientCertificate::require;
  } else if (out.client_certificate != ClientCertificate::none && out.client_ca.empty()) {
    section.fail("client_certificate",
                 "needs client_ca, the file with the authorities of these certificates");
  }
  if (!out.crl.empty() && out.client_ca.empty()) {
    section.fail("crl", "needs client_ca, the file with the authorities that the list is of");
  }
}

namespace {

void check_admin(const Section& root, const Config& config) {
  const auto admin = Address::parse(config.admin.address);
  if (!admin || admin->has_any_port()) return;
  const bool used =
      std::any_of(config.listen.begin(), config.listen.end(), [&](const ListenerConfig& listener) {
        const auto address = Address::parse(listener.address);
        return address && address->to_string() == admin->to_string();
      });
  if (!used) return;
  if (root.has("admin")) {
    root.fail("admin", "'" + config.admin.address + "' is already in listen");
  } else {
    root.fail("admin", "its default, '" + config.admin.address +
                           "', is already in listen; give it an address, or \"off\"");
  }
}

// Load balancers match it, and it stands in a header field.
bool is_host_label(std::string_view text) {
  const auto is_allowed = [](char c) {
    const char lower = lower_ascii(c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.size() <= kMaxReplicaName && text.front() != '-' &&
         text.back() != '-' && std::ranges::all_of(text, is_allowed);
}

void check_replica(const Section& root, const Config& config) {
  if (config.replica.empty() || is_host_label(config.replica)) return;
  root.fail("replica",
            "expected 1 to 63 letters, digits and hyphens, no hyphen first or last, as "
            "in gate-0; found '" +
                config.replica + "'");
}

void check_holds_message(const Section& limits, const char* key,
                         const std::optional<uint64_t>& bytes, size_t message) {
  if (!bytes || *bytes >= message || limits.failed("message") || limits.failed(key)) return;
  limits.fail(key, "must hold the largest message; limits.message is " + print_size(message));
}

// A role that includes itself, perhaps by others, is a mistake.
bool includes_itself(const Config& config, const RoleConfig& role) {
  std::vector<std::string> open = role.includes;
  std::set<std::string> seen;
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (name == role.name) return true;
    if (!seen.insert(name).second) continue;
    for (const RoleConfig& other : config.roles) {
      if (other.name == name) open.insert(open.end(), other.includes.begin(), other.includes.end());
    }
  }
  return false;
}

void check_roles(const Section& roles, const Config& config) {
  for (const RoleConfig& role : config.roles) {
    if (role.name == "*")
      roles.fail("*", "\"*\" stands for all clients and cannot include roles; remove it");
    if (includes_itself(config, role)) roles.fail(role.name, "the role includes itself");
  }
}

// How many kinds of credentials there are that could give two principals the same name.
size_t sources_of_names(const AuthConfig& auth) {
  const bool has_keys = !auth.api_key_file.empty() || !auth.api_keys.empty();
  return (has_keys ? 1U : 0U) + (auth.mtls.used ? 1U : 0U) + (auth.signatures.empty() ? 0U : 1U) +
         auth.jwt.size();
}

// A variable of a backend's children that could be equal for two principals of `auth`; empty: none.
std::string ambiguous_variable(const AuthConfig& auth, const BackendConfig& backend) {
  if (backend.isolation != Isolation::principal || sources_of_names(auth) < 2) return {};
  for (const auto& [name, source] : backend.env_sources) {
    const PrincipalUse use = principal_use(source.text);
    if (source.of_principal && use.name && !use.source) return name;
  }
  return {};
}

// With a pool for each principal: who calls has to be known, and no two of them may be taken for
// one.
void check_principals(const Section& section, const Config& config, const BackendConfig& backend) {
  if (backend.isolation != Isolation::principal) return;
  const bool is_anonymous = std::ranges::any_of(
      config.listen,
      [&config](const ListenerConfig& listener) { return config.is_anonymous(listener); });
  if (is_anonymous) {
    section.fail("isolation",
                 "principal needs clients that say who they are: configure auth, and no listener "
                 "with anonymous: true");
  }
  if (section.failed("env")) return;
  const std::string name = ambiguous_variable(config.auth, backend);
  if (name.empty()) return;
  section.fail("env", name +
                          " names ${principal} alone, and several kinds of credentials are "
                          "configured, which could give two principals the same name; add "
                          "${principal_source}");
}

void complete_backends(const Section& backends, Config& out) {
  std::string default_name;
  for (BackendConfig& backend : out.backends) {
    const Section* section = backends.part(backend.name);
    if (section == nullptr) continue;
    complete_backend(*section, out.limits, backend);
    check_principals(*section, out, backend);
    if (!backend.is_default) continue;
    if (!default_name.empty()) {
      section->fail("default", "only one backend can be the default; '" + default_name + "' is");
    }
    default_name = backend.name;
  }
}

}  // namespace

void complete_config(const Section& root, Config& out) {
  check_admin(root, out);
  check_replica(root, out);
  if (const Section* limits = root.part("limits")) {
    check_holds_message(*limits, "buffered", out.limits.buffered, out.limits.message);
    check_holds_message(*limits, "buffered_per_client", out.limits.buffered_per_client,
                        out.limits.message);
  }
  if (const Section* tls = root.part("tls")) complete_tls(*tls, out.tls);
  complete_auth(root, out);
  if (const Section* traces = root.part("traces")) complete_traces(*traces, out.traces);
  if (const Section* roles = root.part("roles")) check_roles(*roles, out);
  yield_defaults(root, out);
  if (const Section* backends = root.part("backends")) complete_backends(*backends, out);
  if (const Section* servers = root.part("servers")) complete_servers(*servers, out);
}

}  // namespace stdgate::config
