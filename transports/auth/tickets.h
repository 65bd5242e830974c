// Tickets: words that stand for a credential once, for a short time, at one path.
//
// Job: let who can send no header field (a page that opens a WebSocket or an EventSource) show that
// it has sent a credential a moment before. A ticket is taken by the first request that shows it,
// at whatever path. Randomness and time are passed in. Owner: the generation; a reload forgets all
// of them. Limits: kMaxTickets that are good, kMaxOfOne of one principal, kLife.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/base/time.h"
#include "transports/auth/authenticator.h"

namespace stdgate::auth {

class Tickets {
 public:
  static constexpr size_t kMaxTickets = 4096;
  static constexpr size_t kMaxOfOne = 64;
  static constexpr Duration kLife = std::chrono::seconds(10);

  using RandomBytes = std::function<void(std::span<uint8_t> out)>;
  Tickets(const Clock& clock, RandomBytes fill_random)
      : clock_(clock), fill_random_(std::move(fill_random)) {}

  // Makes a ticket for a known client. Nothing: there are too many, or too many of his.
  std::optional<std::string> issue(const Identity& identity, std::string_view path);
  // The client that got the ticket, with Identity::is_for_once; nothing: it is unknown, not good
  // any more, or for another path.
  std::optional<Identity> redeem(std::string_view ticket, std::string_view path);
  void forget_all();
  [[nodiscard]] size_t size() const { return tickets_.size(); }

 private:
  struct Entry {
    Identity identity;
    std::string path;
    TimePoint expires{};
  };
  using Table = std::unordered_map<std::string, Entry>;

  void drop_expired();
  Entry take(Table::iterator place);

  const Clock& clock_;
  const RandomBytes fill_random_;
  Table tickets_;
  std::deque<std::pair<TimePoint, std::string>> by_age_;  // used ones included
  std::unordered_map<std::string, size_t> of_principals_;
};

}  // namespace stdgate::auth
