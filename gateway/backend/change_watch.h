// ChangeWatch: sees in what shared children say that something the gateway may know of them is not
// true any more.
//
// Stands before the ChildListener that decides which clients get it, and passes everything on.
// Owner: the backend.
#pragma once

#include <string>
#include <string_view>

#include "gateway/pool/child.h"
#include "gateway/pool/child_listener.h"
#include "gateway/pool/dialect.h"

namespace stdgate::backend {

// Implemented by the backend.
class ChangeListener {
 public:
  virtual ~ChangeListener() = default;
  // A list (Audience::list), or what subscribers are told of.
  virtual void on_changed(const pool::Audience& audience) = 0;
  // A child says that lists have changed: of this session alone, or (none) a shared one.
  virtual void on_lists_changed(session::SessionId of, uint8_t lists) = 0;
  // A shared child has gone; the next one may be another program.
  virtual void on_restart(const pool::Child& child) = 0;
};

class ChangeWatch final : public pool::ChildListener {
 public:
  ChangeWatch(const pool::Dialect& dialect, pool::ChildListener& next, ChangeListener& changes)
      : dialect_(dialect), next_(next), changes_(changes) {}

  void on_event(const call::Call& call, const rpc::Envelope& notification,
                TextPlace progress_token) override;
  void on_notification(pool::Child& child, const rpc::Envelope& notification,
                       std::string_view method) override;
  void on_request(pool::Child& child, const rpc::Envelope& request,
                  std::string_view method) override {
    next_.on_request(child, request, method);
  }
  void on_spare_room(pool::Child& child) override { next_.on_spare_room(child); }
  void on_child_gone(const pool::Child& child) override {
    if (child.isolation() == config::Isolation::shared) changes_.on_restart(child);
    next_.on_child_gone(child);
  }
  [[nodiscard]] TimePoint works_until(uint64_t child) const override {
    return next_.works_until(child);
  }
  [[nodiscard]] TimePoint needed_until(uint64_t child) const override {
    return next_.needed_until(child);
  }

 private:
  void note(const rpc::Envelope& notification, std::string_view method);

  const pool::Dialect& dialect_;
  pool::ChildListener& next_;
  ChangeListener& changes_;
  std::string method_;  // scratch
};

}  // namespace stdgate::backend
