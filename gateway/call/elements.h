// Elements: the parts of a protocol that rules judge: tools, resources, prompts, and lists of them.
#pragma once

#include <string>
#include <string_view>

#include "gateway/policy/rules.h"
#include "gateway/rpc/fault.h"

namespace stdgate::call {

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
  std::string_view use{};   // as in UsedElement
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

}  // namespace stdgate::call
