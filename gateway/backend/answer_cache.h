// AnswerCache: answers of children that the gateway may give to other requests for the same (see
// CacheDialect).
//
// What is kept is what the child has said: rules cut it anew for each client. What is private is
// for the principal that has asked; of somebody unknown it is not kept. The time that an answer may
// be kept counts from its arrival, and clients are told what is left of it. Changes of lists and
// the end of a child end it before. Owner: the backend. Limits: kMaxEntries answers of
// kMaxEntryBytes each and kMaxBytes together, those that would end first go.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/call/call.h"
#include "gateway/pool/cache_dialect.h"

namespace stdgate::backend {

class AnswerCache {
 public:
  static constexpr size_t kMaxEntries = 256;
  static constexpr size_t kMaxEntryBytes = 1 << 20;  // with its key
  static constexpr size_t kMaxBytes = 4 << 20;

  explicit AnswerCache(const pool::CacheDialect& dialect, const Payer& payer = {})
      : dialect_(dialect), held_(payer, Holding::caches) {}
  AnswerCache(const AnswerCache&) = delete;
  AnswerCache& operator=(const AnswerCache&) = delete;

  // What is kept for a request.
  struct Kept {
    std::string payload;
    uint64_t child = 0;  // the number of the one that has said it
  };
  // The payload of a result for this request of that identity (empty: unknown). Without one the
  // call is noted, so that its answer can be kept.
  std::optional<Kept> find(const rpc::Envelope& request, std::string_view method,
                           std::string_view identity, TimePoint now, call::Call& call);
  // The answer to such a call.
  void keep(const call::Call& call, const rpc::Envelope& answer, TimePoint now);
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

  const pool::CacheDialect& dialect_;
  Entries entries_;
  size_t bytes_ = 0;
  Share held_;
};

}  // namespace stdgate::backend
