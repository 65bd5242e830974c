// Protocol: what the chain and its filters ask about messages of a protocol, and the elements that
// messages use.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/observer.h"
#include "gateway/policy/rules.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/fault.h"

namespace stdgate::call {

// --- Elements: the parts of a protocol that rules judge: tools, resources, prompts, and lists of
// them

// An element that a client's message uses, for rules.
struct UsedElement {
  policy::ElementKind kind = policy::ElementKind::none;
  std::string_view name;  // as spelled between its quotes; empty: not readable
  // The method that uses such elements. Another method, which describes or watches an element, is
  // allowed to clients that may use the element.
  std::string_view use;
  // Raw JSON: an array of names, if the message names several elements.
  std::string_view names{};
};

// The place of the elements in the result of a method that lists them. Without a kind, the result
// is an OpenRPC document, whose methods are judged.
struct ListShape {
  policy::ElementKind kind = policy::ElementKind::none;
  std::string_view member;  // the array in the result
  std::string_view name{};  // the member of an element with its name
  std::string_view use{};   // the method that uses such elements
  // The member of the result that says who may keep it, and its value for one client only.
  std::string_view scope{};
  std::string_view private_scope{};
};

// Facts of a message for the audit besides its element, each as spelled between its quotes. Empty:
// the message has none.
struct Particulars {
  std::string_view session{};  // of the protocol, inside of the client's session
  std::string_view title{};    // of a tool call of an agent
  std::string_view option{};   // what the client has chosen
};

// The error of a child for requests of an element or method that it does not have.
struct Absence {
  rpc::RpcError error = rpc::RpcError::method_not_found;
  std::string message = "Method not found";
  std::string data{};  // raw JSON; empty: none
};

// The method that describes a service (OpenRPC, "Service Discovery Method").
inline constexpr std::string_view kDiscover = "rpc.discover";

// Protocol: what the chain and its filters ask about messages of a protocol. Stateless. Implemented
// by the dialects.
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
