// PinFilter: lets clients see and use only what is pinned of a server (tool_lock.h).
//
// Job: take out of lists what is new, or not as it was pinned; refuse calls of it, as if it did not
// exist; know from lists of its own, of each child, which pinned names a server has turned into
// something else. No child gets a call of a pinned name before its list has been compared: until
// then the call waits in the pool. One child that has turned a name is enough: the name is refused
// at all. With `warn` nothing is refused, and what differs is told. Owner: the backend. Limits:
// those of the lock file; a name that is not pinned is never kept, but for kMaxTold that are told.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/timers.h"
#include "gateway/mcp/listed_filter.h"
#include "gateway/mcp/tool_lock.h"

namespace stdgate::mcp {

class McpDialect;

class PinFilter final : public ListedFilter {
 public:
  static constexpr size_t kMaxTold = 1000;

  PinFilter(const pool::FilterServices& services, const McpDialect& dialect, ToolLock lock);
  ~PinFilter() override;

  void on_request(call::CallPtr& call, const call::Request& request) override;
  call::Passage on_notification(const call::Notification& notification) override;
  bool admits(const call::Call& call, uint64_t child) override;
  bool on_child_message(call::ChildMessage& message) override;
  void on_end(const call::Call& call, call::End& end) override;

 private:
  using Names = std::set<std::string, std::less<>>;
  using Counts = std::array<uint32_t, kPinStateCount>;
  // What a child has shown of a list.
  struct Shown {
    Names turned;           // pinned, and another thing
    Names asked;            // the same, while the list is being asked for
    Names back;             // a child has turned them, and now they are as they were pinned
    Counts counts{};        // of the pages so far
    bool is_whole = false;  // all of it has been compared, and no change has been told since
  };
  // Of a call that asks for a list, or uses what is on one.
  struct State {
    bool has_cursor = false;
    size_t list = 0;
    const std::string* name = nullptr;  // what it uses, a name of the lock; null: nothing
    bool is_fresh = false;              // what it uses is not pinned
    void clear() { *this = State(); }
  };
  struct Place {
    size_t list;
    uint64_t child;
    friend bool operator==(const Place&, const Place&) = default;
  };

  void judge(call::CallPtr& call, const call::Request& request) override;
  void learn(const Page& page) override;
  void see(call::CallPtr& call, call::Answer& answer) override;
  void forget_child(const call::ChildRef& child) override;
  void on_asked(size_t list, uint64_t child, bool is_known) override;
  [[nodiscard]] bool takes_refusals() const override { return false; }

  [[nodiscard]] bool enforces() const { return services_.config.pins == config::Pins::enforce; }
  [[nodiscard]] bool is_turned(size_t list, std::string_view name) const;
  void refuse(call::CallPtr call, std::string_view method, policy::ElementKind kind,
              std::string_view name, std::string_view why);
  // Whether it is shown to clients.
  bool note(size_t list, std::string_view element, Shown* shown, Counts& counts);
  void tell(size_t list, std::string_view name, PinState state);
  void count(size_t list, const Counts& counts);
  [[nodiscard]] bool is_compared(size_t list, uint64_t child) const;
  [[nodiscard]] bool is_failing(const Place& place) const;
  [[nodiscard]] bool has_failed(const call::Call& call, size_t list) const;
  void look_again();
  void settle();

  const ToolLock lock_;
  const call::Slot<State> states_;
  std::array<std::map<uint64_t, Shown>, kPinnedKinds> shown_;  // by number of the child
  std::array<Counts, kPinnedKinds> counts_{};
  Names told_;
  std::vector<Place> wanted_;  // children that are to be asked
  // Children that could not be asked, and until when they are not asked again.
  std::vector<std::pair<Place, TimePoint>> failed_;
  bool looks_again_ = false;  // at the calls that wait
  Timer settle_timer_;        // asking and refusing change the pool, which is at work in admits()
  std::string cut_;           // scratch
  std::string scratch_;       // the same
};

}  // namespace stdgate::mcp
