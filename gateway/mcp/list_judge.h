// ListJudge: judges calls by what their server lists: tools, prompts. ListedFilter asks for the
// lists, and hands them over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/call/filter.h"

namespace stdgate::mcp {

// Identifies who shares a list: 0 for shared children, else a session or child.
using ListScope = uint64_t;

// A page of a list that the filter has asked for.
struct ListPage {
  ListScope scope = 0;       // one list at a time is asked for in a scope
  size_t list = 0;           // index in kPinnedLists
  uint64_t child = 0;        // the number of the one that has given it; 0: not known
  std::string_view payload;  // the result
  bool is_first = false;     // nothing of the same list came before
  bool is_last = false;
};

class ListJudge {
 public:
  virtual ~ListJudge() = default;

  // The list that the call is judged by; nothing: the call is not judged. May take the call.
  virtual std::optional<size_t> on_request(call::CallPtr& call, const call::Request& request) = 0;
  virtual call::Passage on_notification(const call::Notification& notification) = 0;
  // The list is known. If the call is not taken, it goes on.
  virtual void judge(call::CallPtr& call, const call::Request& request) = 0;
  virtual void learn(const ListPage& page) = 0;
  // An answer to a call of a client that is not judged; of one that is: see show_judged().
  virtual void see(call::CallPtr& call, call::Answer& answer) = 0;
  // Whether it wants to be told of ends.
  [[nodiscard]] virtual bool sees_ends() const { return false; }
  virtual void on_end(const call::Call& /*call*/, call::End& /*end*/) {}
  virtual void forget_child(uint64_t child) = 0;
  // A child has told that its list is another one by now.
  virtual void on_changed(size_t /*list*/, uint64_t /*child*/) {}
  virtual void drop_kept() {}

  // --- Of a call that is judged
  // Whether this child, whose list is known, may get the call.
  [[nodiscard]] virtual bool suits(const call::Call& call, uint64_t child) const = 0;
  // Whether no child may get the call, whatever else they list.
  [[nodiscard]] virtual bool forbids(const call::Call& /*call*/) const { return false; }
  // Ends a call that it forbids.
  virtual void refuse(call::CallPtr /*call*/) {}
  // Whether a server that refuses to list has nothing. If not, its list is not known.
  [[nodiscard]] virtual bool takes_refusals() const { return true; }
};

}  // namespace stdgate::mcp
