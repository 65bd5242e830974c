// Config: the resolved configuration, a plain value without a trace of YAML or command line.
// Made by config_parser.h and checked there, once; afterwards all code may rely on it. The keys
// of the members are in options/: a member without a row there has no key. Initialisers here are
// the defaults, unless a row's default_words says that they depend on the protocol.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/addresses.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/config/config_files.h"
#include "gateway/config/protocol.h"
#include "gateway/config/server_config.h"
#include "gateway/rpc/framer.h"

namespace stdgate::schema {
class OpenRpcDocument;
}  // namespace stdgate::schema

namespace stdgate::config {

// Whether messages of a backend's children and clients may lack the member "jsonrpc".
enum class EnvelopeForm : uint8_t { strict, lenient };

// Which era of MCP a backend's children speak; automatic: the gateway finds out.
enum class Revision : uint8_t { automatic, legacy, modern };

// Whether legacy children serve modern clients; automatic: where no state that a child keeps for a
// client can be lost or shown to another client.
enum class Bridge : uint8_t { automatic, on, off };

// Treatment of unpinned elements: ignore, log, hide.
enum class Pins : uint8_t { off, warn, enforce };

// Which messages are validated against schemas, of tools or of an OpenRPC document's methods.
struct CheckConfig {
  bool arguments = false;
  bool results = false;

  [[nodiscard]] bool any() const { return arguments || results; }
  friend bool operator==(const CheckConfig&, const CheckConfig&) = default;
};

// The content of the file that `schema` names; null: no file. Equal by its text.
struct SchemaDocument {
  std::shared_ptr<const schema::OpenRpcDocument> document;

  friend bool operator==(const SchemaDocument& one, const SchemaDocument& other);
};

// A backend's children: how many, how long they live, and what may wait for them.
struct PoolConfig {
  uint32_t min = 0;          // children kept running
  uint32_t max = 16;         // children at most, 1 to 1024
  uint32_t warm = 0;         // children kept ready for sessions to come (Isolation::session)
  uint32_t sessions = 1000;  // open sessions at most
  uint32_t principals = 64;  // with children at a time (Isolation::principal); each has `max`
  uint32_t parked = 8;       // calls that wait for input of modern clients
  bool remember = false;     // answers for a sleeping server; with mcp the default is true
  bool sticky = true;        // claims go back to the child that has given them; else to any child
  uint32_t tasks = 256;      // tasks of a child that keep it from ending when idle
  uint32_t max_in_flight = 256;   // calls in flight per child, 1 to 4096; 1: one at a time
  uint32_t queue = 2048;          // calls waiting for a child at most
  size_t queue_bytes = 64 << 20;  // bytes of queued messages; never less than LimitsConfig::message
  Duration max_age{0};            // age at which a child is replaced; 0: never
  uint32_t max_calls = 0;         // calls after which a child is replaced; 0: never
  size_t max_memory = 0;          // resident bytes at which a child is replaced; 0: never
  Duration start_timeout = std::chrono::seconds(30);
  // Beyond start_timeout, of a command that fetches its package; see start_time_of().
  Duration fetch_timeout = std::chrono::minutes(5);
  Duration idle_timeout = std::chrono::minutes(5);  // after which a child above `min` is ended
  Duration min_hold = std::chrono::seconds(2);      // an idle session keeps its child for this time
  Duration grace = std::chrono::seconds(2);  // end of input -> SIGTERM -> SIGKILL, each after this
  Duration backoff_min = std::chrono::milliseconds(100);  // before a second restart; then doubled
  Duration backoff_max = std::chrono::seconds(30);
  uint32_t breaker_failures = 5;  // failures in a row that open the breaker

  friend bool operator==(const PoolConfig&, const PoolConfig&) = default;
};

// setrlimit(2) for a child; absent: inherited.
struct ResourceLimits {
  std::optional<uint64_t> address_space_bytes;
  std::optional<uint64_t> cpu_seconds;
  std::optional<uint64_t> open_files;
  std::optional<uint64_t> processes;

  friend bool operator==(const ResourceLimits&, const ResourceLimits&) = default;
};

// A variable of the children's environment whose value is not written down in the file.
struct VariableSource {
  std::string text;           // as written: the path of a file, or the value
  bool is_file = false;       // the value is the content of that file
  bool of_principal = false;  // names the principal: see environment_variables.h

  friend bool operator==(const VariableSource&, const VariableSource&) = default;
};

// A TCP port.
struct Port {
  uint16_t number = 0;

  static std::optional<Port> parse(std::string_view text);  // 1 to 65535
  [[nodiscard]] std::string to_string() const { return std::to_string(number); }
  friend bool operator==(const Port&, const Port&) = default;
};

// Which files a child reaches. Paths are as given, relative ones to the child's directory.
struct FilesystemConfig {
  bool used = false;               // false: everything that the user may reach
  bool default_read = true;        // every file may be read; false: only `read`
  std::vector<std::string> read;   // in addition to the system's files and BackendConfig::cwd
  std::vector<std::string> write;  // for reading too

  friend bool operator==(const FilesystemConfig&, const FilesystemConfig&) = default;
};

enum class NetworkAccess : uint8_t { any, none, outbound, ports };

// The network that a sandbox lets its command use.
struct NetworkConfig {
  NetworkAccess access = NetworkAccess::any;
  std::vector<Port> connect;  // only with `ports`
  std::vector<Port> bind;
  bool unix_sockets = false;

  friend bool operator==(const NetworkConfig&, const NetworkConfig&) = default;
};

// The reach of a child on the machine.
struct SandboxConfig {
  bool used = false;
  FilesystemConfig filesystem;
  NetworkConfig network;
  bool required = true;  // false: children start even if the kernel cannot hold the sandbox

  // Whether the child may connect to other hosts by TCP.
  [[nodiscard]] bool reaches_network() const {
    return !used || network.access == NetworkAccess::any ||
           network.access == NetworkAccess::outbound || !network.connect.empty();
  }
  friend bool operator==(const SandboxConfig&, const SandboxConfig&) = default;
};

// Variables that a stdio server usually needs to start, and that hold no secret.
std::vector<std::string> usual_variables();

struct BackendConfig {
  std::string name;                  // [a-z0-9_-]+, at most 64 bytes; unique
  std::vector<std::string> command;  // argv, not empty
  Protocol protocol = Protocol::mcp;
  rpc::Framing framing = rpc::Framing::newline;
  EnvelopeForm envelope = EnvelopeForm::strict;
  Isolation isolation = Isolation::shared;  // session with lsp and acp
  Duration linger{0};                       // of an agent without its client; acp only
  bool is_default = false;                  // also served at the root
  bool is_required = false;                 // without it the gateway is not ready
  bool revive = false;  // sessions outlive their children; with mcp only, and there the default
  Bridge bridge = Bridge::automatic;     // of mcp only
  bool share_modern = true;              // sessions share modern children; of mcp only
  bool cache = false;                    // keeps cacheable answers of modern children; as `revive`
  Revision revision = Revision::legacy;  // automatic with mcp only, and there the default
  std::map<std::string, std::string> env;             // without variables that name the principal
  std::map<std::string, VariableSource> env_sources;  // of variables that are not written down
  std::vector<std::string> env_files;                 // paths, as given
  std::map<std::string, std::string> env_from_files;  // content of these; env takes precedence
  std::vector<std::string> env_inherit = usual_variables();  // names, or prefixes ending in '*'
  std::string cwd;
  std::string user;
  ResourceLimits rlimits;
  SandboxConfig sandbox;
  Duration timeout = std::chrono::seconds(60);  // of a call without a sign of life, queue included
  Duration max_time = std::chrono::hours(1);    // of a whole call; no less than `timeout`
  std::string cancel_method;                    // jsonrpc only; empty: the child is not told
  bool expose_fault_details = false;
  std::vector<std::string> methods;  // patterns of the methods that clients may call; none: all
  std::vector<RuleConfig> rules;  // the first rule that fits decides; none: everything is allowed
  ClientLimits calls_per_principal;  // for anonymous clients: per address
  CallLimits calls;
  CheckConfig check;   // of mcp, or by `schema`
  std::string schema;  // the file of an OpenRPC document, as given; of jsonrpc and lsp
  SchemaDocument document;
  Pins pins = Pins::off;  // of mcp
  std::string lock;       // the file of the pins, as given
  std::string lock_text;  // what it holds; empty also where there is none
  PoolConfig pool;
  bool serves_one = false;  // the pool of one principal; no key: see PrincipalPools

  // Whether legacy children serve modern clients.
  [[nodiscard]] bool bridges() const {
    return bridge == Bridge::on || (bridge == Bridge::automatic && isolation != Isolation::session);
  }

  // A child serves one client, from its greeting on.
  [[nodiscard]] bool serves_sessions_alone() const {
    return row_of(protocol).serves_sessions_alone;
  }

  // How many children sessions leave to calls without a session. If there is one child in all, the
  // first session or call takes it; a language server takes calls in sessions only.
  [[nodiscard]] uint32_t kept_for_calls() const {
    return serves_sessions_alone() || pool.max == 1 ? 0 : pool.min;
  }

  // Whether idle sessions leave their child to others.
  [[nodiscard]] bool gives_way() const { return protocol == Protocol::mcp; }

  friend bool operator==(const BackendConfig&, const BackendConfig&) = default;
};

// Whether clients show certificates of their own. `optional`: a client without one is accepted, a
// bad one is refused.
enum class ClientCertificate : uint8_t { none, optional, require };

// Names of files in PEM, as given.
struct TlsConfig {
  std::vector<std::string> certificate;  // with their chains; the first serves without SNI
  std::vector<std::string> key;          // one for each certificate
  std::string client_ca;                 // authorities of clients' certificates
  ClientCertificate client_certificate = ClientCertificate::none;
  std::string crl;  // revocation lists of all authorities in client_ca

  [[nodiscard]] bool is_used() const { return !certificate.empty(); }
  friend bool operator==(const TlsConfig&, const TlsConfig&) = default;
};

struct ListenerConfig {
  std::string address;  // "127.0.0.1:8080", "[::]:8080", "unix:/path"
  TlsConfig tls = {};
  bool anonymous = false;               // clients need no credential
  std::vector<std::string> roles = {};  // roles that may read all admin pages from other machines

  friend bool operator==(const ListenerConfig&, const ListenerConfig&) = default;
};

struct LimitsConfig {
  size_t message = 16 << 20;   // one JSON-RPC message or HTTP body, either direction
  size_t headers = 16 << 10;   // an HTTP request's header block
  size_t batch = 1000;         // messages in a batch
  size_t depth = 128;          // nesting
  size_t connections = 10000;  // open client connections
  // Memory kept for all clients, and for one client, in bytes. Nothing: a part of `memory`, and a
  // part of `buffered`; see policy::Accounts.
  std::optional<uint64_t> buffered;
  std::optional<uint64_t> buffered_per_client;
  size_t outbox = 4 << 20;  // unsent bytes of one stream or WebSocket before it is ended

  // Limits of the events that an MCP session keeps for a client that comes back.
  size_t replay = 1 << 20;  // bytes
  size_t replay_events = 1000;

  // Limits on one client. IPv6 addresses count by their /64 network.
  size_t connections_per_address = 1000;
  std::vector<AddressBlock> unlimited_addresses = loopback_blocks();  // of connections only
  size_t session_starts = 20;  // children taken by new sessions, a second; 0: no limit
  size_t session_burst = 256;  // session_starts at once, after a rest
  size_t handshakes = 256;     // TLS handshakes under way
  size_t min_rate = 1 << 10;   // bytes a second of a body, or of an answer taken; 0: no limit

  // Of the gateway as a whole; see Overload.
  std::optional<uint64_t> memory;               // bytes; nothing: a part of the machine's
  Duration loop_lag = std::chrono::seconds(1);  // how late timers may fire; 0: no limit

  friend bool operator==(const LimitsConfig&, const LimitsConfig&) = default;
};

struct TimeoutsConfig {
  Duration handshake = std::chrono::seconds(10);  // of a TLS handshake, from accept on
  Duration header = std::chrono::seconds(10);  // first byte of a request to the end of its headers
  // Longest time without a byte of the body, or of the answer taken. LimitsConfig::min_rate is
  // judged over this time.
  Duration body = std::chrono::seconds(30);
  Duration idle = std::chrono::seconds(75);        // between requests
  Duration drain = std::chrono::seconds(20);       // at shutdown
  Duration keep_alive = std::chrono::seconds(15);  // a comment on a silent event stream
  Duration ping = std::chrono::seconds(30);        // silence of a WebSocket client before a ping
  Duration pong = std::chrono::seconds(20);     // wait for the pong; then the connection is closed
  Duration request = std::chrono::minutes(10);  // end of the headers to the end of the body
  Duration first_stream = std::chrono::seconds(5);  // for an MCP client to open its first stream
  Duration input = std::chrono::minutes(5);  // for a client to answer a question of its server

  friend bool operator==(const TimeoutsConfig&, const TimeoutsConfig&) = default;
};

enum class LogFormat : uint8_t { json, text };

struct LogConfig {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
  bool calls = true;                // one line per call
  bool payloads = false;            // the messages themselves
  size_t payload_limit = 2048;      // bytes shown of a body
  std::vector<std::string> redact;  // member names whose values are hidden in logged bodies

  friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

struct MetricsConfig {
  // Seconds, ascending; never empty. The bounds reach from the gateway's own time to a tool that
  // runs for a minute.
  std::vector<double> buckets{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                              0.01,    0.025,  0.05,    0.1,    0.25,  0.5,    1.0,
                              2.5,     5.0,    10.0,    15.0,   30.0,  60.0};
  size_t methods = 500;  // names per backend, the rest is "_other"
  // Names that have labels from the start, at every backend.
  std::vector<std::string> method_names;
  std::vector<std::string> tool_names;

  friend bool operator==(const MetricsConfig&, const MetricsConfig&) = default;
};

// Ids of MCP sessions carry their session, sealed with a key, so that another process with the same
// keys can continue it.
struct SessionsConfig {
  std::string key_file;         // as given; empty: a random key, and ids end with the process
  std::vector<SecretKey> keys;  // content of that file; the first seals, all open
  Duration ttl = std::chrono::hours(24);  // of an id, from the beginning of its session

  friend bool operator==(const SessionsConfig&, const SessionsConfig&) = default;
};

// A key that a client may show, and the principal that it stands for.
struct ApiKeyConfig {
  std::string name;               // name of the principal
  std::string hash;               // "sha256:" and 64 hex digits; empty: see `file`
  std::string file;               // as given
  std::vector<std::string> keys;  // content of that file: keys, or hashes of keys
  std::vector<std::string> roles;
  std::string expires;  // as given; empty: never
  std::optional<std::chrono::sys_seconds> expires_at;

  [[nodiscard]] bool is_expired(std::chrono::sys_seconds now) const {
    return expires_at && *expires_at <= now;
  }
  friend bool operator==(const ApiKeyConfig&, const ApiKeyConfig&) = default;
};

// Roles of clients with certificates, by their names; see docs/authentication.md.
struct MtlsConfig {
  bool used = false;  // certificates identify clients
  // In a pattern '*' stands for any characters; a certificate has the roles of all patterns that
  // fit.
  std::map<std::string, std::vector<std::string>> roles;

  friend bool operator==(const MtlsConfig&, const MtlsConfig&) = default;
};

// Where the public keys of an issuer are (RFC 7517). Without a file and a URL, the issuer's own
// description names the place.
struct JwksConfig {
  std::string file;  // as given
  std::string keys;  // the content of that file
  std::string url;
  std::string ca_file;       // authorities of the queried servers, as given
  std::string certificates;  // the content of that file; empty: the system's

  [[nodiscard]] bool is_fetched() const { return file.empty(); }
  friend bool operator==(const JwksConfig&, const JwksConfig&) = default;
};

// An issuer of JSON Web Tokens.
struct JwtConfig {
  std::string issuer;                 // value of `iss`
  std::vector<std::string> audience;  // values of which `aud` needs one; none: the requested URL
  JwksConfig jwks;
  std::vector<std::string> algorithms{"RS256", "PS256", "ES256", "EdDSA"};
  std::string roles;  // path of the claim, "realm_access.roles"; empty: tokens give none

  friend bool operator==(const JwtConfig&, const JwtConfig&) = default;
};

// The params of a call in the audit: their SHA-256, or the text, perhaps with the values of
// LogConfig::redact hidden.
enum class AuditArguments : uint8_t { digest, redacted, full };

// The record of clients' actions; see docs/audit.md.
struct AuditConfig {
  std::string file;                     // as given; empty: no audit
  std::vector<std::string> calls{"*"};  // patterns of methods; refusals are recorded in any case
  AuditArguments arguments = AuditArguments::digest;
  bool durable = false;  // a line is on the disk before its call is answered

  [[nodiscard]] bool is_used() const { return !file.empty(); }
  friend bool operator==(const AuditConfig&, const AuditConfig&) = default;
};

// Which calls have spans, and where the spans are sent; see docs/traces.md.
struct TracesConfig {
  std::string endpoint;  // a URL; empty: spans are not recorded
  double sample = 0.1;   // the recorded share of the traces that begin here; 0 to 1
  std::string service_name = "stdgate";
  std::map<std::string, std::string> headers;            // of the requests
  std::map<std::string, VariableSource> header_sources;  // of headers that are not written down
  std::string ca_file;                                   // authorities of the collector, as given
  std::string certificates;  // the content of that file; empty: the system's
  uint32_t queue = 2048;     // spans that wait to be sent, at most

  [[nodiscard]] bool is_used() const { return !endpoint.empty(); }
  friend bool operator==(const TracesConfig&, const TracesConfig&) = default;
};

// How a client signs its requests (RFC 9421 section 3.3).
enum class SignatureMethod : uint8_t { hmac_sha256, ed25519, ecdsa_p256_sha256 };

// A client that signs its requests.
struct SignatureConfig {
  std::string key_id;           // `keyid` of the signatures, and name of the principal
  std::string secret_file;      // with hmac-sha256, as given
  std::string secret;           // the content of that file: base64
  std::string public_key_file;  // with the others, as given
  std::string public_key;       // the content of that file: PEM
  SignatureMethod algorithm = SignatureMethod::ed25519;
  std::vector<std::string> roles;

  friend bool operator==(const SignatureConfig&, const SignatureConfig&) = default;
};

// How clients authenticate.
struct AuthConfig {
  std::string api_key_file;       // as given: keys of a principal without roles
  std::vector<std::string> keys;  // of that file
  std::vector<ApiKeyConfig> api_keys;
  MtlsConfig mtls;
  std::vector<JwtConfig> jwt;
  std::vector<SignatureConfig> signatures;
  std::string public_url;           // of the gateway, as clients use it; without a slash at its end
  std::vector<std::string> scopes;  // scopes that clients are told to request first

  [[nodiscard]] bool is_used() const {
    return !api_key_file.empty() || !api_keys.empty() || mtls.used || !jwt.empty() ||
           !signatures.empty();
  }
  friend bool operator==(const AuthConfig&, const AuthConfig&) = default;
};

// A whole configuration, with defaults for all that is left out.
struct Config {
  std::vector<ListenerConfig> listen{{"127.0.0.1:8080"}};
  ListenerConfig admin{"127.0.0.1:9464"};  // no address: no admin listener
  TlsConfig tls;           // for clients' TCP listeners without TLS keys of their own
  bool anonymous = false;  // for all listeners of clients
  AuthConfig auth;
  std::vector<std::string> allowed_origins;  // in addition to loopback origins; "*": any
  std::vector<std::string> allowed_hosts;    // in addition to the listener's own; "*": any
  std::vector<ProxySource> trusted_proxies;  // proxies whose word about a client's address counts
  bool rpc_stream = false;  // off loopback, GET /rpc/stream and /sse need no special header
  bool watch = false;       // the file is read again when it changes
  std::string replica;      // first part of session ids, for load balancers; a host name label
  std::string state_dir;    // answers of servers that outlive a restart; empty: none
  std::vector<RoleConfig> roles;        // roles that include other roles
  std::vector<BackendConfig> backends;  // at least one
  std::vector<ServerConfig> servers;    // virtual servers
  SessionsConfig sessions;
  LimitsConfig limits;
  TimeoutsConfig timeouts;
  LogConfig log;
  AuditConfig audit;
  MetricsConfig metrics;
  TracesConfig traces;
  CallLimits calls;  // for all backends together
  // Expanded texts of the file with a ${NAME} that looks secret (secret.h), each with the values of
  // these variables, which print_config() hides.
  std::map<std::string, std::set<std::string>> secrets;

  // The TLS of one of `listen`; null: plain.
  [[nodiscard]] const TlsConfig* tls_of(const ListenerConfig& listener) const {
    if (listener.tls.is_used()) return &listener.tls;
    return tls.is_used() && !listener.address.starts_with("unix:") ? &tls : nullptr;
  }
  // Whether clients of one of `listen` need no credential.
  [[nodiscard]] bool is_anonymous(const ListenerConfig& listener) const {
    return anonymous || listener.anonymous || !auth.is_used();
  }

  friend bool operator==(const Config&, const Config&) = default;
};

// All that a configuration serves, as if it were backends alone.
//
// The backends, and what stands for each virtual server.
std::vector<BackendConfig> all_that_is_served(const Config& config);

}  // namespace stdgate::config
