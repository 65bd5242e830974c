#include "gateway/call/protocol.h"

namespace stdgate::call {

Outcome Protocol::outcome(const rpc::Envelope& answer, std::string_view /*method*/) const {
  return answer.kind == rpc::MessageKind::error ? Outcome::error() : Outcome::ok();
}

const ListShape* Protocol::list_shape(std::string_view method) const {
  static constexpr ListShape kMethods{.member = "methods"};
  return method == kDiscover ? &kMethods : nullptr;
}

}  // namespace stdgate::call
