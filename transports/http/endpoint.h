// Endpoint: what is served at one path.
// Owner: the router, and its users: exchanges under way, WebSockets. So one that the router has no
// more goes with the last of these. One object for all requests; what belongs to one stands in its
// Exchange.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/backend/upstream.h"
#include "gateway/rpc/fault.h"
#include "transports/http/exchange.h"
#include "transports/http/response.h"

namespace stdgate::http {

// Which methods an endpoint takes (RFC 9110 section 9). Only POST comes with a body.
enum class AllowedMethods : uint8_t {
  read,     // GET and HEAD
  post,     // POST
  session,  // GET, POST and DELETE
};

// OPTIONS, which is always answered, is not among them.
bool is_allowed(Method method, AllowedMethods allowed);
// "POST": the methods that do something, for people.
std::string_view methods_of(AllowedMethods allowed);
// "POST, OPTIONS": the value of Allow (RFC 9110 section 10.2.1).
std::string_view allow_value(AllowedMethods allowed);
// The methods of the server as a whole, for OPTIONS *.
inline constexpr std::string_view kAllowAll = "GET, HEAD, POST, DELETE, OPTIONS";

class Endpoint : public std::enable_shared_from_this<Endpoint> {
 public:
  Endpoint() = default;
  // `held`: counts the memory that is held at the endpoint's upstream.
  explicit Endpoint(HeldBytes* held) : held_(held) {}
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  [[nodiscard]] virtual AllowedMethods allowed_methods() const { return AllowedMethods::read; }
  // The upstream of its messages; null: none.
  [[nodiscard]] virtual const backend::Upstream* upstream() const { return nullptr; }
  // Whether the request belongs to something that was begun here before. A path that the
  // configuration has no more serves nothing else (Router::leaving()).
  [[nodiscard]] virtual bool continues(const RequestHead& /*head*/) const { return false; }
  // Whether messages are POSTed here, where POST is allowed, without more than the path says.
  [[nodiscard]] virtual bool takes_messages() const { return true; }
  // How calls come in here, if they do.
  [[nodiscard]] virtual Transport transport() const { return Transport::rpc; }

  // Error codes of the answers to refused messages.
  [[nodiscard]] virtual rpc::CodeSet fault_codes() const {
    return refusal_codes().value_or(rpc::CodeSet::plain);
  }
  // Error codes of refusals, which are JSON-RPC errors then; nothing: they are HTTP errors.
  [[nodiscard]] virtual std::optional<rpc::CodeSet> refusal_codes() const { return std::nullopt; }

  // Judges the head, before any of the body has been read; an error ends the request.
  // AdmissionPolicy has judged before who may call.
  virtual std::optional<HttpError> admit(Exchange& exchange) = 0;
  // Answers an admitted request through `exchange`, now or later. The body's bytes may be changed
  // and are valid during the call only.
  virtual void serve(Exchange& exchange, std::span<char> body) = 0;
  // Answers a request whose body cannot be taken. Only where POST is allowed.
  virtual void refuse(Exchange& exchange, const rpc::FaultReport& report);

  // Counts the memory that is kept of the endpoint's requests; null: not counted by endpoint.
  [[nodiscard]] HeldBytes* held() const { return held_; }

 private:
  HeldBytes* const held_ = nullptr;
};

}  // namespace stdgate::http
