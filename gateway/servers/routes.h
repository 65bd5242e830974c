// Routes: which member a request of a client is for, and how the member gets it.
//
// Job: read what the request names, find whose that is, and put the member's own names into the
// request. Remembers who has linked to a resource. Asks nobody. Owner: the virtual server. Limits:
// kMaxNoted URIs, the oldest go.
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
#include "gateway/call/elements.h"
#include "gateway/config/config.h"
#include "gateway/rpc/envelope.h"
#include "gateway/servers/server_answers.h"
#include "gateway/servers/task_names.h"

namespace stdgate::servers {

struct Route {
  enum class Kind : uint8_t { unknown, open, member, malformed };

  // open: lists that are not there yet may say more.
  Kind kind = Kind::unknown;
  const char* problem = nullptr;  // malformed
  // The decoded name in the request, for the error that it is unknown.
  policy::ElementKind element = policy::ElementKind::none;
  std::string name{};
  std::vector<size_t> members{};  // the first that knows it
  // The names for the member in the place of the client's, as views into the request.
  std::string_view name_place{};
  std::string own_name{};
  const config::MemberToolsConfig* tools = nullptr;  // arguments are to be filled in
  std::string tool{};                                // its name after renaming
};

class Routes {
 public:
  static constexpr size_t kMaxNoted = 4096;
  static constexpr size_t kMaxNotedName = 4096;  // bytes

  Routes(Members& members, ServerAnswers& answers, const TaskNames& tasks, const Payer& payer)
      : members_(members), answers_(answers), tasks_(tasks), held_(payer, Holding::caches) {}

  Route route_of(const rpc::Envelope& request, std::string_view method,
                 const call::CallContext& context);
  // Of one resource.
  std::vector<size_t> members_of(std::string_view uri, const call::CallContext& context);
  // Whether lists that are not there yet may say more of it; they are asked for.
  bool is_open(std::string_view uri, const call::CallContext& context);

  // Notes the resources that a member's answer links to, because the client may ask for them later.
  void note_result(size_t member, const call::Call& call, std::string_view result);

 private:
  Route route_of_named(const rpc::Envelope& request, ListKind kind,
                       const call::CallContext& context);
  Route route_of_resource(const rpc::Envelope& request, std::string_view uri,
                          const call::CallContext& context);
  Route route_of_completion(const rpc::Envelope& request, const call::CallContext& context);
  Route route_of_task(const rpc::Envelope& request, const call::CallContext& context);
  // By its name.
  Route found_or_open(Route route, ListKind kind, const call::CallContext& context);
  void note(std::string key, size_t member);
  [[nodiscard]] std::optional<size_t> noted(const std::string& key) const;

  Members& members_;
  ServerAnswers& answers_;
  const TaskNames& tasks_;
  std::unordered_map<std::string, size_t> noted_;
  std::deque<std::string> order_;
  Share held_;
};

// The request as the member gets it, under this number.
std::string request_for_member(const rpc::Envelope& request, const Route& route, session::Tag tag,
                               std::span<const call::Insertion> insertions);

}  // namespace stdgate::servers
