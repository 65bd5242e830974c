#include "gateway/app/sealed_texts.h"

#include <algorithm>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/config/config_ranges.h"
#include "transports/auth/digest.h"

namespace stdgate::app {

namespace {

using std::chrono::milliseconds;

constexpr char kVersion = 1;
// Tells ids from whatever else the same keys may seal.
constexpr std::string_view kPurpose = "stdgate mcp session ";
constexpr size_t kWorkerDigits = 2;
// No time of ours is later: it is enough for 35,000 years, and sums of two do not overflow.
constexpr uint64_t kMaxMilliseconds = uint64_t{1} << 50;

// --- What is sealed: numbers with their highest byte first, texts behind their lengths ----------

void append_number(std::string& out, uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 255);
}

void append_text(std::string& out, std::string_view text) {
  STDGATE_CHECK(text.size() <= 255);
  out.append(1, static_cast<char>(text.size())).append(text);
}

// Takes from the front of `from`; false where it is too short.
bool take_number(std::string_view& from, uint64_t& number) {
  if (from.size() < 8) return false;
  number = 0;
  for (size_t i = 0; i < 8; ++i) number = number << 8 | static_cast<uint8_t>(from[i]);
  from.remove_prefix(8);
  return true;
}

bool take_text(std::string_view& from, std::string_view& text) {
  if (from.empty()) return false;
  const size_t size = static_cast<uint8_t>(from.front());
  if (from.size() < 1 + size) return false;
  text = from.substr(1, size);
  from.remove_prefix(1 + size);
  return true;
}

struct Carried {
  std::string_view backend;
  std::string_view principal_digest;
  uint64_t created = 0;  // milliseconds since 1970
  uint64_t ttl = 0;      // milliseconds
  std::string_view initialize;
};

std::string write(const Carried& carried) {
  std::string text{kVersion};
  append_text(text, carried.backend);
  append_text(text, carried.principal_digest);
  append_number(text, carried.created);
  append_number(text, carried.ttl);
  return text.append(carried.initialize);
}

std::optional<Carried> read(std::string_view text) {
  if (text.empty() || text.front() != kVersion) return std::nullopt;
  text.remove_prefix(1);
  Carried carried;
  const bool is_whole = take_text(text, carried.backend) &&
                        take_text(text, carried.principal_digest) &&
                        take_number(text, carried.created) && take_number(text, carried.ttl);
  if (!is_whole || carried.created > kMaxMilliseconds || carried.ttl > kMaxMilliseconds) {
    return std::nullopt;
  }
  carried.initialize = text;
  return carried;
}

// A digest that tells a principal from all others, in every process with the same keys; empty for
// an anonymous client.
std::string digest_of(const policy::Principal* principal) {
  if (principal == nullptr) return {};
  std::string text{static_cast<char>('0' + static_cast<int>(principal->kind))};
  append_number(text, principal->issuer.size());
  text.append(principal->issuer).append(principal->name);
  const auth::Digest digest = auth::Sha256().of(text);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string context_of(std::string_view front) { return std::string(kPurpose).append(front); }

}  // namespace

std::vector<seal::Key> session_keys(const config::SessionsConfig& config,
                                    const seal::RandomBytes& random) {
  if (!config.keys.empty()) return config.keys;
  std::vector<seal::Key> keys(1);
  random(keys.front());
  return keys;
}

std::string home_of(const std::string& replica, unsigned worker) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string home = replica.empty() ? "" : replica + ".";
  return home.append(1, kDigits[worker >> 4 & 15]).append(1, kDigits[worker & 15]);
}

std::optional<std::string_view> home_part(std::string_view text) {
  const size_t dot = text.find('.');
  const size_t home = (dot == std::string_view::npos ? 0 : dot + 1) + kWorkerDigits;
  if (text.size() <= home) return std::nullopt;
  return text.substr(0, home);
}

SealedSessionIds::SealedSessionIds(const std::vector<seal::Key>& keys, seal::RandomBytes random,
                                   const std::string& replica, unsigned worker, Duration ttl,
                                   const Clocks& clocks)
    : sealer_(keys, std::move(random)),
      front_(home_of(replica, worker)),
      ttl_(ttl),
      clocks_(clocks) {
  STDGATE_CHECK(worker < 256 && replica.size() <= config::kMaxReplicaName);
}

milliseconds SealedSessionIds::now() const {
  const WallTime time = clocks_.wall.at(clocks_.clock.now());
  return std::chrono::duration_cast<milliseconds>(time.time_since_epoch());
}

std::string SealedSessionIds::issue(const session::SessionFacts& facts) {
  const std::string digest = digest_of(facts.principal);
  Carried carried;
  carried.backend = facts.backend;
  carried.principal_digest = digest;
  carried.created = static_cast<uint64_t>(now().count());
  carried.ttl = static_cast<uint64_t>(std::chrono::duration_cast<milliseconds>(ttl_).count());
  if (facts.initialize.size() <= kMaxInitialize) carried.initialize = facts.initialize;
  std::string id = front_ + sealer_.seal(write(carried), context_of(front_));
  STDGATE_CHECK(id.size() <= kMaxId);
  return id;
}

SessionName SealedSessionIds::name_of(std::string_view id) const { return auth::session_name(id); }

std::optional<session::CarriedSession> SealedSessionIds::open(std::string_view id,
                                                              std::string_view backend,
                                                              const policy::Principal* principal) {
  const auto front = home_part(id);
  if (id.size() > kMaxId || !front) return std::nullopt;
  const auto plain = sealer_.open(id.substr(front->size()), context_of(*front));
  const auto carried = plain ? read(*plain) : std::nullopt;
  if (!carried || carried->backend != backend ||
      carried->principal_digest != digest_of(principal)) {
    return std::nullopt;
  }
  const milliseconds end(static_cast<int64_t>(carried->created + carried->ttl));
  // A clock that was set back makes no id live longer than its ttl.
  const milliseconds left = std::min(end - now(), milliseconds(static_cast<int64_t>(carried->ttl)));
  if (left <= milliseconds(0)) return std::nullopt;
  const milliseconds age = milliseconds(static_cast<int64_t>(carried->ttl)) - left;
  return session::CarriedSession{std::string(carried->initialize), left, age};
}

SealedStates::SealedStates(const std::vector<seal::Key>& keys, seal::RandomBytes random,
                           const std::string& replica, unsigned worker)
    : sealer_(keys, std::move(random)), front_(home_of(replica, worker)) {}

// The part before the sealed one is authenticated too, so that a text has one name.
std::string SealedStates::seal_named(std::string_view plain, std::string_view context) {
  return front_ + sealer_.seal_same(plain, std::string(context).append(1, '\0').append(front_));
}

std::optional<std::string> SealedStates::open_named(std::string_view sealed,
                                                    std::string_view context) {
  const auto front = home_part(sealed);
  if (!front) return std::nullopt;
  return sealer_.open(sealed.substr(front->size()),
                      std::string(context).append(1, '\0').append(*front));
}

}  // namespace stdgate::app
