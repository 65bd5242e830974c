#include "transports/http/resource_metadata.h"

#include <memory>
#include <utility>

#include "gateway/rpc/json_writer.h"

namespace stdgate::http {

namespace {

class MetadataEndpoint final : public Endpoint {
 public:
  explicit MetadataEndpoint(std::string text) : text_(std::move(text)) {}

  std::optional<HttpError> admit(Exchange& /*exchange*/) override { return std::nullopt; }
  void serve(Exchange& exchange, std::span<char> /*body*/) override {
    const std::string_view body = text_;
    exchange.client->respond({.content_type = kJsonType, .body = {&body, 1}});
  }

 private:
  const std::string text_;
};

// RFC 9728 section 2.
std::string metadata_of(const std::string& resource, const std::vector<std::string>& issuers,
                        const std::vector<std::string>& scopes) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
  json.begin_object();
  json.text("resource", resource);
  json.begin_array("authorization_servers");
  for (const std::string& issuer : issuers) json.text({}, issuer);
  json.end_array();
  if (!scopes.empty()) {
    json.begin_array("scopes_supported");
    for (const std::string& scope : scopes) json.text({}, scope);
    json.end_array();
  }
  json.begin_array("bearer_methods_supported");
  json.text({}, "header");
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace

void add_resource_metadata(Router& router, const std::vector<std::string>& issuers,
                           const std::vector<std::string>& scopes) {
  const std::string& public_url = router.policy().authentication().public_url();
  std::vector<std::string> paths = router.paths_of(Transport::mcp);
  paths.emplace_back();
  for (const std::string& path : paths) {
    router.add(std::string(kResourceMetadata) + path, "who gives out tokens",
               std::make_unique<MetadataEndpoint>(metadata_of(public_url + path, issuers, scopes)),
               Guards::reading(Audience::everyone));
  }
}

}  // namespace stdgate::http
