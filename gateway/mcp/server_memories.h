// ServerMemories: what is remembered about all servers, by key, in memory and in a store that
// outlives the process.
//
// The key of a server: see app::memory_key(). Changes are saved after kSaveDelay, one server at a
// time, so that a server whose answers change with each call costs the loop no more than another
// one. Owner: the worker; backends hold the memories that they use, and find them again after a
// reload. Limits: kMaxServers, beyond which memories that no backend uses are forgotten; the bytes
// of the payer's account.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/base/timers.h"
#include "gateway/mcp/server_memory.h"

namespace stdgate::mcp {

// Texts by key. The store may lose them.
class MemoryStore {
 public:
  virtual ~MemoryStore() = default;
  virtual std::optional<std::string> load(std::string_view key) = 0;
  virtual void save(std::string_view key, std::string text) = 0;
};

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
