// PinJudge: lets clients see and use only the pinned elements of a server (tool_lock.h).
//
// Job: remove elements from lists if they are not pinned or have changed since. Refuse calls of
// them, as if they did not exist. Learn from the whole list of each child which pinned names the
// server has turned into something else, or does not show. If one child has turned a name, the name
// is refused at all children. A child that does not show a name gets no call of it. With `warn`
// nothing is refused, and differences are logged. Owner: JudgingFilter. Limits:
// the limits of the lock file. Names that are not pinned are not kept, except hashes of kMaxTold
// that were logged.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "gateway/mcp/listed_filter.h"
#include "gateway/mcp/tool_lock.h"

namespace stdgate::mcp {

class PinJudge final : public ListJudge {
 public:
  static constexpr size_t kMaxTold = 1000;

  PinJudge(const pool::FilterServices& services, ListedFilter& lists, ToolLock lock);
  ~PinJudge() override;

  std::optional<size_t> on_request(call::CallPtr& call, const call::Request& request) override;
  call::Passage on_notification(const call::Notification& notification) override;
  void judge(call::CallPtr& call, const call::Request& request) override;
  void learn(const ListPage& page) override;
  void see(call::CallPtr& call, call::Answer& answer) override;
  [[nodiscard]] bool sees_ends() const override { return true; }
  void on_end(const call::Call& call, call::End& end) override;
  void forget_child(uint64_t child) override;
  void on_changed(size_t list, uint64_t child) override;
  [[nodiscard]] bool suits(const call::Call& call, uint64_t child) const override;
  [[nodiscard]] bool forbids(const call::Call& call) const override;
  void refuse(call::CallPtr call) override;
  [[nodiscard]] bool takes_refusals() const override { return !enforces(); }

 private:
  using Names = std::set<std::string, std::less<>>;
  using Pinned = std::set<const std::string*>;  // names of the lock
  using Counts = std::array<uint32_t, kPinStateCount>;
  // Pinned names found so far in a list.
  struct Seen {
    Names turned;  // pinned, and another thing
    Pinned good;   // as they were pinned
    Counts counts{};
  };
  // State of one child's list.
  struct Shown {
    Names turned;                      // see Seen
    Pinned missing;                    // pinned, and not shown by the whole list
    std::optional<TimePoint> asked;    // for the whole list; nothing: it is not known
    std::map<ListScope, Seen> coming;  // while the list is being asked for
  };
  // State of a call that asks for a list, or uses an element of one.
  struct State {
    bool has_cursor = false;
    size_t list = 0;
    const std::string* name = nullptr;  // what it uses, a name of the lock; null: nothing
    bool is_fresh = false;              // what it uses is not pinned
    void clear() { *this = State(); }
  };

  [[nodiscard]] bool enforces() const { return services_.config.pins == config::Pins::enforce; }
  [[nodiscard]] bool is_turned(size_t list, std::string_view name) const;
  // Whether lists of the call's scope are known as a whole, and none of them shows what it uses.
  [[nodiscard]] bool is_missing(const call::Call& call) const;
  // Whether no list of the scope was asked for lately.
  [[nodiscard]] bool is_old(ListScope scope, size_t list) const;
  // The pinned names of a whole list that it does not show.
  [[nodiscard]] Pinned missing_in(size_t list, const Seen& seen) const;
  // Notes which part of the list of a running child clients have seen.
  void note_shown(const call::Call& call, size_t list, uint64_t child, Seen& seen, bool is_whole);
  void refuse(call::CallPtr call, std::string_view method, policy::ElementKind kind,
              std::string_view name, std::string_view why);
  // Whether it is shown to clients.
  bool note(size_t list, std::string_view element, Seen& seen);
  // An element without a clear name may be any that readers take it for.
  void note_unclear(size_t list, std::string_view element, Seen& seen);
  void tell_unpinned(size_t list);
  void tell(size_t list, std::string_view name, PinState state);
  void count(size_t list, const Counts& counts);

  const pool::PoolServices& services_;
  call::Chain& chain_;
  ListedFilter& lists_;
  const ToolLock lock_;
  const call::Slot<State> states_;
  std::array<std::map<uint64_t, Shown>, kPinnedLists.size()> shown_;  // by number of the child
  std::array<Counts, kPinnedLists.size()> counts_{};
  std::set<size_t> told_;  // hashes of what the log has said
  std::string cut_;        // scratch
  std::string scratch_;    // the same
};

}  // namespace stdgate::mcp
