// AnswerCache: results of children that the gateway may give to other requests for the same.
//
// What is private is kept for the principal that has asked; of somebody unknown it is not kept. The
// time that a result may be kept counts from its arrival, and clients are told what is left of it.
// Owner: the CacheFilter. Limits: kMaxEntries results of kMaxEntryBytes each and kMaxBytes
// together; those that would end first go.
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
  static constexpr size_t kMaxEntryBytes = 1 << 20;  // with its key
  static constexpr size_t kMaxBytes = 4 << 20;

  explicit AnswerCache(const Payer& payer = {}) : held_(payer, Holding::caches) {}
  AnswerCache(const AnswerCache&) = delete;
  AnswerCache& operator=(const AnswerCache&) = delete;

  // What is kept for a request.
  struct Kept {
    std::string payload;
    uint64_t child = 0;  // the number of the one that has said it
  };
  // For this identity (empty: unknown), under a cache_key().
  std::optional<Kept> find(std::string_view identity, const std::string& key, TimePoint now) const;
  // The answer to such a request, if it may be kept.
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
    TextPlace time;  // where it says for how long
    TimePoint ends{};
    uint64_t child = 0;  // see Kept
  };
  // Who may see it, nobody's identity for all, and what was asked.
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
