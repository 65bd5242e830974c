// PrincipalView: what a principal sees of the lists of a backend, by the rules of a configuration.
//
// Judged by call::CallRules, as when the gateway serves. Owner: a tool. Limits: those of the
// response that is being cut.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gateway/call/call_rules.h"
#include "gateway/config/config.h"
#include "gateway/policy/principal.h"
#include "gateway/pool/dialect.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::tools {

class PrincipalView {
 public:
  // `principal`: null for an anonymous client; outlives the view.
  PrincipalView(const config::Config& config, const config::BackendConfig& backend,
                const policy::Principal* principal);
  PrincipalView(const PrincipalView&) = delete;
  PrincipalView& operator=(const PrincipalView&) = delete;

  // Whether the principal may ask for the list of this method; also if it needs a scope for it,
  // which can be had.
  [[nodiscard]] bool shows_list(std::string_view method);
  // The result in the response to such a request, without what the principal may not see. Valid
  // until the next call.
  std::string_view seen(std::string_view method, std::string response);

 private:
  const policy::Principal* const principal_;
  const std::unique_ptr<pool::Dialect> dialect_;
  call::CallRules rules_;
  rpc::EnvelopeParser parser_;
  std::string text_;
};

}  // namespace stdgate::tools
