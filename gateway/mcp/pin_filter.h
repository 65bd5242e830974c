// PinFilter: lets clients see and use only what is pinned of a server (tool_lock.h).
//
// Job: take out of lists what is new, or not as it was pinned; refuse calls of it, as if it did not
// exist; know from lists of its own, of each child, which pinned names a server has turned into
// something else. One child that has turned a name is enough: the name is refused at all. With
// `warn` nothing is refused, and what differs is told. Owner: the backend. Limits: those of the
// lock file; a name that is not pinned is never kept, but for kMaxTold that are told.
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

class McpDialect;

class PinFilter final : public ListedFilter {
 public:
  static constexpr size_t kMaxTold = 1000;

  PinFilter(const pool::FilterServices& services, const McpDialect& dialect, ToolLock lock);
  ~PinFilter() override;

  void on_request(call::CallPtr& call, const call::Request& request) override;
  call::Passage on_notification(const call::Notification& notification) override;
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

  void judge(call::CallPtr& call, const call::Request& request) override;
  void learn(const Page& page) override;
  void see(call::CallPtr& call, call::Answer& answer) override;
  void forget_child(const call::ChildRef& child) override;
  void on_changed(size_t list, uint64_t child) override;
  [[nodiscard]] std::optional<size_t> needed_list(const call::Call& call) const override;
  [[nodiscard]] bool is_compared(size_t list, uint64_t child) const override;
  [[nodiscard]] bool suits(const call::Call& call, uint64_t child) const override;
  [[nodiscard]] bool is_hopeless(const call::Call& call, size_t list) const override;
  void give_up(call::CallPtr call) override;
  [[nodiscard]] bool takes_refusals() const override { return false; }

  [[nodiscard]] bool enforces() const { return services_.config.pins == config::Pins::enforce; }
  [[nodiscard]] bool is_turned(size_t list, std::string_view name) const;
  void refuse(call::CallPtr call, std::string_view method, policy::ElementKind kind,
              std::string_view name, std::string_view why);
  // Whether it is shown to clients.
  bool note(size_t list, std::string_view element, Shown* shown, Counts& counts);
  void tell(size_t list, std::string_view name, PinState state);
  void count(size_t list, const Counts& counts);

  const ToolLock lock_;
  const call::Slot<State> states_;
  std::array<std::map<uint64_t, Shown>, kPinnedKinds> shown_;  // by number of the child
  std::array<Counts, kPinnedKinds> counts_{};
  std::set<size_t> told_;  // hashes of what the log has said
  std::string cut_;        // scratch
  std::string scratch_;    // the same
};

}  // namespace stdgate::mcp
