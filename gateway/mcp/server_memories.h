// ServerMemories: what is remembered about all servers, by key, in memory and in a store that
// outlives the process.
//
// A key identifies a server by everything that decides how it answers: see app::memory_key().
// Owner: the worker. Backends hold the memories that they use, and find them again after a reload.
// Limit: kMaxServers; beyond it, a memory that no backend uses is forgotten.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

  // `store` outlives this; null: memories do not outlive the process.
  explicit ServerMemories(MemoryStore* store) : store_(store) {}
  ServerMemories(const ServerMemories&) = delete;
  ServerMemories& operator=(const ServerMemories&) = delete;

  std::shared_ptr<ServerMemory> of(const std::string& key);
  [[nodiscard]] size_t size() const { return memories_.size(); }

 private:
  void save(const std::string& key);

  MemoryStore* const store_;
  std::map<std::string, std::shared_ptr<ServerMemory>, std::less<>> memories_;
};

}  // namespace stdgate::mcp
