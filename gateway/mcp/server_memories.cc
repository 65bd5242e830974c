#include "gateway/mcp/server_memories.h"

#include <utility>

namespace stdgate::mcp {

std::shared_ptr<ServerMemory> ServerMemories::of(const std::string& key) {
  const auto found = memories_.find(key);
  if (found != memories_.end()) return found->second;
  if (memories_.size() >= kMaxServers) {
    std::erase_if(memories_, [](const auto& one) { return one.second.use_count() == 1; });
  }
  auto memory = std::make_shared<ServerMemory>([this, key] { save(key); });
  if (store_ != nullptr) {
    if (auto text = store_->load(key)) memory->read(std::move(*text));
  }
  // A memory beyond the limit is not found again after a reload.
  if (memories_.size() < kMaxServers) memories_.emplace(key, memory);
  return memory;
}

void ServerMemories::save(const std::string& key) {
  const auto found = memories_.find(key);
  if (store_ != nullptr && found != memories_.end()) store_->save(key, found->second->text());
}

}  // namespace stdgate::mcp
