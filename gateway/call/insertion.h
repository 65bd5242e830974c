// Insertion: members that a message gets on its way to a child, beside those that its client wrote,
// or the value of one instead of the client's, or nothing instead of some of the client's.
//
// Nothing is copied. Where the object that they go into is missing, `head` and `tail` make it.
// Owner: the Outgoing that it stands in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::call {

struct Insertion {
  size_t offset = 0;         // in the text of the message
  std::string_view head;     // a constant
  std::string_view members;  // `"key":value`, several separated by commas; outlives the message
  std::string_view tail;     // a constant
  size_t replaced = 0;       // bytes of the text that it stands for
  std::optional<Era> only_for = {};  // left out for a child of the other era; nothing: for any
  bool empties = false;              // it stands for all that the client wrote in its object

  [[nodiscard]] size_t size() const { return head.size() + members.size() + tail.size(); }
};

// What a message gets and loses for the era of its child.
struct EraChanges {
  static constexpr size_t kMax = 4;

  std::array<Insertion, kMax> list;
  size_t count = 0;
  std::optional<Era> era{};  // that they are for; nothing: for either

  [[nodiscard]] std::span<const Insertion> view() const { return std::span(list).first(count); }
};

// The object that members go into.
enum class InsertionPlace : uint8_t {
  envelope,
  params,
  meta,  // params._meta
};

// How `members` (not empty) get into that object of `message`, which must not have them yet.
// Nothing when params or _meta is present but no object, or when _meta is present twice. For `meta`
// the cost is linear in the size of params.
std::optional<Insertion> insertion_at(InsertionPlace place, const rpc::Envelope& message,
                                      std::string_view members);

}  // namespace stdgate::call
