// Splice: a client's message as its child sees it: pieces of the client's bytes, replacements
// between them (the wire id as id and as progress token, values that the protocol replaces), and
// insertions. Only the digits of the number are copied. Owner: the stack of the function that
// writes the message.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/call/call.h"
#include "gateway/rpc/correlator.h"

namespace stdgate::call {

class Splice {
 public:
  // `peer_kind`: of the child; nothing counts as stateful.
  Splice(const Outgoing& message, std::optional<rpc::WireId> id, std::optional<PeerKind> peer_kind);
  Splice(const Splice&) = delete;
  Splice& operator=(const Splice&) = delete;

  [[nodiscard]] size_t size() const { return size_; }
  // The pieces of the message, between the head and the tail of a frame.
  std::span<const std::string_view> framed(std::string_view head, std::string_view tail) {
    parts_.list[0] = head;
    parts_.list[count_] = tail;
    return std::span(parts_.list).first(count_ + 1);
  }

 private:
  static constexpr size_t kMaxReplaced = 3;
  static constexpr size_t kMaxEdits = kMaxReplaced + Outgoing::kMaxInsertions;
  // The pieces between the edits, the texts of the edits (three for an insertion), and the head and
  // the tail of the frame.
  static constexpr size_t kMaxParts =
      (kMaxEdits + 1) + kMaxReplaced + 3 * Outgoing::kMaxInsertions + 2;

  // Not initialised, because most edits are never used.
  struct Edit {
    size_t offset;
    size_t length;
    const char* with;
    size_t with_length;
    const Insertion* insertion;  // if not null, replaces `with`
  };
  void replace(TextPlace place, std::string_view with);
  void put(const Edit& edit);
  void add(std::string_view part);

  // Not initialised.
  union Parts {
    Parts() {}  // NOLINT(modernize-use-equals-default): the default one would be deleted
    std::array<std::string_view, kMaxParts> list;  // the first one is for the frame's head
  };

  std::array<char, 10> digits_;        // of a 31-bit number
  std::array<Edit, kMaxEdits> edits_;  // by place; most messages have one
  size_t edit_count_ = 0;
  Parts parts_;
  size_t count_ = 1;
  size_t size_ = 0;
};

}  // namespace stdgate::call
