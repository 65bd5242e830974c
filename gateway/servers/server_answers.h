// ServerAnswers: what a virtual server answers itself: what it can do, and its lists.
//
// Answers come from the lists that are known at the moment. No member is asked. Owner: the virtual
// server. Limits: kMaxPage elements and kMaxPageBytes in an answer; further ones follow by a cursor
// of the gateway's own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/call/call_context.h"
#include "gateway/config/config.h"
#include "gateway/servers/members.h"
#include "gateway/servers/tool_search.h"

namespace stdgate::servers {

// The member that has an element, and the element. Null: no member has it.
struct Found {
  Member* member = nullptr;
  size_t place = 0;  // of the member
  const Element* element = nullptr;
};

class ServerAnswers {
 public:
  static constexpr size_t kMaxPage = 1000;
  static constexpr size_t kMaxPageBytes = 8 << 20;

  // `version`: the gateway's.
  // `own_view`: that a session has of a member, if it has one of its own; it may not be asked yet.
  using OwnView = std::function<MemberView*(size_t member, const call::CallContext& context)>;
  ServerAnswers(const config::ServerConfig& config, Members& members, std::string version,
                const Payer& payer, OwnView own_view)
      : config_(config),
        members_(members),
        version_(std::move(version)),
        own_view_(std::move(own_view)),
        held_(payer, Holding::caches) {}

  // The client's view of a member.
  MemberView& view_at(size_t member, const call::CallContext& context);

  // Asks for missing lists. True: no list has to be waited for. `waits_anew`: see Member.
  bool prepare(ListKind kind, const call::CallContext& context, bool waits_anew = false);
  // Prepares a list like prepare(), but does not wait for members that show nothing on it.
  bool prepare_list(ListKind kind, const call::CallContext& context, bool is_first);
  // When the wait for missing lists ends.
  [[nodiscard]] TimePoint waited_until(ListKind kind, const call::CallContext& context);

  // The element with this name, for this client; of a resource or a template its URI.
  Found find(ListKind kind, std::string_view shown, const call::CallContext& context);
  // Visits the elements that this client may see, in the order of lists: `visit(found)`.
  template <class Visitor>
  void for_each(ListKind kind, const call::CallContext& context, Visitor&& visit);

  // Results, raw JSON.
  std::string greeting(std::string_view params, const call::CallContext& context);
  std::string discovery(const call::CallContext& context);
  // An error is what is wrong with the cursor.
  tl::expected<std::string, const char*> list(ListKind kind, std::string_view params,
                                              const call::CallContext& context);
  // A required member that is missing, so that no list can be given; null: none.
  Member* missing_required(ListKind kind, const call::CallContext& context);
  // Whether no member serves clients of the modern era.
  bool is_refused(const call::CallContext& context);

  // The server's own rules, for the results of find_tool. Lists and calls are judged by the rule
  // filter.
  void set_rules(const config::BackendConfig& server,
                 const std::vector<config::RoleConfig>& roles) {
    rules_.emplace(server, roles);
  }
  // The result of find_tool; nothing: there is no query.
  std::optional<std::string> search(std::string_view params, const call::CallContext& context);
  // Its members, and whether it can be used.
  void describe(pool::BackendStatus& status) const;

 private:
  // `view`: the client's of this member.
  const ElementList& elements_of(MemberView& view, size_t member, ListKind kind,
                                 const call::CallContext& context);
  // Whether a list of this kind says anything of the member. With search the pinned tools are
  // shown alone.
  [[nodiscard]] bool counts(size_t member, ListKind kind, const call::CallContext& context) const;
  std::string capabilities(const call::CallContext& context);
  std::vector<std::string> shown_texts(ListKind kind, const call::CallContext& context);
  // JSON array of the members that are missing from the list; empty: none. `for_all`: also members
  // that show nothing on the list.
  std::string note_missing(ListKind kind, const call::CallContext& context, bool for_all);
  [[nodiscard]] bool is_pinned(std::string_view name) const;

  const config::ServerConfig& config_;
  Members& members_;
  const std::string version_;
  const OwnView own_view_;
  std::optional<policy::Rules> rules_;
  ToolSearch index_;
  Share held_;
};

}  // namespace stdgate::servers
