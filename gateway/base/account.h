// Account: the bytes that are kept for somebody: for a client, for a backend, for all of them.
// Share: what one object has of an account. It ends with the object, and the account with its last
// share.
//
// Accounts form a tree: the gateway's at the root, below it those of clients and of backends. What
// is charged to one is charged to its parent too. Charged is the memory that is taken (capacity),
// not what stands in it. A charge is never refused: who is about to keep something that can be
// refused asks lack() first, or right after, and lets it go again. Unsent bytes cannot be refused,
// so the AccountEvents of the root hear of them.
// Owner: policy::Accounts, which outlives all shares. Limit: a bound in bytes each. A charge costs
// a few instructions, and allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate {

class Account;

// Hears of accounts that nobody uses any more.
class AccountKeeper {
 public:
  virtual ~AccountKeeper() = default;
  virtual void on_unused(Account& account) = 0;
};

// Called possibly from within a call of the core: implementations must not close connections.
class AccountEvents {
 public:
  virtual ~AccountEvents() = default;
  // By unsent bytes: those of an account, or of all, have become more than its bound.
  virtual void on_account_over() = 0;
};
class AccountWatch {
 public:
  virtual ~AccountWatch() = default;
  // An account, or that of all, has come near its bound. Once, until there is room again.
  virtual void on_account_tight() = 0;
};

// Why no more is to be kept for the holder of an account.
enum class MemoryLack : uint8_t {
  none,
  of_holder,   // its own bound
  of_gateway,  // it holds more than is left for all others
};

class Account {
 public:
  // The part of the bound from which on it is near.
  static constexpr double kTight = 0.85;

  // The root.
  explicit Account(size_t bound) : bound_(bound), tight_(tight_part(bound)) {}
  // `keeper`: null: nobody is told.
  Account(Account& parent, size_t bound, AccountKeeper* keeper = nullptr)
      : parent_(&parent),
        keeper_(keeper),
        bound_(bound),
        tight_(tight_part(bound)),
        may_hold_all_(bound >= parent.bound_) {}
  ~Account() { STDGATE_CHECK(users_ == 0 && used_ == 0); }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  // From now on. The parent's first.
  void set_bound(size_t bound) {
    bound_ = bound;
    tight_ = tight_part(bound);
    may_hold_all_ = parent_ == nullptr || bound >= parent_->bound_;
  }
  // The root's only; null: nobody.
  void set_events(AccountEvents* events) { events_ = events; }
  void set_watch(AccountWatch* watch) { watch_ = watch; }

  [[nodiscard]] size_t used() const { return used_; }
  [[nodiscard]] size_t bound() const { return bound_; }
  [[nodiscard]] size_t left() const { return bound_ > used_ ? bound_ - used_ : 0; }
  // More than its own bound.
  [[nodiscard]] bool is_beyond_bound() const { return used_ > bound_; }
  // The same, or all together hold more than they may.
  [[nodiscard]] bool is_over() const {
    return is_beyond_bound() || (parent_ != nullptr && parent_->is_beyond_bound());
  }
  // Nobody holds more than what is left for all others, unless it may hold all: as that becomes
  // less, those who hold most are refused first, and who holds nothing never.
  [[nodiscard]] MemoryLack lack() const {
    if (is_beyond_bound()) return MemoryLack::of_holder;
    if (parent_ == nullptr) return MemoryLack::none;
    const size_t most = may_hold_all_ && !parent_->is_beyond_bound() ? bound_ : parent_->left();
    return used_ > most ? MemoryLack::of_gateway : MemoryLack::none;
  }
  [[nodiscard]] bool takes_more() const { return lack() == MemoryLack::none; }

 private:
  friend class AccountRef;
  friend class Share;

  static size_t tight_part(size_t bound) {
    return static_cast<size_t>(static_cast<double>(bound) * kTight);
  }
  void change(size_t from, size_t to) {
    STDGATE_CHECK(from <= used_);
    used_ = used_ - from + to;
    if (parent_ != nullptr) parent_->change(from, to);
    if (!is_tight_ && used_ > tight_) {
      is_tight_ = true;
      AccountWatch* const watch = parent_ == nullptr ? watch_ : parent_->watch_;
      if (watch != nullptr) watch->on_account_tight();
    } else if (is_tight_ && used_ < tight_ - tight_ / 16) {
      is_tight_ = false;
    }
  }
  void tell_over() {
    AccountEvents* const events = parent_ == nullptr ? events_ : parent_->events_;
    if (events != nullptr && is_over()) events->on_account_over();
  }

  Account* const parent_ = nullptr;
  AccountKeeper* const keeper_ = nullptr;
  AccountEvents* events_ = nullptr;
  AccountWatch* watch_ = nullptr;
  size_t bound_;
  size_t tight_;
  bool may_hold_all_ = true;  // that its parent may
  size_t used_ = 0;
  size_t users_ = 0;  // AccountRefs
  bool is_tight_ = false;
};

// Keeps an account known. Not thread-safe, as all that is charged.
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

// What bytes are kept for.
enum class Holding : uint8_t {
  receiving,  // what has come of bodies, messages and header blocks, and what waits for its turn
  unsent,     // answers and events that their receivers have not taken
  calls,      // calls that wait, are parked, or listen
  sessions,   // what is known of sessions, and what they have subscribed to
  replay,     // events for clients that come back
  caches,     // answers that may be given again
};
inline constexpr size_t kHoldingCount = static_cast<size_t>(Holding::caches) + 1;
// Snake case, constant: metric label.
constexpr std::string_view holding_name(Holding holding) {
  constexpr std::array<std::string_view, kHoldingCount> kNames = {"receiving", "unsent", "calls",
                                                                  "sessions",  "replay", "caches"};
  return kNames[static_cast<size_t>(holding)];
}

// What is kept at one backend, or at none, whoever it is kept for.
struct HeldBytes {
  std::array<size_t, kHoldingCount> of{};

  [[nodiscard]] size_t total() const {
    size_t sum = 0;
    for (const size_t bytes : of) sum += bytes;
    return sum;
  }
};

// To whom bytes are charged, and where they are counted. Without an account nothing is charged.
struct Payer {
  Account* account = nullptr;
  HeldBytes* held = nullptr;

  friend bool operator==(const Payer&, const Payer&) = default;
};

class Share {
 public:
  Share() = default;  // see Payer
  Share(const Payer& payer, Holding holding)
      : account_(payer.account), held_(payer.held), holding_(holding) {}
  Share(Share&& other) noexcept
      : account_(std::move(other.account_)),
        held_(other.held_),
        bytes_(std::exchange(other.bytes_, 0)),
        holding_(other.holding_) {}
  Share& operator=(Share&& other) noexcept {
    set(0);
    account_ = std::move(other.account_);
    held_ = other.held_;
    bytes_ = std::exchange(other.bytes_, 0);
    holding_ = other.holding_;
    return *this;
  }
  ~Share() { set(0); }

  // So many from now on.
  void set(size_t bytes) {
    if (bytes != bytes_) change(bytes);
  }
  void add(size_t bytes) { set(bytes_ + bytes); }
  // From now on somebody else pays, for what there is too.
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
  void change(size_t bytes) {
    if (account_.get() == nullptr) return;
    const bool has_grown = bytes > bytes_;
    if (held_ != nullptr) held_->of[static_cast<size_t>(holding_)] += bytes - bytes_;
    account_->change(std::exchange(bytes_, bytes), bytes);
    if (has_grown && holding_ == Holding::unsent) account_->tell_over();
  }
  void move(const Payer& payer) {
    const size_t bytes = bytes_;
    set(0);
    account_ = AccountRef(payer.account);
    held_ = payer.held;
    set(bytes);
  }

  AccountRef account_;
  HeldBytes* held_ = nullptr;
  size_t bytes_ = 0;
  Holding holding_ = Holding::receiving;
};

}  // namespace stdgate
