// Account: bounds and counts the bytes that are kept for one holder: a client, a backend, or all of
// them. Share: the part of an account that one object holds. A share ends with its object, and an
// account with its last share.
//
// Accounts form a tree: the gateway's at the root, below it the accounts of clients and backends. A
// charge to an account is a charge to its parent too. The charge is the memory that is allocated
// (capacity), not the bytes in use. A charge is never refused. Code that keeps refusable bytes asks
// lack() before, or right after, and drops them if need be. Unsent bytes cannot be refused, so the
// AccountEvents of the root hear of them.
// Owner: policy::Accounts, which outlives all shares. Limit: a bound in bytes for each account. A
// charge costs a few instructions, and allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate {

class Account;

// Hears of accounts that are no longer in use.
class AccountKeeper {
 public:
  virtual ~AccountKeeper() = default;
  virtual void on_unused(Account& account) = 0;
};

// May be called from within a call of the core: implementations must not close connections.
class AccountEvents {
 public:
  virtual ~AccountEvents() = default;
  // Unsent bytes have taken an account, or the root, beyond its bound.
  virtual void on_account_over() = 0;
};
// Why no more bytes may be kept for the holder of an account.
enum class MemoryLack : uint8_t {
  none,
  of_holder,   // beyond its own bound
  of_gateway,  // it holds more than is left for all others
};

class Account {
 public:
  // From this part of the bound on, an account counts as near its bound.
  static constexpr double kTight = 0.85;

  // Makes the root.
  explicit Account(size_t bound) : bound_(bound), tight_(tight_part(bound)) {}
  // `keeper`: null: no keeper hears of it.
  Account(Account& parent, size_t bound, AccountKeeper* keeper = nullptr)
      : parent_(&parent),
        keeper_(keeper),
        bound_(bound),
        tight_(tight_part(bound)),
        may_hold_all_(bound >= parent.bound_) {}
  ~Account() { STDGATE_CHECK(users_ == 0 && used_ == 0); }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  // The new bound holds from now on. The parent's bound has to be set first.
  void set_bound(size_t bound) {
    bound_ = bound;
    tight_ = tight_part(bound);
    may_hold_all_ = parent_ == nullptr || bound >= parent_->bound_;
  }
  // Only for the root. Null: no events.
  void set_events(AccountEvents* events) { events_ = events; }
  // `on_tight`: an account, or the root, has come near its bound. Called once, until there is room
  // again. Only for the root. Null: not called.
  void set_watch(std::function<void()> on_tight) { on_tight_ = std::move(on_tight); }

  [[nodiscard]] size_t used() const { return used_; }
  [[nodiscard]] size_t bound() const { return bound_; }
  [[nodiscard]] size_t left() const { return bound_ > used_ ? bound_ - used_ : 0; }
  // Whether the account holds more than its own bound.
  [[nodiscard]] bool is_beyond_bound() const { return used_ > bound_; }
  // Whether this account or the root is beyond its bound.
  [[nodiscard]] bool is_over() const {
    return is_beyond_bound() || (parent_ != nullptr && parent_->is_beyond_bound());
  }
  // Unless it may hold all, no account may hold more than what is left for all others. When little
  // is left, the largest holders are refused first, and an account that holds nothing is never
  // refused.
  [[nodiscard]] MemoryLack lack() const {
    if (is_beyond_bound()) return MemoryLack::of_holder;
    return used_ > most() ? MemoryLack::of_gateway : MemoryLack::none;
  }

 private:
  friend class AccountRef;
  friend class Share;

  static size_t tight_part(size_t bound) {
    return static_cast<size_t>(static_cast<double>(bound) * kTight);
  }
  // What it may hold, if it is not beyond its bound.
  [[nodiscard]] size_t most() const {
    if (parent_ == nullptr) return bound_;
    return may_hold_all_ && !parent_->is_beyond_bound() ? bound_ : parent_->left();
  }
  void change(size_t from, size_t to);
  void tell_over() {
    AccountEvents* const events = parent_ == nullptr ? events_ : parent_->events_;
    if (events != nullptr && is_over()) events->on_account_over();
  }

  Account* const parent_ = nullptr;
  AccountKeeper* const keeper_ = nullptr;
  AccountEvents* events_ = nullptr;
  std::function<void()> on_tight_;
  size_t bound_;
  size_t tight_;
  bool may_hold_all_ = true;  // its bound is not below its parent's
  size_t used_ = 0;
  size_t users_ = 0;  // AccountRefs
  bool is_tight_ = false;
};

// Keeps an account in use. Not thread-safe, like all accounting.
class AccountRef {
 public:
  AccountRef() = default;
  explicit AccountRef(Account* account) : account_(account) {
    if (account_ != nullptr) ++account_->users_;
  }
  AccountRef(const AccountRef& other) : AccountRef(other.account_) {}
  AccountRef(AccountRef&& other) noexcept : account_(std::exchange(other.account_, nullptr)) {}
  AccountRef& operator=(AccountRef other) noexcept {
    std::swap(account_, other.account_);
    return *this;
  }
  ~AccountRef() {
    if (account_ == nullptr || --account_->users_ > 0) return;
    if (account_->keeper_ != nullptr) account_->keeper_->on_unused(*account_);
  }

  [[nodiscard]] Account* get() const { return account_; }
  Account* operator->() const { return account_; }

 private:
  Account* account_ = nullptr;
};

// The purpose for which bytes are kept.
enum class Holding : uint8_t {
  receiving,  // received parts of bodies, messages and header blocks, and what waits for its turn
  unsent,     // answers and events that their receivers have not taken
  calls,      // calls that wait, are parked, or listen
  sessions,   // facts about sessions, and their subscriptions
  replay,     // events for clients that come back
  caches,     // answers that may be given again
};
inline constexpr size_t kHoldingCount = static_cast<size_t>(Holding::caches) + 1;
// Constant, snake case: a metric label.
constexpr std::string_view holding_name(Holding holding) {
  constexpr std::array<std::string_view, kHoldingCount> kNames = {"receiving", "unsent", "calls",
                                                                  "sessions",  "replay", "caches"};
  return kNames[static_cast<size_t>(holding)];
}

// The bytes that are kept at one backend, or at none, for all clients together.
struct HeldBytes {
  std::array<size_t, kHoldingCount> of{};

  [[nodiscard]] size_t total() const {
    size_t sum = 0;
    for (const size_t bytes : of) sum += bytes;
    return sum;
  }
};

// The account that bytes are charged to, and the place where they are counted. Without an account
// nothing is charged.
struct Payer {
  Account* account = nullptr;
  HeldBytes* held = nullptr;

  friend bool operator==(const Payer&, const Payer&) = default;
};

class Share {
 public:
  Share() = default;  // charges nothing, see Payer
  Share(const Payer& payer, Holding holding)
      : account_(payer.account), held_(payer.held), holding_(holding) {}
  Share(Share&& other) noexcept
      : account_(std::move(other.account_)),
        held_(other.held_),
        bytes_(std::exchange(other.bytes_, 0)),
        holding_(other.holding_) {}
  Share& operator=(Share&& other) noexcept;
  ~Share() { set(0); }

  // Replaces the number of bytes.
  void set(size_t bytes) {
    if (bytes != bytes_) change(bytes);
  }
  void add(size_t bytes) { set(bytes_ + bytes); }
  // Another payer pays from now on, for the present bytes too.
  void move_to(const Payer& payer) {
    if (payer != this->payer()) move(payer);
  }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] Payer payer() const { return {account_.get(), held_}; }
  [[nodiscard]] Account* account() const { return account_.get(); }
  [[nodiscard]] bool is_over() const { return account() != nullptr && account()->is_over(); }
  [[nodiscard]] MemoryLack lack() const {
    return account() == nullptr ? MemoryLack::none : account()->lack();
  }

 private:
  void change(size_t bytes);
  void move(const Payer& payer);

  AccountRef account_;
  HeldBytes* held_ = nullptr;
  size_t bytes_ = 0;
  Holding holding_ = Holding::receiving;
};

}  // namespace stdgate
