// Insertion: a change of a message on its way to a child: members that are added to an object,
// another value of a member, or members that are left out.
//
// Copies nothing. If the object for the members is missing, `head` and `tail` create it. Owner: the
// Outgoing that has it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/json_reader.h"

namespace stdgate::call {

struct Insertion {
  size_t offset = 0;                      // in the text of the message
  std::string_view head;                  // a constant
  std::string_view members;               // `"key":value`, comma-separated; outlives the message
  std::string_view tail;                  // a constant
  size_t replaced = 0;                    // number of bytes of the text that it replaces
  std::optional<PeerKind> only_for = {};  // the only kind of children that get it; nothing: any
  bool empties = false;  // replaces all members that the client wrote in the object

  [[nodiscard]] size_t size() const { return head.size() + members.size() + tail.size(); }
};

// The changes that adapt a message to the kind of its child.
struct PeerChanges {
  static constexpr size_t kMax = 4;

  std::array<Insertion, kMax> list;
  size_t count = 0;
  std::optional<PeerKind> peer_kind{};  // the kind of the child; nothing: any

  [[nodiscard]] std::span<const Insertion> view() const { return std::span(list).first(count); }
};

// The object that gets the members.
enum class InsertionPlace : uint8_t {
  envelope,
  params,
  meta,  // params._meta
};

// The insertion of `members` (not empty) into that object of `message`, which must not have them
// yet. Nothing when params or _meta is present but is no object, or when _meta occurs twice. For
// `meta` the cost is linear in the size of params, unless `known_meta` says what the member _meta
// of params is.
std::optional<Insertion> insertion_at(InsertionPlace place, const rpc::Envelope& message,
                                      std::string_view members,
                                      const rpc::Member* known_meta = nullptr);

}  // namespace stdgate::call
