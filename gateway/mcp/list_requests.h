// The lists by which calls are judged: the judges, the request for a page, and the requests that
// are under way.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "gateway/base/time.h"
#include "gateway/call/call.h"
#include "gateway/call/filter.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/fault.h"
#include "gateway/session/sinks.h"

namespace stdgate::mcp {

// Identifies who shares a list: 0 for shared children, else a session or child.
using ListScope = uint64_t;

// A page of a list that the filter has asked for.
struct ListPage {
  ListScope scope = 0;       // one list at a time is asked for in a scope
  size_t list = 0;           // index in kPinnedLists
  uint64_t child = 0;        // the number of the one that has given it; 0: not known
  std::string_view payload;  // the result
  bool is_first = false;     // nothing of the same list came before
  bool is_last = false;
};

// ListJudge: judges calls by what their server lists: tools, prompts. ListedFilter asks for the
// lists, and hands them over.
class ListJudge {
 public:
  virtual ~ListJudge() = default;

  // The list that the call is judged by; nothing: the call is not judged. May take the call.
  virtual std::optional<size_t> on_request(call::CallPtr& call, const call::Request& request) = 0;
  virtual call::Passage on_notification(const call::Notification& notification) = 0;
  // The list is known. If the call is not taken, it goes on.
  virtual void judge(call::CallPtr& call, const call::Request& request) = 0;
  virtual void learn(const ListPage& page) = 0;
  // An answer to a call of a client that is not judged; of one that is: see show_judged().
  virtual void see(call::CallPtr& call, call::Answer& answer) = 0;
  // Whether it wants to be told of ends.
  [[nodiscard]] virtual bool sees_ends() const { return false; }
  virtual void on_end(const call::Call& /*call*/, call::End& /*end*/) {}
  virtual void forget_child(uint64_t child) = 0;
  // A child has told that its list is another one by now.
  virtual void on_changed(size_t /*list*/, uint64_t /*child*/) {}
  virtual void drop_kept() {}

  // --- Of a call that is judged
  // Whether this child, whose list is known, may get the call.
  [[nodiscard]] virtual bool suits(const call::Call& call, uint64_t child) const = 0;
  // Whether no child may get the call, whatever else they list.
  [[nodiscard]] virtual bool forbids(const call::Call& /*call*/) const { return false; }
  // Ends a call that it forbids.
  virtual void refuse(call::CallPtr /*call*/) {}
  // Whether a server that refuses to list has nothing. If not, its list is not known.
  [[nodiscard]] virtual bool takes_refusals() const { return true; }
};

class McpDialect;

// PageRequest: a page of a list that the gateway itself asks a child for.
struct PageRequest {
  std::string_view method;
  std::string_view cursor{};     // raw; empty: the first page
  session::SessionId session{};  // whose child it is; none: a shared one
  uint64_t child = 0;            // the only one that may answer; 0: any
};
struct PageServices {
  const pool::PoolServices& services;
  pool::Pool& pool;
  const McpDialect& dialect;
};
// No child takes the request. Its call lives as long as this, as others know it by now.
struct RefusedPage {
  rpc::FaultReport report;
  call::CallPtr call;
};
// Asks for the page. prepare(call) is called before the pool gets the call.
tl::expected<void, RefusedPage> ask_for_page(const PageRequest& page, const PageServices& from,
                                             const std::function<void(call::Call&)>& prepare);

// ListRequests: the gateway's own requests for lists that are under way, and the children that have
// left one unanswered.
//
// Job: take a request back when its child has had it for kMaxWait and another one can be asked,
// else for kMaxAlone. Signs of life of the child do not count: they would keep all calls of the
// backend waiting. Say which child to ask instead. Owner: ListedFilter. Limits: one request at a
// time for each key; the children that run.
class ListRequests {
 public:
  static constexpr Duration kMaxWait = std::chrono::seconds(5);
  // Where no other child can be asked: some servers are slow.
  static constexpr Duration kMaxAlone = std::chrono::seconds(30);

  using Key = std::pair<ListScope, size_t>;
  // A request that has been taken back.
  using OnLate = std::function<void(const Key& key, const call::Call& own)>;

  ListRequests(const pool::PoolServices& services, pool::Pool& pool, OnLate on_late);

  // The pool gets the call, and has it until remove().
  void add(const Key& key, call::Call& own);
  void remove(const Key& key);

  void note_answer(size_t list, uint64_t child) { silent_.erase({list, child}); }
  void forget_child(uint64_t child);
  // A child to ask for a list that all shared children may answer, if one of them has been silent;
  // 0: any.
  [[nodiscard]] uint64_t preferred_child(size_t list) const;

 private:
  struct Request {
    call::Call* own = nullptr;
    TimePoint due{};
  };

  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }
  void look();
  // When it is to be taken back, or looked at again.
  [[nodiscard]] TimePoint due_of(const call::Call& own) const;

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  const OnLate on_late_;
  std::map<Key, Request> requests_;
  std::set<std::pair<size_t, uint64_t>> silent_;  // a list, and the number of a child
  Timer timer_;
};

}  // namespace stdgate::mcp
