#include "transports/http/resource_metadata.h"

#include <memory>
#include <utility>

#include "gateway/rpc/json_writer.h"

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
               Guards::reading(Audience::everyone));
  }
}

}  // namespace stdgate::http
