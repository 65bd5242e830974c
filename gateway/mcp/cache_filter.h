// CacheFilter: answers modern requests with results that children have given to other requests.
//
// The filter stands below the rules and the claims. So the kept results are the words of the child,
// and are cut and sealed for each client. Results are dropped when a list changes or a shared child
// ends. Owner: McpFilters. Limits: the limits of AnswerCache.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/text.h"
#include "gateway/base/time.h"
#include "gateway/call/chain.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

// --- Which results of modern servers may be kept, and for how long (MCP 2026-07-28, server
// utilities: caching)

// The longest time that a result is kept here, whatever lifetime it states.
inline constexpr Duration kMaxCacheTime = std::chrono::hours(24);

// The terms of caching in a result.
struct CacheTerms {
  Duration lasts{0};
  bool is_public = false;  // it may be shown to other clients
  TextPlace time;          // place of the lifetime in the payload
};

// All parts of a request that its result depends on: the method, and each member of params except
// _meta, spelled as in the request. Empty: the result must not be kept. `method` is decoded.
std::string cache_key(const rpc::Envelope& request, std::string_view method);
// Nothing: the answer must not be kept.
std::optional<CacheTerms> cache_terms(const rpc::Envelope& answer);
// The value of `ttlMs` for this lifetime.
std::string ttl_text(Duration lasts);
// Whether this change may invalidate what is kept under this key.
bool ends_kept(const pool::Audience& change, std::string_view key);

// AnswerCache: results of children that the gateway may give to other requests for the same thing.
//
// A private result is kept for the principal that has asked. A private result for an anonymous
// client is not kept. The lifetime of a result counts from its arrival, and clients are told the
// rest of it. Owner: the CacheFilter. Limits: kMaxEntries results of kMaxEntryBytes each and
// kMaxBytes together; results that expire first go.
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

class CacheFilter final : public call::Filter {
 public:
  explicit CacheFilter(const pool::FilterServices& services)
      : services_(services.services),
        pool_(services.pool),
        chain_(services.services.chain),
        states_(services.services.calls.reserve<State>()),
        cache_(services.services.payer) {}

  void on_request(call::CallPtr& call, const call::Request& request) override {
    if (request.context.peer_kind == PeerKind::stateless) answer(call, request);
  }
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    const State* const state = states_.find(call->slots);
    if (state == nullptr || call->child_kind != PeerKind::stateless) return;
    cache_.keep(state->identity, state->key, answer.message, call->child, now());
  }
  bool on_child_message(call::ChildMessage& message) override;
  void on_child_gone(const call::ChildRef& child) override {
    if (child.is_shared) cache_.clear();
  }
  void drop_kept() override { cache_.clear(); }

 private:
  // State of a call whose answer may be kept.
  struct State {
    std::string key;
    std::string identity;  // of the client

    void clear() {
      call::clear_text(key);
      call::clear_text(identity);
    }
  };

  void answer(call::CallPtr& call, const call::Request& request);
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  call::Chain& chain_;
  const call::Slot<State> states_;
  AnswerCache cache_;
};

}  // namespace stdgate::mcp
