// Claims: texts that a server gives a client to be brought back: the state of a call that wants
// input (MCP 2026-07-28, basic/patterns/mrtr), the id of a task (the extension
// io.modelcontextprotocol/tasks), the cursor of a list (server/utilities: pagination).
//
// Here are their places in messages, their sealed form (ClaimSeal), and the record of claims that
// children have given out (ClaimLedger). The ClaimFilter uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

// --- Places in messages. Pure; take time linear in the length of the text, which has been
// validated
enum class ClaimKind : uint8_t { state, task, cursor };

// A claim that was found in a message.
struct Claim {
  ClaimKind kind = ClaimKind::state;
  std::string_view raw;      // into the searched text: a JSON string; of a client any value
  bool is_listened = false;  // a task whose changes the request listens for
};

inline constexpr std::string_view kListenMethod = "subscriptions/listen";

// Whether requests of this method concern one task, or one page of a list.
inline bool is_about_task(std::string_view method) { return method.starts_with("tasks/"); }
inline bool is_about_list(std::string_view method) { return method.ends_with("/list"); }

// In the order of the text. `method` is decoded; `params` and `payload` are raw JSON.
std::vector<Claim> claims_of_request(std::string_view params, std::string_view method);
// Whether claims_of_request() may find claims in params that have been read so, for methods that
// are about no list, task or listening. Saves the search.
bool may_have_claims(const McpParams& read);
std::vector<Claim> claims_of_result(std::string_view payload, std::string_view method);
std::vector<Claim> claims_of_notification(std::string_view params, std::string_view method);

// The members of a result that describe its task, raw; empty: absent.
struct TaskFacts {
  std::string_view id;
  std::string_view status;
  std::string_view ttl_ms;
};
TaskFacts task_facts(std::string_view result);

// A part of a text, and its replacement.
struct TextEdit {
  std::string_view part;  // a view into the text
  std::string with;
};
// `edits`: in the order of their parts.
std::string with_edits(std::string_view text, std::span<const TextEdit> edits);

// The facts that are sealed with a claim.
struct GivenClaim {
  bool is_ours = false;  // sealed by this instance
  uint64_t child = 0;    // number of the child that has given it; 0: any child may get it
  uint64_t number = 0;   // of a state: its number
  TimePoint expires{};   // of a state
  std::string text;      // between its quotes, as the child has spelled it
};

// ClaimSeal: seals claims for clients, and opens the claims that clients bring back.
//
// A sealed claim holds the text that the child has written, and the number of that child. Only the
// same principal can use it, at the backend of the same name; all anonymous clients are one
// principal. Sealing a claim twice gives the same text, because clients compare ids. The child of a
// state or a task runs in one process of the gateway, so the number of that process's backend
// (`instance`) is sealed too. A cursor of another instance can be opened, and goes to any child.
// Owner: the ClaimFilter. Limits: kMaxText and kMaxTask bytes of a claim, as the child spells it.
class ClaimSeal {
 public:
  static constexpr size_t kMaxText = 1 << 20;
  // The id of a task stands in a header field too.
  static constexpr size_t kMaxTask = 1 << 10;

  // `services` must have states.
  explicit ClaimSeal(const pool::PoolServices& services) : services_(services) {}

  // Whether a claim with this text, as the child spells it, can be sealed.
  static bool fits(ClaimKind kind, std::string_view text);
  // `claim` has is_ours. Nothing: its text is too long.
  std::optional<std::string> seal(ClaimKind kind, const GivenClaim& claim,
                                  std::string_view identity);
  // `raw`: a JSON string of a client. Nothing: the text was not sealed for this identity and kind.
  [[nodiscard]] std::optional<GivenClaim> open(ClaimKind kind, std::string_view raw,
                                               std::string_view identity) const;

 private:
  [[nodiscard]] std::string context_of(ClaimKind kind, std::string_view identity) const;

  const pool::PoolServices& services_;
  std::optional<uint64_t> instance_;  // nothing: no claim has been sealed yet
};

// ClaimLedger: which children have given out claims that clients may bring back, and until when. A
// child with open claims is not ended for being idle.
//
// A state is open until it has come back or has expired. A task is open until its time to live is
// over, or for as long as a state after its client has been told of its end. A claim that found no
// room here is still served while its child runs. Owner: the ClaimFilter. Limits: for each child
// kMaxStates states and config.pool.tasks tasks; claims that end first go.
class ClaimLedger {
 public:
  static constexpr size_t kMaxStates = 1024;

  // `patience` may change during the life of the ledger.
  ClaimLedger(size_t max_tasks, const Duration& patience)
      : max_tasks_(max_tasks), patience_(patience) {}

  // The child has given out one more state. Returns its number, from 1.
  uint64_t add_state(uint64_t child, TimePoint now);
  // The expiry of a state that is given out now.
  [[nodiscard]] TimePoint expiry(TimePoint now) const { return now + patience_; }
  void close_state(uint64_t child, uint64_t number);
  // The state has not come back after all.
  void open_state(uint64_t child, uint64_t number, TimePoint expires) {
    children_[child].states.emplace(number, expires);
  }
  // A client has been told about a task. No `ttl`: the task lives without limit.
  void note_task(uint64_t child, std::string_view id, std::optional<Duration> ttl, bool has_ended,
                 TimePoint now);
  void lose(uint64_t child) { children_.erase(child); }

  // Until when the child is needed; min(): it is not needed.
  [[nodiscard]] TimePoint needed_until(uint64_t child, TimePoint now) const;
  [[nodiscard]] size_t states(uint64_t child, TimePoint now) const;
  [[nodiscard]] size_t tasks(uint64_t child, TimePoint now) const;

 private:
  struct Task {
    TimePoint begun{};
    TimePoint ends{};
  };
  struct Child {
    std::map<uint64_t, TimePoint> states;  // the end of each state, by its number
    std::map<std::string, Task, std::less<>> tasks;
  };

  static void drop_ended(Child& child, TimePoint now);

  const size_t max_tasks_;
  const Duration& patience_;
  std::map<uint64_t, Child> children_;
  uint64_t given_ = 0;
};

}  // namespace stdgate::mcp
