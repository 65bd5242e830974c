// RequestHead: the head of a request. Also the parts of its target, and where a request comes from
// that a trusted proxy has passed on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/addresses.h"
#include "gateway/observer.h"

namespace stdgate::http {

// ConnectionTraits: what admission knows about a connection before its first byte.
//
// A small value, copied.
struct ConnectionTraits {
  enum class Reach : uint8_t {
    loopback,     // TCP, to an address that only programs of this machine can reach
    network,      // TCP, to any other address
    unix_socket,  // no browser connects here, a proxy in front may
  };

  uint32_t listener = 0;  // its number within the server, which no other one has had
  Reach reach = Reach::loopback;
  bool is_secure = false;  // over TLS
  bool anonymous = true;   // its clients need not say who they are
  // Address that the client connected to, without the port; not the listener's own, which may be
  // bound to all of them.
  ClientAddress local{};

  friend bool operator==(const ConnectionTraits&, const ConnectionTraits&) = default;

  // The traits behind a proxy, which may say whether its client speaks TLS.
  [[nodiscard]] ConnectionTraits as_spoken(std::optional<bool> secure) const {
    ConnectionTraits traits = *this;
    traits.is_secure = secure.value_or(is_secure);
    return traits;
  }
};

// Why a head is refused, and the status of the answer.
struct HeadError {
  int status = 400;
  const char* reason = "";
  Refusal refusal = Refusal::other;  // other: bad_head for 400, else what the status says
};

enum class Method : uint8_t { get, head, post, del, options, other };

struct HeaderField {
  std::string_view name;   // as spelled
  std::string_view value;  // without surrounding white space
};

// RequestHead: what the head of one request says, in whatever version of HTTP it came.
//
// A codec reads it from the wire (Http1Head) and fills it in: fields, method, target, whether a
// body follows. This class has their meaning for the code behind: the parts of the target, and
// which fields show who calls or are there twice. Owner: a codec, whose memory the views point
// into, until it reads another one; reused, so that nothing is allocated in the steady state.
// Errors: an HTTP status and a constant phrase.
class RequestHead {
 public:
  static constexpr size_t kMaxTarget = 8000;  // RFC 9112 section 3 asks for at least this

  RequestHead(const RequestHead&) = delete;  // its views may point into itself
  RequestHead& operator=(const RequestHead&) = delete;

  [[nodiscard]] Method method() const { return method_; }
  [[nodiscard]] std::string_view method_text() const { return method_text_; }
  [[nodiscard]] std::string_view path() const { return path_; }    // raw; "*" for OPTIONS *
  [[nodiscard]] std::string_view query() const { return query_; }  // raw, without the '?'
  // Host, or the authority of an absolute target, which wins (RFC 9112 section 3.2.2).
  [[nodiscard]] std::string_view authority() const { return authority_; }
  // Whether no authority was sent, in a version where none need be sent: no browser sends such a
  // request.
  [[nodiscard]] bool lacks_authority() const { return lacks_authority_; }
  [[nodiscard]] bool has_body() const { return has_body_; }
  // Something that tells who calls: Authorization, Proxy-Authorization, Cookie, X-API-Key, a
  // subprotocol with a credential, a ticket in the query.
  [[nodiscard]] bool has_credentials() const { return has_credentials_; }
  // Whether a field of MCP's occurs twice. Programs in front may route by it, and read the other
  // one.
  [[nodiscard]] bool is_ambiguous() const { return is_ambiguous_; }

  [[nodiscard]] std::span<const HeaderField> fields() const { return fields_; }
  // The first field with this name (in lower case); null: no such field.
  [[nodiscard]] const HeaderField* find(std::string_view name) const;

 protected:
  RequestHead() { fields_.reserve(kUsualFields); }
  ~RequestHead() = default;

  // Forgets what has been read.
  void clear();
  // To be called for each of `fields_`.
  void note_field(const HeaderField& field);
  // Called after the method and the fields; Host has been taken out of them.
  tl::expected<void, HeadError> take_target(std::string_view target);

  std::vector<HeaderField> fields_;
  std::string_view method_text_;
  std::string_view authority_;
  Method method_ = Method::other;
  bool lacks_authority_ = false;
  bool has_body_ = false;

 private:
  static constexpr size_t kUsualFields = 12;

  void note_once(const HeaderField& field, std::string_view name);

  std::string_view path_;
  std::string_view query_;
  uint32_t seen_ = 0;  // fields that may stand once: a bit for the length of each name
  bool has_credentials_ = false;
  bool is_ambiguous_ = false;
};

// --- The parts of a request target (RFC 3986): percent-encoding, query parameters
//
// Pure functions over views.

// The decoded text: `text` itself, or a view of `scratch`. `text` must be valid.
std::string_view percent_decode(std::string_view text, std::string& scratch);

// The value of the first parameter `name` of a query, decoded as application/x-www-form-urlencoded
// ('+' is a space). Nothing when it is absent.
std::optional<std::string> query_parameter(std::string_view query, std::string_view name);
size_t count_parameters(std::string_view query, std::string_view name);

// --- Where a request comes from that a trusted proxy has passed on (RFC 7239; X-Forwarded-For and
// X-Forwarded-Proto, which have no specification)
//
// Pure. The headers are read from their end, where the nearest proxy has written, up to the first
// address that is no trusted proxy. The text before it is the client's own word, and is not read.
// If anything up to that point is malformed, neither header is believed. If the two headers name
// different clients, neither is believed: one of them came through a proxy that does not write it.

// Limit of the entries that are read; a longer chain of proxies is not believed.
inline constexpr size_t kMaxHops = 32;

// Where a request comes from.
struct Provenance {
  ClientAddress client{};
  std::optional<bool> is_secure{};  // what the client spoke with the first proxy; nothing: not said

  friend bool operator==(const Provenance&, const Provenance&) = default;
};

// `peer` has sent it. A peer that is not trusted is the client.
Provenance provenance(const RequestHead& head, const ClientAddress& peer,
                      std::span<const ProxySource> trusted);

}  // namespace stdgate::http
