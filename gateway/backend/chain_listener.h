// ChainListener: passes messages of children through the filters of the chain, and what the filters
// let through to the listener that decides which clients get it.
//
// Owner: the backend.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/backend/session_delivery.h"
#include "gateway/backend/sleeping_server.h"
#include "gateway/call/chain.h"
#include "gateway/pool/child.h"
#include "gateway/pool/pool_events.h"

namespace stdgate::backend {

class ChainListener final : public pool::ChildListener {
 public:
  // `sleeping` may not be constructed yet.
  ChainListener(call::Chain& chain, SessionDelivery& next, ListNotices& notices,
                const std::unique_ptr<SleepingServer>& sleeping)
      : chain_(chain), next_(next), notices_(notices), sleeping_(sleeping) {}

  void on_event(const call::Call& call, const rpc::Envelope& notification,
                TextPlace progress_token) override;
  void on_notification(pool::Child& child, const rpc::Envelope& notification,
                       std::string_view method) override;
  void on_request(pool::Child& child, const rpc::Envelope& request,
                  std::string_view method) override {
    next_.on_request(child, request, method);
  }
  [[nodiscard]] bool admits(const call::Call& call, uint64_t child) override {
    return chain_.admits(call, child);
  }
  void on_spare_room(pool::Child& child) override { next_.on_spare_room(child); }
  void on_child_gone(const pool::Child& child) override;
  [[nodiscard]] TimePoint works_until(uint64_t child) const override {
    return std::max(chain_.needed_until(child), next_.works_until(child));
  }
  [[nodiscard]] TimePoint needed_until(uint64_t child) const override {
    return std::max(chain_.needed_until(child), next_.needed_until(child));
  }
  void on_greeted_again(std::string_view params, const rpc::Envelope& answer) override {
    if (sleeping_ != nullptr) sleeping_->note_greeting(params, answer);
  }
  bool let_sleep(const pool::Child& child) override {
    return sleeping_ != nullptr && sleeping_->let_sleep(child);
  }

 private:
  call::Chain& chain_;
  SessionDelivery& next_;
  ListNotices& notices_;
  const std::unique_ptr<SleepingServer>& sleeping_;  // null: nothing is remembered
  std::string method_;                               // scratch
};

}  // namespace stdgate::backend
