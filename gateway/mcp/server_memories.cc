#include "gateway/mcp/server_memories.h"

#include <utility>

namespace stdgate::mcp {

namespace {

// Between two that are saved: each costs the loop the time to write its text.
constexpr Duration kSaveGap = std::chrono::milliseconds(10);

}  // namespace

ServerMemories::ServerMemories(const Services& services)
    : services_(services), timer_(services.timers, [this] { save_next(); }) {}

ServerMemories::~ServerMemories() {
  for (const std::string& key : changed_) save(key);
}

std::shared_ptr<ServerMemory> ServerMemories::of(const std::string& key) {
  const auto found = memories_.find(key);
  if (found != memories_.end()) return found->second;
  if (memories_.size() >= kMaxServers) drop_unused();
  auto memory = std::make_shared<ServerMemory>([this, key] { note_change(key); }, services_.payer);
  if (services_.store != nullptr) {
    if (auto text = services_.store->load(key)) memory->read(std::move(*text));
  }
  // A memory beyond the limit is not found again after a reload.
  if (memories_.size() < kMaxServers) memories_.emplace(key, memory);
  return memory;
}

void ServerMemories::drop_unused() {
  std::erase_if(memories_, [this](const auto& one) {
    if (one.second.use_count() > 1) return false;
    if (changed_.erase(one.first) > 0) save(one.first);
    return true;
  });
}

void ServerMemories::note_change(const std::string& key) {
  if (services_.store == nullptr || !memories_.contains(key)) return;
  changed_.insert(key);
  if (!timer_.armed()) timer_.arm(services_.clock.now() + kSaveDelay);
}

void ServerMemories::save_next() {
  if (changed_.empty()) return;
  save(changed_.extract(changed_.begin()).value());
  if (!changed_.empty()) timer_.arm(services_.clock.now() + kSaveGap);
}

void ServerMemories::save(const std::string& key) {
  services_.store->save(key, memories_.at(key)->text());
}

}  // namespace stdgate::mcp
