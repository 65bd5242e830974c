// Protocol: what the chain and its filters ask about messages of a protocol.
//
// Stateless. Implemented by the dialects.
#pragma once

#include <string_view>
#include <tl/expected.hpp>

#include "gateway/call/elements.h"
#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::call {

// The method that describes a service (OpenRPC, "Service Discovery Method").
inline constexpr std::string_view kDiscover = "rpc.discover";

class Protocol {
 public:
  virtual ~Protocol() = default;

  // The error codes of the gateway's faults.
  [[nodiscard]] virtual rpc::CodeSet codes() const = 0;
  // The outcome of a call that the child has answered.
  [[nodiscard]] virtual Outcome outcome(const rpc::Envelope& answer, std::string_view method) const;

  // `message`: of a client or a child; an answer to `method` too.
  [[nodiscard]] virtual Particulars particulars(const rpc::Envelope& /*message*/,
                                                std::string_view /*method*/) const {
    return {};
  }

  // --- Rules
  // Whether a session depends on this message of its client. Rules let such messages pass.
  [[nodiscard]] virtual bool is_lifecycle(std::string_view /*method*/) const { return false; }
  // An error is a constant phrase: readers could see different elements.
  [[nodiscard]] virtual tl::expected<UsedElement, const char*> used_element(
      const rpc::Envelope& /*message*/, std::string_view /*method*/) const {
    return UsedElement();
  }
  // Null: `method` lists nothing that rules judge. The shape lives as long as the protocol. By
  // default the method that describes a service lists methods.
  [[nodiscard]] virtual const ListShape* list_shape(std::string_view method) const;
  // The error for this element (name decoded), or for the method if there is no element.
  [[nodiscard]] virtual Absence absence(std::string_view /*method*/, policy::ElementKind /*kind*/,
                                        std::string_view /*name*/, PeerKind /*of_client*/) const {
    return {};
  }
};

}  // namespace stdgate::call
