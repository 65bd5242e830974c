// The endpoints of plain JSON-RPC for one backend: POST /rpc, and GET /rpc/stream for EventSource.
#pragma once

#include <string>

#include "gateway/backend/upstreams.h"
#include "gateway/config/config.h"
#include "transports/http/endpoint.h"
#include "transports/http/router.h"

namespace stdgate::http {

class RpcEndpoint final : public Endpoint {
 public:
  RpcEndpoint(backend::Upstream& upstream, const config::LimitsConfig& limits);

  [[nodiscard]] AllowedMethods allowed_methods() const override { return AllowedMethods::post; }
  [[nodiscard]] rpc::CodeSet fault_codes() const override { return upstream_.codes(); }
  [[nodiscard]] const backend::Upstream* upstream() const override { return &upstream_; }
  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;
  void refuse(Exchange& exchange, const rpc::FaultReport& report) override;

 private:
  backend::Upstream& upstream_;
  const config::LimitsConfig& limits_;
  rpc::EnvelopeParser parser_;
};

// ?method=…&params=…&id=… becomes the request that POST /rpc would take as JSON: `params` is JSON
// text, `id` (1 when absent) too, or else a string.
class StreamEndpoint final : public Endpoint {
 public:
  StreamEndpoint(backend::Upstream& upstream, const config::LimitsConfig& limits);

  [[nodiscard]] const backend::Upstream* upstream() const override { return &upstream_; }
  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;

 private:
  // Whether `text` is one JSON value that may stand where `request` has it.
  bool fits(std::string_view request, std::string_view text,
            std::string_view rpc::Envelope::*member);
  std::string id_of(std::string_view query);

  backend::Upstream& upstream_;
  const config::LimitsConfig& limits_;
  rpc::EnvelopeParser parser_;
  std::string request_;  // scratch
};

// Adds /<name>/rpc and /<name>/rpc/stream for each backend but language servers, and both at the
// root for the default one. `limits` and the backends outlive the router.
void add_rpc_routes(Router& router, const backend::Upstreams& backends,
                    const config::LimitsConfig& limits);

}  // namespace stdgate::http
