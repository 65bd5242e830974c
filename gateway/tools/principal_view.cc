#include "gateway/tools/principal_view.h"

#include <utility>

#include "gateway/app/dialects.h"
#include "gateway/base/check.h"
#include "gateway/tools/peer.h"

namespace stdgate::tools {

PrincipalView::PrincipalView(const config::Config& config, const config::BackendConfig& backend,
                             const policy::Principal* principal)
    : principal_(principal),
      dialect_(app::make_dialect(backend, {})),
      rules_(backend, config.roles, *dialect_),
      parser_({}) {}

bool PrincipalView::shows_list(std::string_view method) {
  if (!rules_.any()) return true;
  text_ = request_text(1, method, "{}");
  const auto request = parser_.parse(text_);
  STDGATE_CHECK(request && request->messages[0].ok());
  return rules_.judge(request->messages[0].envelope, method, principal_).verdict !=
         policy::Verdict::denied;
}

std::string_view PrincipalView::seen(std::string_view method, std::string response) {
  text_ = std::move(response);
  const auto parsed = parser_.parse(text_);
  if (!parsed || parsed->batch || !parsed->messages[0].ok()) return {};
  const rpc::Envelope& answer = parsed->messages[0].envelope;
  const call::ListShape* const list = dialect_->list_shape(method);
  if (list == nullptr || answer.kind != rpc::MessageKind::result) return answer.payload;
  return rules_.seen(rules_.cut_of(*list, principal_), answer.payload);
}

}  // namespace stdgate::tools
