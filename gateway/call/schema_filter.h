// SchemaFilter: holds params and results against the OpenRPC document of a backend, and answers
// rpc.discover with it.
//
// Job: answer a request whose params do not fit by the error that JSON-RPC has for it, with the
// places and what was expected; drop such a notification; turn a result that does not fit into a
// fault. Methods that are not in the document pass, except messages that could be read as others.
// Owner: the backend. Limits: the limits of the document and of SchemaCheck.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/call/chain.h"
#include "gateway/schema/openrpc_document.h"
#include "gateway/schema/schema_check.h"

namespace stdgate::call {

class SchemaFilter final : public Filter {
 public:
  // The backend has a document.
  SchemaFilter(Chain& chain, const ChainServices& services);

  void on_request(CallPtr& call, const Request& request) override;
  Passage on_notification(const Notification& notification) override;
  void on_answer(CallPtr& call, Answer& answer) override;

 private:
  using Method = schema::OpenRpcDocument::Method;

  // Whether the params fit. If not, misfits() of `check_` say why.
  bool fits(const Method& method, const rpc::Envelope& message);
  void refuse(CallPtr& call, const Method& method);
  std::optional<std::string> misfit_of_result(const Method& method, const Answer& answer);

  Chain& chain_;
  const ChainServices services_;
  const config::CheckConfig& config_;
  const schema::OpenRpcDocument& document_;
  schema::SchemaCheck check_;
  std::optional<schema::Misfit> repeated_;  // a key that is there twice
};

}  // namespace stdgate::call
