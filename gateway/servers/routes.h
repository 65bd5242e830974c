// Routes: finds the member that a client's request is for, and the member's own names for what the
// request names.
//
// Remembers which members have linked to a resource. Sends no requests. Owner: the virtual server.
// Limits: kMaxNoted URIs, the oldest go.
#pragma once

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
#include "gateway/servers/task_names.h"

namespace stdgate::servers {

// Its views are into the request, what members offer, and the Routes; they hold until the next
// request is looked at.
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
