#include "gateway/servers/kept_request.h"

namespace stdgate::servers {

KeptRequest::KeptRequest(std::string_view request, std::string_view method_name,
                         const call::CallContext& context)
    : text(request), method(method_name), context_(context) {
  if (context.principal != nullptr) context_.principal = &principal_.emplace(*context.principal);
  if (context.client != nullptr) context_.client = &client_.emplace(*context.client);
  if (context.trace != nullptr) context_.trace = &trace_.emplace(*context.trace);
  if (context.mirrored) {
    mirrored_ = *context.mirrored;
    context_.mirrored = mirrored_;
  }
  context_.params = nullptr;
}

}  // namespace stdgate::servers
