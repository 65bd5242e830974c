#include "transports/http/auth_endpoints.h"

#include <memory>
#include <utility>

#include "gateway/rpc/json_text.h"
#include "transports/http/request_head.h"

namespace stdgate::http {

namespace {

// RFC 9728 section 2.
std::string metadata_of(const Announcement& announcement, const std::string& path) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
  json.begin_object();
  json.text("resource", announcement.public_url + path);
  json.begin_array("authorization_servers");
  for (const std::string& issuer : announcement.issuers) json.text({}, issuer);
  json.end_array();
  if (!announcement.scopes.empty()) {
    json.begin_array("scopes_supported");
    for (const std::string& scope : announcement.scopes) json.text({}, scope);
    json.end_array();
  }
  json.begin_array("bearer_methods_supported");
  json.text({}, "header");
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

class MetadataEndpoint final : public Endpoint {
 public:
  MetadataEndpoint(const AdmissionPolicy& policy, std::string path)
      : policy_(policy), path_(std::move(path)) {}

  std::optional<HttpError> admit(Exchange& /*exchange*/) override { return std::nullopt; }
  void serve(Exchange& exchange, std::span<char> /*body*/) override {
    exchange.respond({.content_type = kJsonType},
                     metadata_of(policy_.authentication().announcement(), path_));
  }

 private:
  const AdmissionPolicy& policy_;
  const std::string path_;
};

}  // namespace

void add_resource_metadata(Router& router) {
  std::vector<std::string> paths = router.paths_of(Transport::mcp);
  paths.emplace_back();
  for (const std::string& path : paths) {
    router.add(std::string(kResourceMetadata) + path, "who gives out tokens",
               std::make_unique<MetadataEndpoint>(router.policy(), path),
               Guards::reading(RouteAudience::everyone));
  }
}

namespace {

constexpr std::string_view kNoPath =
    "a ticket is for one path: POST /ticket?path=/NAME/ws, or /NAME/sse, /NAME/rpc/stream, "
    "/NAME/mcp";

class TicketEndpoint final : public Endpoint {
 public:
  TicketEndpoint(const Router& router, auth::Tickets& tickets)
      : router_(router), tickets_(tickets) {}

  [[nodiscard]] AllowedMethods allowed_methods() const override { return AllowedMethods::post; }
  [[nodiscard]] bool takes_messages() const override { return false; }

  std::optional<HttpError> admit(Exchange& exchange) override {
    if (exchange.head.has_body()) return HttpError{400, "no body is expected"};
    const Route* const route = router_.find(ticket_path(exchange.head));
    if (route == nullptr || !route->guards.takes_tickets) return HttpError{400, kNoPath};
    return std::nullopt;
  }

  void serve(Exchange& exchange, std::span<char> /*body*/) override {
    if (exchange.identity.principal == nullptr) {
      return exchange.fail({401, "show a credential: a ticket stands for one"});
    }
    const std::string path = ticket_path(exchange.head);
    const auto ticket = tickets_.issue(exchange.identity, path);
    if (!ticket) {
      return exchange.fail({.status = 429,
                            .message = "too many tickets have not been used",
                            .retry_after = auth::Tickets::kLife,
                            .refusal = Refusal::rate_limited});
    }
    rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
    json.begin_object();
    json.text("ticket", *ticket);
    json.text("path", path);
    json.number("expires_in", static_cast<uint64_t>(to_seconds(auth::Tickets::kLife)));
    json.end_object();
    exchange.respond({.content_type = kJsonType, .more_fields = "Cache-Control: no-store\r\n"},
                     json.take() + "\n");
  }

 private:
  const Router& router_;  // which owns this
  auth::Tickets& tickets_;
};

}  // namespace

std::string ticket_path(const RequestHead& head) {
  return query_parameter(head.query(), "path").value_or(std::string());
}

void add_ticket_route(Router& router, auth::Tickets& tickets) {
  router.add(std::string(kTicketPath), "a ticket for a request that can send no header fields",
             std::make_unique<TicketEndpoint>(router, tickets),
             Guards{.deliberate_get = false, .gives_tickets = true});
}

}  // namespace stdgate::http
