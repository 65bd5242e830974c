// The endpoints of plain JSON-RPC for one backend: POST /rpc, and GET /rpc/stream for EventSource.
#pragma once

#include <string>

#include "gateway/config/config.h"
#include "gateway/pool/backend_set.h"
#include "transports/http/endpoint.h"
#include "transports/http/origin_rules.h"
#include "transports/http/router.h"

namespace stdgate {

class RpcEndpoint final : public Endpoint {
 public:
  RpcEndpoint(Backend& backend, const OriginRules& rules, const LimitsConfig& limits);

  [[nodiscard]] Access access() const override { return Access::post; }
  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;
  void refuse(Exchange& exchange, Fault fault) override;

 private:
  Backend& backend_;
  const OriginRules& rules_;
  const LimitsConfig& limits_;
  EnvelopeParser parser_;
};

// ?method=…&params=…&id=… becomes the request that POST /rpc would take as JSON: `params` is JSON
// text, `id` (1 when absent) too, or else a string.
class StreamEndpoint final : public Endpoint {
 public:
  StreamEndpoint(Backend& backend, const OriginRules& rules, const LimitsConfig& limits);

  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;

 private:
  // Whether `text` is one JSON value that may stand where `request` has it.
  bool fits(std::string_view request, std::string_view text, std::string_view Envelope::*member);
  std::string id_of(std::string_view query);

  Backend& backend_;
  const OriginRules& rules_;
  const LimitsConfig& limits_;
  EnvelopeParser parser_;
  std::string request_;  // scratch
};

// Adds /<name>/rpc and /<name>/rpc/stream for each backend but language servers, and both at the
// root for the default one. `rules`, `limits` and the backends outlive the router.
void add_rpc_routes(Router& router, const BackendSet& backends, const OriginRules& rules,
                    const LimitsConfig& limits);

}  // namespace stdgate
