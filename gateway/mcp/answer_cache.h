// AnswerCache: results of children that the gateway may give to other requests for the same thing.
//
// A private result is kept for the principal that has asked. A private result for an anonymous
// client is not kept. The lifetime of a result counts from its arrival, and clients are told the
// rest of it. Owner: the CacheFilter. Limits: kMaxEntries results of kMaxEntryBytes each and
// kMaxBytes together; results that expire first go.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/time.h"
#include "gateway/mcp/cacheable.h"

namespace stdgate::mcp {

class AnswerCache {
 public:
  static constexpr size_t kMaxEntries = 256;
  static constexpr size_t kMaxEntryBytes = 1 << 20;  // a result with its key
  static constexpr size_t kMaxBytes = 4 << 20;

  explicit AnswerCache(const Payer& payer = {}) : held_(payer, Holding::caches) {}
  AnswerCache(const AnswerCache&) = delete;
  AnswerCache& operator=(const AnswerCache&) = delete;

  // A result that answers a request.
  struct Kept {
    std::string payload;
    uint64_t child = 0;  // number of the child that has given the result
  };
  // The result for this identity (empty: anonymous) under a cache_key().
  std::optional<Kept> find(std::string_view identity, const std::string& key, TimePoint now) const;
  // Keeps the answer to a request with this key, if the answer allows it.
  void keep(std::string_view identity, const std::string& key, const rpc::Envelope& answer,
            uint64_t child, TimePoint now);
  void note_change(const pool::Audience& change);
  void clear() {
    entries_.clear();
    change_bytes(0);
  }

  [[nodiscard]] size_t size() const { return entries_.size(); }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string payload;
    TextPlace time;  // place of the lifetime in `payload`
    TimePoint ends{};
    uint64_t child = 0;  // see Kept
  };
  // The identity that may see the result (empty: all), and the key of the request.
  struct Place {
    std::string identity;
    std::string key;
    auto operator<=>(const Place&) const = default;
  };
  using Entries = std::map<Place, Entry>;

  static size_t bytes_of(const Place& place, const Entry& entry) {
    return place.identity.size() + place.key.size() + entry.payload.size();
  }
  Entries::iterator remove(Entries::iterator entry);
  void change_bytes(size_t bytes) {
    bytes_ = bytes;
    held_.set(bytes);
  }

  Entries entries_;
  size_t bytes_ = 0;
  Share held_;
};

}  // namespace stdgate::mcp
