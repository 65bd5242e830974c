// CallIndex: the calls of clients by caller and id, so that a cancel finds its call by one look-up.
//
// An intrusive hash table: a call contains its links, so adding one allocates nothing. The hash has
// a random key, so that no client can choose ids that share a bucket. Owner: the CallStore. A call
// is in the table from its acceptance until its storage is given back. Limit: the number of calls.
// The table's storage keeps the size of the peak.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "gateway/call/call.h"

namespace stdgate::call {

class CallIndex {
 public:
  // `key` and `more_key`: 128 bits that clients cannot know.
  CallIndex(uint64_t key, uint64_t more_key) : key_(key ^ kSalt), more_key_(more_key ^ kMoreSalt) {}
  CallIndex(const CallIndex&) = delete;
  CallIndex& operator=(const CallIndex&) = delete;

  // The call must be in no index yet; `caller` and `id` must not change while it is.
  void add(Call& call);
  // Without effect for a call that is in no index.
  void remove(Call& call);
  // A call that waits or is in flight: the latest, if its client uses an id twice. Null: none.
  [[nodiscard]] Call* find(session::Caller caller, std::string_view id) const;
  // Like find(), but among calls in any place: the latest that `accepts(call)`.
  [[nodiscard]] Call* find_among(session::Caller caller, std::string_view id,
                                 const std::function<bool(const Call&)>& accepts) const;

  [[nodiscard]] size_t size() const { return size_; }

 private:
  static constexpr size_t kFewestBuckets = 64;
  // Makes the hash usable with weak keys, as tests have them.
  static constexpr uint64_t kSalt = 0x9E3779B97F4A7C15;
  static constexpr uint64_t kMoreSalt = 0xD6E8FEB86659FD93;

  [[nodiscard]] uint64_t hash(session::Caller caller, std::string_view id) const;
  template <class Accepts>
  [[nodiscard]] Call* find_if(session::Caller caller, std::string_view id,
                              const Accepts& accepts) const;
  void put(Call& call);
  void grow();

  const uint64_t key_;
  const uint64_t more_key_;
  std::vector<Call*> buckets_ = std::vector<Call*>(kFewestBuckets);  // a power of two of them
  size_t size_ = 0;
};

}  // namespace stdgate::call
