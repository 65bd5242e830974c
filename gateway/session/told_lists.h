// ToldLists: the lists that a client has been told while its server slept.
//
// Owner: the session, or the filter that answers. Limit: kKinds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stdgate::session {

struct ToldLists {
  static constexpr size_t kKinds = 4;

  // Digests of the lists, by kind; 0: not told.
  std::array<uint64_t, kKinds> digests{};
  // The client was told different lists, so an answer of a child is news in any case.
  static constexpr uint64_t kMixed = 1;

  void note(size_t kind, uint64_t digest) {
    const bool is_other = digests[kind] != 0 && digests[kind] != digest;
    digests[kind] = is_other ? kMixed : digest;
  }
  [[nodiscard]] bool any() const { return digests != decltype(digests){}; }
  friend bool operator==(const ToldLists&, const ToldLists&) = default;
};

}  // namespace stdgate::session
