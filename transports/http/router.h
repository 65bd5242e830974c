// Endpoint: what is served at one path. Router: which endpoint serves a path.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/rpc/fault.h"
#include "transports/http/admission.h"
#include "transports/http/exchange.h"
#include "transports/http/response.h"

namespace stdgate::http {

// Which methods an endpoint takes (RFC 9110 section 9). Only POST comes with a body.
enum class AllowedMethods : uint8_t {
  read,     // GET and HEAD
  post,     // POST
  session,  // GET, POST and DELETE
};

// OPTIONS, which is always answered, is not among them.
bool is_allowed(Method method, AllowedMethods allowed);
// "POST": the methods that do something, for people.
std::string_view methods_of(AllowedMethods allowed);
// "POST, OPTIONS": the value of Allow (RFC 9110 section 10.2.1).
std::string_view allow_value(AllowedMethods allowed);
// The methods of the server as a whole, for OPTIONS *.
inline constexpr std::string_view kAllowAll = "GET, HEAD, POST, DELETE, OPTIONS";

// Endpoint: what is served at one path. One object serves all requests; what belongs to one request
// stands in its Exchange.
//
// Owner: the router, and its users: exchanges under way, WebSockets. So an endpoint that the router
// has no more ends with the last of its users.
class Endpoint : public std::enable_shared_from_this<Endpoint> {
 public:
  Endpoint() = default;
  // `held`: counts the memory that is held at the endpoint's upstream.
  explicit Endpoint(HeldBytes* held) : held_(held) {}
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  [[nodiscard]] virtual AllowedMethods allowed_methods() const { return AllowedMethods::read; }
  // The upstream of its messages; null: none.
  [[nodiscard]] virtual const backend::Upstream* upstream() const { return nullptr; }
  // Whether the request belongs to something that was begun here before. A path that the
  // configuration has no more serves nothing else (Router::leaving()).
  [[nodiscard]] virtual bool continues(const RequestHead& /*head*/) const { return false; }
  // Whether messages are POSTed here, where POST is allowed, without more than the path says.
  [[nodiscard]] virtual bool takes_messages() const { return true; }
  // How calls come in here, if they do.
  [[nodiscard]] virtual Transport transport() const { return Transport::rpc; }

  // Error codes of the answers to refused messages.
  [[nodiscard]] virtual rpc::CodeSet fault_codes() const {
    return refusal_codes().value_or(rpc::CodeSet::plain);
  }
  // Error codes of refusals, which are JSON-RPC errors then; nothing: they are HTTP errors.
  [[nodiscard]] virtual std::optional<rpc::CodeSet> refusal_codes() const { return std::nullopt; }

  // Judges the head, before any of the body has been read; an error ends the request.
  // AdmissionPolicy has judged before who may call.
  virtual std::optional<HttpError> admit(Exchange& exchange) = 0;
  // Answers an admitted request through `exchange`, now or later. The body's bytes may be changed
  // and are valid during the call only.
  virtual void serve(Exchange& exchange, std::span<char> body) = 0;
  // Answers a request whose body cannot be taken. Only where POST is allowed.
  virtual void refuse(Exchange& exchange, const rpc::FaultReport& report);

  // Counts the memory that is kept of the endpoint's requests; null: not counted by endpoint.
  [[nodiscard]] HeldBytes* held() const { return held_; }

 private:
  HeldBytes* const held_ = nullptr;
};

// --- Which of the served paths a client that asked for another one probably meant
//
// Pure.

// What to tell a client that has asked for an unknown path.
struct PathHints {
  std::string_view meant;               // the one that was probably meant; empty: none is near
  std::vector<std::string_view> paths;  // all, the nearest first, else in their order
  std::string why;                      // there is nothing at `wanted`, a clause; empty: not known
};

// A path is near to `wanted` in these cases: its backend is the same or has a near name; or it is
// the end of `wanted`, behind a version, or where only one backend exists. Case does not matter.
// Costs up to 64 * 64 steps for each name of a backend.
PathHints path_hints(std::string_view wanted, std::vector<std::string_view> paths);

// A served path. `about`: for lists of what is served.
struct Route {
  std::string path;
  std::string about;
  std::shared_ptr<Endpoint> endpoint;
  Guards guards;
};

// Router: which endpoint serves a path, and what guards it.
//
// Owner: the generation, and for the admin pages the process. Complete before the first request;
// between two requests it may be made again. Paths are few and found by binary search, without an
// allocation.
class Router {
 public:
  // `policy` outlives the router.
  explicit Router(const AdmissionPolicy& policy) : policy_(policy) {}

  // `about` is a line for the index of GET /. With a '/' at its end, `path` covers every path that
  // is one segment longer and has no route of its own.
  void add(std::string path, std::string about, std::shared_ptr<Endpoint> endpoint,
           const Guards& guards = {});
  // Takes out all routes but the leaving ones, and returns their endpoints. Requests under way use
  // the endpoints on.
  std::vector<std::shared_ptr<Endpoint>> clear();
  // Makes the routes of `others` leaving ones: from now on they serve only work that was begun at
  // their paths, unless another route has the path, and no list shows them. Returns the endpoints
  // of the former leaving routes.
  std::vector<std::shared_ptr<Endpoint>> replace_leaving(Router& others);
  // A line for each path.
  [[nodiscard]] std::string index_text(std::string_view title) const;

  // Lets pages that may call read the answers, those to unknown paths included (admission.h).
  // Else pages of other origins read nothing.
  void share_answers() { shares_answers_ = true; }
  [[nodiscard]] bool shares_answers() const { return shares_answers_; }
  [[nodiscard]] const AdmissionPolicy& policy() const { return policy_; }

  // `path` is decoded; with one slash at its end it means the same. Null: nothing there.
  [[nodiscard]] const Route* find(std::string_view path) const { return find(routes_, path); }
  // Like find(), but among the leaving routes.
  [[nodiscard]] const Route* leaving(std::string_view path) const { return find(leaving_, path); }
  // The paths whose endpoints have this transport.
  [[nodiscard]] std::vector<std::string> paths_of(Transport transport) const;
  // The paths that are served, paths near to `asked` first. Paths for operators are included only
  // if `viewer` is an operator.
  [[nodiscard]] PathHints hints(std::string_view asked, RouteAudience viewer) const;
  // The pages of the admin address are not here but at `address`.
  void set_admin(std::string address) { admin_ = std::move(address); }
  // Where `asked` is served, if it is such a page; a clause, empty for others. Only operators are
  // told the address itself.
  [[nodiscard]] std::string admin_hint(std::string_view asked, RouteAudience viewer) const;
  // "; POST JSON-RPC to /mcp or /rpc", for a POST to another path: at most kMaxHintPaths paths, the
  // nearest first, then those at the root. Empty if no path takes calls.
  [[nodiscard]] std::string post_hint(std::string_view asked) const;
  static constexpr size_t kMaxHintPaths = 8;

 private:
  static const Route* find(const std::vector<Route>& routes, std::string_view path);
  static const Route* find_exact(const std::vector<Route>& routes, std::string_view path);

  const AdmissionPolicy& policy_;
  std::vector<Route> routes_;   // by path
  std::vector<Route> leaving_;  // by path
  std::string admin_;           // empty: none, or this is it
  bool shares_answers_ = false;
};

// --- Where backends are served: each under its name, the default one at the root too; and what a
// client finds there

// Calls visit(prefix, backend) for each place; `prefix` is "/name", or empty at the root.
template <class Visitor>
void for_each_backend_path(const backend::Upstreams& backends, Visitor&& visit) {
  for (const auto& backend : backends.all()) visit("/" + backend->name(), *backend);
  if (backend::Upstream* backend = backends.default_one(); backend != nullptr) {
    visit(std::string(), *backend);
  }
}

// One of the paths of a backend, as the landing page and the banner show it.
struct ServedPath {
  std::string_view name;    // short and constant: "rpc"
  std::string_view method;  // to begin with: "POST"
  std::string_view path;    // behind the prefix: "/rpc"
  std::string_view about;
  bool is_websocket = false;
};

// The best one first.
std::span<const ServedPath> served_paths(config::Protocol protocol);

// "https://", "wss://" and those without TLS.
std::string_view scheme_of(bool is_secure, bool is_websocket);

// The prefix to advertise: empty for the default backend, else "/name".
std::string prefix_of(const backend::Upstream& backend);

}  // namespace stdgate::http
