// ListedFilter: a filter that judges calls by what their server lists: tools, prompts.
//
// Job: have a call wait until the list that it is judged by is known, kMaxWait at most and within
// its deadline; ask the server for that list, all pages, of the child that the call is for where
// its session has one of its own; ask again when a list has changed or a child has ended. No child
// gets a judged call before its own list has been compared: until then the call waits in the pool.
// A call whose list cannot be had is refused: what cannot be judged does not pass. Owner: the
// backend. Limits: kMaxPages of a list; those of the chain for calls that are held.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/timers.h"
#include "gateway/call/chain.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

class McpDialect;

class ListedFilter : public call::Filter {
 public:
  static constexpr size_t kMaxPages = 64;
  static constexpr size_t kMaxChanges = 4;  // of a list while one child is asked for it
  static constexpr Duration kMaxWait = std::chrono::seconds(5);
  static constexpr Duration kAskAgain = std::chrono::seconds(5);

  void on_released(call::CallPtr call, const call::Request& request) override;
  void on_answer(call::CallPtr& call, call::Answer& answer) override;
  void on_fault(call::CallPtr& call, const rpc::FaultReport& report) override;
  void on_end(const call::Call& call, call::End& end) override;
  bool admits(const call::Call& call, uint64_t child) override;
  bool on_child_message(call::ChildMessage& message) override;
  void on_child_gone(const call::ChildRef& child) override;

 protected:
  // Whose lists are the same: 0: of all that share children; else of a session.
  using Scope = uint64_t;
  static constexpr Scope kOfChild = Scope{1} << 63U;  // with its number: of one child
  struct ListFacts {
    std::string_view method;
    std::string_view change;  // the notification that tells of its changes
  };
  // A page of a list.
  struct Page {
    Scope scope = 0;
    size_t list = 0;
    uint64_t child = 0;        // the number of the one that has given it; 0: not known
    std::string_view payload;  // the result
    bool is_first = false;     // nothing of the same list came before
    bool is_last = false;
    bool is_asked = false;  // by this filter, for all pages
    bool is_stale = false;  // a change has been told since it was asked for
  };

  // `lists` is a constant.
  ListedFilter(const pool::FilterServices& services, const McpDialect& dialect,
               std::span<const ListFacts> lists);

  // Judges the call, now or when its list is known.
  void review(call::CallPtr& call, const call::Request& request, size_t list);
  [[nodiscard]] bool is_known(Scope scope, size_t list) const;
  // From now on it has to be asked for again.
  void forget(Scope scope, size_t list);
  // Asks the child with this number, unless it is being asked, or has just failed to answer.
  void ask_child(size_t list, uint64_t child);
  // Calls that wait for a child are looked at again, soon.
  void look_again();
  // Of a session that has a child of its own, or had one.
  [[nodiscard]] Scope scope_of(session::SessionId session) const;
  [[nodiscard]] Scope scope_of(const call::Call& call) const {
    return pool_.lane().has(call.session) ? scope_of(call.session) : 0;
  }
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  // The list is known. If the call is not taken, it goes on.
  virtual void judge(call::CallPtr& call, const call::Request& request) = 0;
  virtual void learn(const Page& page) = 0;
  // An answer to a call of a client.
  virtual void see(call::CallPtr& call, call::Answer& answer) = 0;
  virtual void forget_child(const call::ChildRef& child) = 0;
  // A child has told that its list is another one by now.
  virtual void on_changed(size_t list, uint64_t child) = 0;
  // The list that says which children may get the call; nothing: any may.
  [[nodiscard]] virtual std::optional<size_t> needed_list(const call::Call& call) const = 0;
  // Whether all that the child lists is known.
  [[nodiscard]] virtual bool is_compared(size_t list, uint64_t child) const = 0;
  // Whether a child that is compared may get the call.
  [[nodiscard]] virtual bool suits(const call::Call& call, uint64_t child) const = 0;
  // Whether no child that runs may get a call that waits.
  [[nodiscard]] virtual bool is_hopeless(const call::Call& call, size_t list) const;
  // Ends such a call.
  virtual void give_up(call::CallPtr call);
  // Whether a server that refuses to list has nothing. If not, its list is not known.
  [[nodiscard]] virtual bool takes_refusals() const { return true; }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  call::Chain& chain_;

 private:
  struct Listing {
    bool is_known = false;
    bool is_asked = false;
    bool has_changed = false;  // since it was asked for
    size_t pages = 0;
    size_t failures = 0;  // in a row
    uint64_t from = 0;    // the child that has given the first page
    TimePoint not_before{};
    TimePoint until{};
  };
  struct State {
    bool is_own = false;  // it asks for a list
    size_t list = 0;
    Scope scope = 0;
    void clear() { *this = State(); }
  };
  using Key = std::pair<Scope, size_t>;
  struct Place {
    size_t list;
    uint64_t child;
    friend bool operator==(const Place&, const Place&) = default;
  };

  void wait(call::CallPtr& call, const call::Request& request, size_t list);
  void refuse(call::CallPtr call, const rpc::FaultReport& report);
  void ask(const Key& key, session::SessionId session, std::string_view cursor, uint64_t child);
  void begin_asking(const Key& key, session::SessionId session);
  void take_page(call::CallPtr call, const call::Answer& answer);
  void fail_asking(const Key& key, session::SessionId session);
  void end_asking(const Key& key, bool is_known);
  void end_asking_child(const Key& key, bool is_known);
  void forget_scope(Scope scope);
  [[nodiscard]] bool is_failing(const Place& place) const;
  [[nodiscard]] bool may_get(const call::Call& call, const pool::Child& child) const;
  void settle();

  const std::span<const ListFacts> lists_;
  const call::Slot<State> states_;
  const McpDialect& dialect_;
  std::map<Key, Listing> listings_;
  uint8_t place_ = 0;          // in the chain
  std::vector<Place> wanted_;  // children that are to be asked
  // Children that could not be asked, and until when they are not asked again.
  std::vector<std::pair<Place, TimePoint>> failed_;
  bool looks_again_ = false;  // at the calls that wait
  Timer settle_timer_;        // asking and refusing change the pool, which is at work in admits()
};

}  // namespace stdgate::mcp
