// Protocol: the questions of the chain and its filters about messages of any protocol.
//
// Stateless. Implemented by the dialects.
#pragma once

#include <string_view>
#include <tl/expected.hpp>

#include "gateway/call/elements.h"
#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::call {

class Protocol {
 public:
  virtual ~Protocol() = default;

  // The error codes of the gateway's faults.
  [[nodiscard]] virtual rpc::CodeSet codes() const = 0;
  // How a call ended that the child answered.
  [[nodiscard]] virtual Outcome outcome(const rpc::Envelope& answer, std::string_view method) const;

  // --- Rules
  // Whether a session needs this message of its client to live; rules let it through.
  [[nodiscard]] virtual bool is_lifecycle(std::string_view /*method*/) const { return false; }
  // An error is a constant phrase: readers could see different elements.
  [[nodiscard]] virtual tl::expected<UsedElement, const char*> used_element(
      const rpc::Envelope& /*message*/, std::string_view /*method*/) const {
    return UsedElement();
  }
  // Null: `method` lists nothing that rules judge. The shape lives as long as the protocol.
  [[nodiscard]] virtual const ListShape* list_shape(std::string_view /*method*/) const {
    return nullptr;
  }
  // `name` is decoded. Without an element it is the method that does not exist.
  [[nodiscard]] virtual Absence absence(std::string_view /*method*/, policy::ElementKind /*kind*/,
                                        std::string_view /*name*/, Era /*of_client*/) const {
    return {};
  }
};

}  // namespace stdgate::call
