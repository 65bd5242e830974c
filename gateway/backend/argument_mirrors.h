// ArgumentMirrors: holds calls of tools against what their clients repeat of the arguments beside
// the message (see MirrorDialect). The one place that compares both.
//
// Job: know the marked arguments of the backend's tools: from the lists that children answer, and
// from one list of its own, which is asked when a tool is called that is not known. Calls wait for
// it, in the order of their arrival, kMaxWait at most and within their deadlines. A tool that is
// still not known then is not compared. A list that has changed is asked for again, and one that
// could not be had, after kAskAgain. A session's own child does not say what other clients have to
// repeat.
// Owner: the backend. Limits: kMaxTools tools with marks, whose texts have kMaxTextBytes, and
// kMaxMarks marks each, others are not known; kMaxPages parts of the list; those of a pool's queue
// for calls that wait.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/timers.h"
#include "gateway/call/call_queue.h"
#include "gateway/pool/mirror_dialect.h"
#include "gateway/pool/pool.h"

namespace stdgate::backend {

// What becomes of a call that has been held against what is repeated of it.
class MirrorOwner {
 public:
  virtual ~MirrorOwner() = default;
  virtual void pass_on(call::CallPtr call, const call::Outgoing& message) = 0;
  virtual void refuse_mirrored(call::CallPtr call, const std::string& why) = 0;
};

class ArgumentMirrors {
 public:
  static constexpr size_t kMaxTools = 512;
  static constexpr size_t kMaxMarks = pool::MirrorDialect::kMaxMarks;
  static constexpr size_t kMaxTextBytes = 256 << 10;
  static constexpr size_t kMaxPages = 16;
  static constexpr Duration kMaxWait = std::chrono::seconds(5);
  static constexpr Duration kAskAgain = std::chrono::minutes(1);

  // `pool` may not be constructed yet. The dialect has a MirrorDialect.
  ArgumentMirrors(const pool::PoolServices& services, pool::Pool& pool, pool::PoolEvents& events,
                  MirrorOwner& owner);
  ArgumentMirrors(const ArgumentMirrors&) = delete;
  ArgumentMirrors& operator=(const ArgumentMirrors&) = delete;

  // Takes a call of a modern client, to pass it on at once or later, or to refuse it. `fields`:
  // what is repeated.
  void take(call::CallPtr call, const call::Outgoing& message, const rpc::Envelope& request,
            std::string_view fields);
  // The answer to a list of its own. False: it is that of another call.
  bool take_answer(const call::Call& call, const rpc::Envelope& answer);
  bool take_fault(const call::Call& call);
  // The answer to a client's call, which may be such a list.
  void learn(const call::Call& call, std::string_view method, const rpc::Envelope& answer);
  // The list is another one now; or it may be, as there is a new child.
  void note_change(uint8_t lists);
  void note_restart() { is_known_ = false; }

  // The calls of this client that wait here.
  std::vector<call::CallPtr> withdraw(session::Caller caller);
  [[nodiscard]] size_t held() const { return held_.size(); }
  template <class Visitor>
  void for_each_call(Visitor&& visit) const {
    held_.for_each_call(visit);
  }

 private:
  [[nodiscard]] const pool::MirrorDialect& dialect() const { return *services_.dialect.mirrors(); }
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }
  [[nodiscard]] bool is_own(const call::Call& call) const {
    return call.caller == session::Callers::kGateway && !call.is_own && !call.alone &&
           !call.listens;
  }
  // Whether the call is to wait for a list.
  bool is_unsettled(std::string_view tool);
  void judge(call::CallPtr call, const call::Outgoing& message, const rpc::Envelope& request,
             std::string_view fields);
  // `child`: the number of the one that has given the cursor; 0: any may answer.
  void ask(std::string_view cursor, uint64_t child);
  void end_asking(bool is_known);
  void look_at_time();
  void release();
  void keep(const pool::ToolPage& page);
  void remove(std::string_view name);

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  pool::PoolEvents& events_;
  MirrorOwner& owner_;
  std::map<std::string, pool::MarkedTool, std::less<>> tools_;  // by name
  size_t text_bytes_ = 0;                                       // of these
  bool is_known_ = false;     // every tool that has marks is in the table, as far as there is room
  bool is_asked_ = false;     // a list of its own is under way
  bool has_changed_ = false;  // since it was asked
  size_t pages_ = 0;          // of it
  TimePoint not_before_{};    // the next one
  call::CallQueue held_;
  TimePoint until_{};  // they wait for the list
  Timer timer_;        // some of them have waited long enough
  std::string tool_;   // scratch
};

}  // namespace stdgate::backend
