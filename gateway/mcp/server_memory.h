// ServerMemory: what a server has said about itself, and its lists, as last seen.
//
// Answers are kept by variant: clients with the same greeting get the same answers, clients with
// other greetings may get others. Answers of shared children are stored under the empty variant
// name. If a list differs between principals, or between sessions though no child has told of a
// change, no list of the server is kept any more. Owner: ServerMemories, and the filters that
// answer from it; the backends of the principals of one server have one together. Limits:
// kMaxVariants, the one used longest ago goes; kMaxEntry bytes of an answer, kMaxBytes of all, and
// what the payer has left.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/time.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/session.h"

namespace stdgate::mcp {

static_assert(kMcpListings.size() == session::ToldLists::kKinds);

// FNV-1a, so equal in every process. Never 0, and never ToldLists::kMixed.
uint64_t digest_of(std::string_view text);

// The source of an answer.
struct MemorySource {
  std::string principal;  // principal of the client; empty: anonymous
  uint64_t holder = 0;    // backend of the server, see ServerMemory::add_holder(); 0: a file
  uint64_t child = 0;     // number of the child in that backend
  uint64_t session = 0;   // session of the child; 0: clients share it

  friend bool operator==(const MemorySource&, const MemorySource&) = default;
};

enum class Learned : uint8_t {
  ignored,  // too large, or lists are not kept
  first,
  same,
  changed,
  differs,  // depends on the client that asks
};

class ServerMemory {
 public:
  static constexpr size_t kMaxVariants = 8;
  static constexpr size_t kMaxEntry = 1 << 20;
  static constexpr size_t kMaxBytes = 4 << 20;
  static constexpr size_t kMaxName = 16 << 10;
  // A list differs by session once other sessions have seen another list this many times, and none
  // has seen the same list between.
  static constexpr unsigned kMaxSwings = 2;

  // A list as the server has answered it.
  struct List {
    std::string payload;  // the whole list, its pages joined
    uint64_t digest = 0;
  };

  // `on_change` is called when what is kept is not what it was. `payer`: of what is kept.
  explicit ServerMemory(std::function<void()> on_change, const Payer& payer = {})
      : on_change_(std::move(on_change)), held_(payer, Holding::caches) {}
  ServerMemory(const ServerMemory&) = delete;
  ServerMemory& operator=(const ServerMemory&) = delete;

  // Null: not known.
  [[nodiscard]] const std::string* greeting(std::string_view variant) const;
  [[nodiscard]] const List* list(std::string_view variant, McpListKind kind) const;
  // The era of the children that have answered.
  [[nodiscard]] std::optional<PeerKind> peer_kind(std::string_view variant) const;
  // Whether the answer to a session's greeting is known for any variant.
  [[nodiscard]] bool greets_sessions() const;

  // A child of this era has given this result, spelled as it is.
  Learned learn_greeting(std::string_view variant, PeerKind peer_kind, std::string_view payload);
  // `is_for_all`: the gateway has asked on behalf of all clients that share children. `still_runs`:
  // whether the child that gave the list before still runs.
  Learned learn_list(std::string_view variant, PeerKind peer_kind, McpListKind kind,
                     std::string payload, const MemorySource& source, bool is_for_all,
                     const std::function<bool(const MemorySource&)>& still_runs);
  // A child reports that these lists (bits of kMcpLists) have changed.
  void forget_lists(std::string_view variant, uint8_t bits);
  [[nodiscard]] bool lists_differ() const { return lists_differ_; }
  // Whether children refuse the greeting of sessions, which therefore share modern ones.
  [[nodiscard]] bool has_no_sessions() const { return has_no_sessions_; }
  void note_sessions(bool has_none);

  // The parts that are kept, by their names for people.
  [[nodiscard]] std::vector<std::string_view> words() const;
  [[nodiscard]] size_t bytes() const { return bytes_; }
  // A new number for a backend of this server.
  uint64_t add_holder() { return ++holders_; }

  // The memory as the text of a file. read() returns false for a text that text() has not made;
  // then the memory is empty.
  [[nodiscard]] std::string text() const;
  bool read(std::string text);

 private:
  struct Kept {
    List list;
    MemorySource source;
  };
  struct Variant {
    std::string name;
    uint64_t used = 0;
    std::optional<PeerKind> peer_kind;
    std::string greeting;  // empty: not known
    std::array<std::optional<Kept>, kMcpListings.size()> lists;
    std::array<unsigned, kMcpListings.size()> swings{};
  };

  [[nodiscard]] const Variant* find(std::string_view name) const;
  Variant& use(std::string_view name);
  Variant& use(std::string_view name, PeerKind peer_kind);
  void forget_all_lists();
  void count();
  void settle_size();
  void note_change();
  bool read_variant(std::string_view object);

  const std::function<void()> on_change_;
  std::vector<Variant> variants_;
  uint64_t uses_ = 0;
  uint64_t holders_ = 0;
  size_t bytes_ = 0;
  Share held_;
  bool lists_differ_ = false;
  bool has_no_sessions_ = false;
};

// Texts by key. The store may lose them.
class MemoryStore {
 public:
  virtual ~MemoryStore() = default;
  virtual std::optional<std::string> load(std::string_view key) = 0;
  virtual void save(std::string_view key, std::string text) = 0;
};

// ServerMemories: what is remembered about all servers, by key, in memory and in a store that
// outlives the process.
//
// The key of a server: see app::memory_key(). Changes are saved after kSaveDelay, one server at a
// time, so that a server whose answers change with each call costs the loop no more than another
// one. Owner: the worker; backends hold the memories that they use, and find them again after a
// reload. Limits: kMaxServers, beyond which memories that no backend uses are forgotten; the bytes
// of the payer's account.
class ServerMemories {
 public:
  static constexpr size_t kMaxServers = 256;
  static constexpr Duration kSaveDelay = std::chrono::seconds(1);

  struct Services {
    const Clock& clock;
    TimerQueue& timers;
    MemoryStore* store = nullptr;  // outlives this; null: nothing outlives it
    Payer payer = {};              // of what is kept
  };

  explicit ServerMemories(const Services& services);
  // Saves what has not been saved yet.
  ~ServerMemories();
  ServerMemories(const ServerMemories&) = delete;
  ServerMemories& operator=(const ServerMemories&) = delete;

  std::shared_ptr<ServerMemory> of(const std::string& key);
  // Forgets what no backend uses.
  void drop_unused();
  [[nodiscard]] size_t size() const { return memories_.size(); }

 private:
  void note_change(const std::string& key);
  void save_next();
  void save(const std::string& key);

  const Services services_;
  std::map<std::string, std::shared_ptr<ServerMemory>, std::less<>> memories_;
  std::set<std::string> changed_;  // since they have been saved
  Timer timer_;
};

}  // namespace stdgate::mcp
