// Routes: which member of a virtual server a message is for. TaskNames: whose task an id names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/call/call.h"
#include "gateway/call/call_context.h"
#include "gateway/call/filter.h"
#include "gateway/call/protocol.h"
#include "gateway/config/config.h"
#include "gateway/rpc/envelope.h"
#include "gateway/servers/server_answers.h"
#include "gateway/session/sinks.h"

namespace stdgate::servers {

// The member that has given a task.
struct TaskGiver {
  size_t member;
  const std::string& name;  // of the member
};

// TaskNames: the ids of members' tasks, as the clients of a virtual server know them.
//
// Job: remember the member that has given a task, and the owner: a session, or else a principal. If
// two members give the same id, add the second member's name to the id of its task. Ids that a
// member has sealed are unique, and stay as they are. Two children of one member that seals no ids
// (pool.sticky) may give the same id to one owner; such tasks cannot be told apart. Owner: the
// aggregate. Limits: kMaxTasks ids of kMaxId bytes; longer ones are not remembered. Beyond that the
// oldest task of the owner with the most is forgotten, so that no client takes the others' tasks
// from them.
class TaskNames {
 public:
  static constexpr size_t kMaxTasks = 4096;
  static constexpr size_t kMaxId = 4096;

  explicit TaskNames(const Payer& payer) : held_(payer, Holding::caches) {}

  // A task that a member has begun.
  struct Task {
    size_t member;
    std::string own;  // the id that the member has given
  };
  // Key of the client that owns a task.
  static std::string owner_of(const call::CallContext& context);
  // `call`: has its identity.
  static std::string owner_of(const call::Call& call);
  static std::string owner_of(session::SessionId session);
  // The task that a client knows by this id; null: none is remembered.
  [[nodiscard]] const Task* find(const std::string& owner, std::string_view shown) const;
  // A result, notification or question of a member as this client is to see it; empty: as it is.
  // Its tasks are remembered.
  std::string shown(const rpc::Envelope& message, const TaskGiver& giver, const std::string& owner);
  // Whether shown() may have something to do.
  static bool may_name(std::string_view text);

 private:
  // The id as the client knows it.
  std::string shown_id(std::string_view own, const TaskGiver& giver, const std::string& owner);
  void note(const std::string& owner, std::string key, Task task);
  void forget_one();

  std::unordered_map<std::string, Task> tasks_;                     // by owner and shown id
  std::unordered_map<std::string, std::deque<std::string>> order_;  // keys of each owner, by age
  Share held_;
};

// Route: where a request goes. Its views are into the request, the lists of members, and the
// Routes; they are valid until the next request is looked at.
struct Route {
  enum class Kind : uint8_t { unknown, open, member, malformed };

  // open: lists that are not there yet may say more.
  Kind kind = Kind::unknown;
  const char* problem = nullptr;  // malformed
  // The decoded name in the request, for the error that it is unknown.
  policy::ElementKind element = policy::ElementKind::none;
  std::string_view name{};
  size_t member = 0;
  std::vector<size_t> others{};   // that are asked in this order if `member` does not know it
  std::string_view name_place{};  // the name in the request, with its quotes
  std::string_view own_name{};    // the member's own name, in its place
  const config::MemberToolsConfig* tools = nullptr;  // arguments are to be filled in
  std::string_view tool{};                           // its name after renaming

  void lead_to(std::vector<size_t> members);  // none: unknown
};

// Routes: finds the member that a client's request is for, and the member's own names for what the
// request names.
//
// Remembers which members have linked to a resource. Sends no requests. Owner: the virtual server.
// Limits: kMaxNoted URIs, the oldest go.
class Routes {
 public:
  static constexpr size_t kMaxNoted = 4096;
  static constexpr size_t kMaxNotedName = 4096;  // bytes

  Routes(Members& members, ServerAnswers& answers, const TaskNames& tasks, const Payer& payer)
      : members_(members), answers_(answers), tasks_(tasks), held_(payer, Holding::caches) {}

  Route route_of(const call::Request& request);
  // The member that has given a task to this client; nothing: no member knows the id.
  struct TaskPlace {
    size_t member;
    std::string own;  // the id that it has given
  };
  std::optional<TaskPlace> member_of_task(const std::string& id, const call::CallContext& context);
  // The member that may have this unknown name, by its prefix, but whose list is missing. Null: no
  // such member that this client may know of.
  [[nodiscard]] const Member* missing_member(const Route& route, const call::CallContext& context);
  // The members that may have this resource, in the order in which they are asked.
  std::vector<size_t> members_of(std::string_view uri, const call::CallContext& context);
  // Whether the resource is unknown, and missing lists may still have it. Asks for the missing
  // lists.
  bool is_open(std::string_view uri, const call::CallContext& context);

  // Notes the resources that a member's answer links to, because the client may ask for them later.
  void note_result(size_t member, const call::Call& call, std::string_view result);

 private:
  Route route_of_tool(const call::Request& request);
  Route route_of_prompt(const rpc::Envelope& request, const call::CallContext& context);
  Route route_of_resource(std::string_view quoted, const call::CallContext& context);
  Route route_of_completion(const rpc::Envelope& request, const call::CallContext& context);
  Route route_of_task(const rpc::Envelope& request, const call::CallContext& context);
  // The member that recognises a sealed id in this request.
  std::optional<size_t> giver_of(const rpc::Envelope& request, const call::CallContext& context);
  // By its name.
  void find_or_open(Route& route, ListKind kind, const call::CallContext& context);
  void note(std::string key, size_t member);
  [[nodiscard]] std::optional<size_t> noted(const std::string& key) const;

  Members& members_;
  ServerAnswers& answers_;
  const TaskNames& tasks_;
  std::unordered_map<std::string, size_t> noted_;
  std::deque<std::string> order_;
  Share held_;
  std::string name_;  // scratch: of a route
};

// Whether a URI could come from a template of a resource (RFC 6570). An expression stands for any
// characters; one without an operator for none of "/?#". Takes time in proportion to both lengths,
// multiplied, at most. A text that is no template matches only itself.
bool matches_template(std::string_view uri_template, std::string_view uri);

}  // namespace stdgate::servers
