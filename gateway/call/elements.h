// Elements: the parts of a protocol that rules judge: tools, resources, prompts, and lists of
// these.
#pragma once

#include <string>
#include <string_view>

#include "gateway/policy/rules.h"
#include "gateway/rpc/fault.h"

namespace stdgate::call {

// An element that a message of a client uses, for rules.
struct UsedElement {
  policy::ElementKind kind = policy::ElementKind::none;
  std::string_view name;  // as spelled between its quotes; empty: none can be read
  // The method that uses such elements. Another method, which tells something of an element or
  // watches it, is allowed to clients that may use that element.
  std::string_view use;
  // Raw JSON, where the message names several: an array of names.
  std::string_view names{};
};

// Where the result of a method has the elements of one kind.
struct ListShape {
  policy::ElementKind kind = policy::ElementKind::none;
  std::string_view member;  // the array
  std::string_view name;    // of an element: its name, a string
  std::string_view use;     // as in UsedElement
  // A member of the result that says who may keep it, and what it says when it is for one client.
  std::string_view scope;
  std::string_view private_scope;
};

// The error by which a child answers requests for what it does not have.
struct Absence {
  rpc::RpcError error = rpc::RpcError::method_not_found;
  std::string message = "Method not found";
  std::string data{};  // raw JSON; empty: none
};

}  // namespace stdgate::call
