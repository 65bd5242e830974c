// Makes the dialect of a backend: the only place that knows every dialect class.
#pragma once

#include <memory>
#include <string>

#include "gateway/config/config.h"
#include "gateway/pool/dialect.h"

namespace stdgate::app {

// How the gateway introduces itself to children.
struct GatewayIdentity {
  std::string version;
  std::string binary;  // path of the running program, for the command "stdgate"
  std::string name = "stdgate";
};

std::unique_ptr<pool::Dialect> make_dialect(const config::BackendConfig& backend,
                                            const GatewayIdentity& identity);

}  // namespace stdgate::app
