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
#include <set>
#include <string>
#include <string_view>

#include "gateway/mcp/listed_filter.h"
#include "gateway/mcp/tool_lock.h"

namespace stdgate::mcp {

class PinFilter final : public ListedFilter {
 public:
  static constexpr size_t kMaxTold = 1000;

  PinFilter(const pool::FilterServices& services, std::string stamp, ToolLock lock);
  ~PinFilter() override;

  void on_request(call::CallPtr& call, const call::Request& request) override;
  call::Passage on_notification(const call::Notification& notification) override;

 private:
  using Names = std::set<std::string, std::less<>>;
  // What a child has shown of a list.
  struct Shown {
    Names turned;  // pinned, and another thing
    Names asked;   // the same, while the list is being asked for
    bool is_whole = false;
    bool has_turned_back = false;  // a name that it had turned is as it was pinned
  };
  // Of a call that asks for a list.
  struct Asked {
    bool has_cursor = false;
    void clear() { has_cursor = false; }
  };
  using Counts = std::array<uint32_t, kPinStateCount>;

  void judge(call::CallPtr& call, const call::Request& request) override;
  void learn(const Page& page) override;
  void see(call::CallPtr& call, call::Answer& answer) override;
  void forget_child(const call::ChildRef& child) override;

  [[nodiscard]] bool enforces() const { return services_.config.pins == config::Pins::enforce; }
  [[nodiscard]] bool is_turned(size_t list, std::string_view name) const;
  void refuse(call::CallPtr call, std::string_view method, policy::ElementKind kind,
              std::string_view name, std::string_view why);
  // Whether it is shown to clients.
  bool note(size_t list, std::string_view element, Shown* shown, Counts& counts);
  void tell(size_t list, std::string_view name, PinState state);
  void count(size_t list, const Counts& counts);
  void see_child(const call::Call& call, uint64_t child);

  const ToolLock lock_;
  const call::Slot<Asked> asked_;
  std::array<std::map<uint64_t, Shown>, kPinnedKinds> shown_;  // by number of the child
  std::array<Counts, kPinnedKinds> counts_{};
  Names told_;
  std::string cut_;      // scratch
  std::string scratch_;  // the same
};

}  // namespace stdgate::mcp
