// ListedFilter: the filter that judges calls by the lists of their server: tools, prompts.
//
// Job: own the lists, and hand them to the judges (ListJudge): pins, checks. A call waits until its
// list is known, kMaxWait at most and within its deadline. The filter asks the server for all pages
// of the list; where a session has its own child, that child is asked. A child that does not answer
// within kMaxWait is not asked again while another one can be. It asks again when a list
// has changed or a child has ended. A judged call waits in the pool until the child's own list has
// been compared. A call whose list cannot be obtained is refused, because it cannot be judged.
// Owner: McpFilters. Limits: kMaxPages of a list; the chain's limits for calls that are held.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/call/chain.h"
#include "gateway/call/filter.h"
#include "gateway/mcp/list_requests.h"
#include "gateway/mcp/tool_lock.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

// Children that have been found, by number, those looked for last. Each number has one place.
class FoundChildren {
 public:
  [[nodiscard]] bool has(uint64_t child) const { return numbers_[child % kPlaces] == child; }
  void add(uint64_t child) { numbers_[child % kPlaces] = child; }
  void clear() { numbers_ = {}; }

 private:
  static constexpr size_t kPlaces = 4;
  std::array<uint64_t, kPlaces> numbers_{};  // no child has the number 0
};

class McpDialect;

class ListedFilter : public call::Filter {
 public:
  static constexpr size_t kMaxPages = 64;
  static constexpr size_t kMaxChanges = 4;  // of a list while one child is asked for it
  static constexpr Duration kMaxWait = ListRequests::kMaxWait;
  static constexpr Duration kAskAgain = std::chrono::seconds(5);

  ListedFilter(const pool::FilterServices& services, const McpDialect& dialect);

  // Requests pass the judges in this order, answers in the opposite one. The judge outlives the
  // filter's last call.
  void add(ListJudge& judge) {
    judges_.push_back(&judge);
    if (judge.sees_ends()) enders_.push_back(&judge);
  }

  void on_request(call::CallPtr& call, const call::Request& request) override;
  call::Passage on_notification(const call::Notification& notification) override;
  void on_released(call::CallPtr call, const call::Request& request) override;
  void on_answer(call::CallPtr& call, call::Answer& answer) override;
  void on_fault(call::CallPtr& call, const rpc::FaultReport& report) override;
  void on_end(const call::Call& call, call::End& end) override;
  bool admits(const call::Call& call, uint64_t child) override;
  bool on_child_message(call::ChildMessage& message) override;
  void on_child_gone(const call::ChildRef& child) override;
  void drop_kept() override;

  // --- For the judges
  // The child's list has to be asked for again, also by the calls of this scope.
  void distrust(ListScope scope, size_t list, uint64_t child);
  // Ends a client's request for a list whose answer has not one clear list (call/rule_filter.h).
  void refuse_list(call::CallPtr& call, size_t list, uint64_t child);
  // Asks the child with this number, unless it is being asked, or has just failed to answer.
  void ask_child(size_t list, uint64_t child);
  // From now on the answers to calls that are judged are shown too.
  void show_judged() { shows_judged_ = true; }
  // Calls that wait for a child are looked at again, soon.
  void look_again();
  [[nodiscard]] ListScope scope_of(const call::Call& call) const {
    return services_.config.isolation == config::Isolation::session ? scope_in_lane(call.session)
                                                                    : 0;
  }
  // Nothing: no child with this number runs.
  [[nodiscard]] std::optional<ListScope> scope_of_child(uint64_t child) const;

 private:
  static constexpr ListScope kOfChild = ListScope{1} << 63U;  // with its number: of one child
  struct Listing {
    bool is_known = false;
    bool is_asked = false;
    bool has_changed = false;  // since it was asked for
    size_t pages = 0;
    size_t failures = 0;                        // in a row
    uint64_t from = 0;                          // the child that has given the first page
    std::optional<rpc::FaultReport> refusal{};  // no child has room to be asked
    TimePoint not_before{};
    TimePoint until{};
  };
  struct State {
    bool is_own = false;  // the call asks for a list
    uint32_t judges = 0;  // the ones that judge the call by `list`, a bit each
    size_t list = 0;
    ListScope scope = 0;
    void clear() { *this = State(); }
  };
  using Key = ListRequests::Key;
  using Place = std::pair<size_t, uint64_t>;  // a list, and the number of a child

  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }
  // Of a session that has a child of its own, or had one.
  [[nodiscard]] ListScope scope_of(session::SessionId session) const;
  [[nodiscard]] ListScope scope_in_lane(session::SessionId session) const {
    return pool_.lane().has(session) ? scope_of(session) : 0;
  }
  [[nodiscard]] bool is_known(const Key& key) const {
    if (recent_ == nullptr || recent_->first != key) return finds_known(key);
    return recent_->second.is_known;
  }
  [[nodiscard, gnu::noinline]] bool finds_known(const Key& key) const;
  void forget(const Key& key);
  // Judges the call, now or when its list is known.
  void review(call::CallPtr& call, const call::Request& request, const State& state);
  [[gnu::noinline]] void wait(call::CallPtr& call, const call::Request& request);
  // An answer to the filter itself, or one that the judges see.
  [[gnu::noinline]] void take(call::CallPtr& call, call::Answer& answer, bool is_own);
  // `own`: of a call of the filter itself; null: it is another one.
  [[gnu::noinline]] void take_end(const call::Call& call, call::End& end, const State* own);
  void refuse(call::CallPtr call, const rpc::FaultReport& report);
  void ask(const Key& key, session::SessionId session, std::string_view cursor, uint64_t child);
  void begin_asking(const Key& key, session::SessionId session);
  void take_page(call::CallPtr call, const call::Answer& answer);
  void learn(const Key& key, const ListPage& page);
  void fail_asking(const Key& key, session::SessionId session);
  // A request for a list was not answered in time.
  void take_late(const Key& key, const call::Call& own);
  void end_asking(const Key& key, bool is_known);
  void end_asking_child(const Key& key, bool is_known);
  void forget_scope(ListScope scope);
  [[nodiscard]] bool is_failing(const Place& place) const;
  [[nodiscard]] bool may_get(const call::Call& call, const pool::Child& child) const;
  // Null: the call is not judged.
  [[nodiscard]] const State* judged(const call::Call& call) const;
  // The first judge of a judged call that satisfies `predicate`; null: none.
  template <class Predicate>
  [[nodiscard]] ListJudge* judge_of(const State& state, Predicate&& predicate) const;
  // Whether the child has been compared, and suits.
  [[nodiscard]] bool suits(const call::Call& call, const State& state, uint64_t child) const;
  [[nodiscard, gnu::noinline]] bool finds_compared(size_t list, uint64_t child) const;
  void forget_compared(const Place& place);
  // The child of this place may not get the call now: it is asked, or no child may get it.
  [[gnu::noinline]] void note_unsuited(const call::Call& call, const Place& place);
  // Whether no child that runs may get a judged call that waits.
  [[nodiscard]] bool is_hopeless(const call::Call& call) const;
  // Ends such a call.
  void give_up(call::CallPtr call);
  void settle();

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  call::Chain& chain_;
  std::vector<ListJudge*> judges_;
  std::vector<ListJudge*> enders_;  // those of them that see ends
  bool shows_judged_ = false;
  const call::Slot<State> states_;
  const McpDialect& dialect_;
  ListRequests requests_;
  std::map<Key, Listing> listings_;
  std::map<uint64_t, ListScope> scopes_;  // of the children that have given lists, by number
  mutable const std::map<Key, Listing>::value_type* recent_ = nullptr;  // asked about last
  uint64_t doubts_ = 0;       // grows when what was known is to be asked for again
  uint8_t place_ = 0;         // in the chain
  std::set<Place> compared_;  // the child's whole list is known, and no change has been told since
  mutable std::array<FoundChildren, kPinnedLists.size()> compared_lately_;  // some of them, by list
  std::vector<Place> wanted_;          // children that are to be asked
  std::map<Place, TimePoint> failed_;  // could not be asked; until when they are not asked again
  bool looks_again_ = false;           // at the calls that wait
  Timer settle_timer_;  // asking and refusing change the pool, which is at work in admits()
};

}  // namespace stdgate::mcp
