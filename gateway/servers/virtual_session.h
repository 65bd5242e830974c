// VirtualSession: a session of a client of a virtual server, and its parts: a session at each
// member that one of its calls has needed.
//
// Job: open a part with the first call for its member, and greet the member as the client has
// greeted the virtual server; keep calls until the greeting is answered; hand the member's messages
// to the owner. A part ends alone: the next call opens another one. Owner: the virtual server.
// Limits: a part for each member, kMaxQueued calls that wait for one, kMaxQuestions that the client
// has not answered.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/base/account.h"
#include "gateway/base/trace_context.h"
#include "gateway/call/call_context.h"
#include "gateway/policy/client.h"
#include "gateway/servers/member.h"
#include "gateway/session/sinks.h"

namespace stdgate::servers {

struct VirtualSession;
class VirtualSessions;

struct PartServices {
  session::Callers& callers;
  const Clock& clock;
  HeldBytes* held;
};

// Part: a session at one member, for one session of a client. Owner: the VirtualSession. Limit:
// kMaxQueued calls that wait for the greeting.
class Part final : private session::SessionSink {
 public:
  static constexpr size_t kMaxQueued = 256;
  // Tags of requests of the gateway's own; no call has one of these.
  static constexpr session::Tag kGreeting = UINT64_MAX;
  static constexpr session::Tag kIgnored = UINT64_MAX - 1;
  static constexpr session::Tag kOfLists = uint64_t{1} << 62;  // and those above

  Part(const PartServices& services, VirtualSessions& owner, VirtualSession& session, size_t member,
       backend::Upstream& upstream);
  ~Part() override;

  // An error: it could not be, and is of no use.
  tl::expected<void, rpc::FaultReport> open();
  // Ends its session at the member. Not from inside of a call of that.
  void close();

  // A request under a tag of the owner's, which is its id too. `context`: of the client; what
  // stands in it for the session is replaced.
  void hand_over(session::Tag tag, const rpc::Envelope& request, const call::CallContext& context);
  // Another message of the client, or of the gateway, once it has been greeted; else it is dropped.
  void tell(std::string text);
  void cancel(session::Tag tag);
  // A request in the gateway's own name, once it has been greeted.
  void ask(session::Tag tag, std::string text);
  // The lists that its child offers. Used if the part has a child of its own.
  [[nodiscard]] MemberView& view() { return view_; }
  // The member's lists are shown differently from now on.
  void forget_lists() { view_.lists = {}; }
  [[nodiscard]] bool has_own_view() const { return is_open() && upstream_.owns_children(); }
  // The part is not used any more, and will be closed.
  void give_up() { is_over_ = true; }

  [[nodiscard]] VirtualSession& session() const { return session_; }
  [[nodiscard]] size_t member() const { return member_; }
  [[nodiscard]] backend::Upstream& upstream() { return upstream_; }
  [[nodiscard]] session::SessionId id() const { return opened_.id(); }
  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] bool is_open() const { return is_greeted_ && !is_over_; }

 private:
  struct Queued {
    session::Tag tag;
    std::string text;
    call::CallContext context;
    std::optional<TraceContext> trace;
    Share held;
  };

  // SessionSink
  void on_reply(session::Tag tag, const session::Reply& reply) override;
  void on_event(session::Tag tag, std::string_view notification) override;
  void on_cancelled(session::Tag tag) override;
  void on_message(std::optional<session::Tag> call,
                  std::span<const std::string_view> parts) override;
  [[nodiscard]] bool awaits_requests() override;
  [[nodiscard]] session::ClientHold hold() const override;
  [[nodiscard]] SessionName name() const override;
  // The member itself refuses what is too much for it, so that other members do not wait.
  void set_reading(bool /*reading*/) override {}
  void on_session_end(session::SessionEnd end, std::string_view message) override;

  [[nodiscard]] call::CallContext own_context() const;
  void submit(std::string text, const call::CallContext& context);
  void take_greeting(const session::Reply& reply);
  void fail_queued(const rpc::FaultReport& report);

  const PartServices& services_;
  VirtualSessions& owner_;
  VirtualSession& session_;
  const size_t member_;
  backend::Upstream& upstream_;
  backend::OpenSession opened_;
  std::vector<Queued> queued_;
  MemberView view_;
  bool is_greeted_ = false;
  bool is_over_ = false;
};

// A client's session at the virtual server, with its parts at members. Owner: VirtualSessions.
struct VirtualSession {
  static constexpr size_t kMaxQuestions = 256;
  static constexpr size_t kMaxGreeting = 64 << 10;
  static constexpr size_t kMaxSubscriptions = 1000;
  static constexpr size_t kMaxSubscriptionBytes = 256 << 10;  // of all URIs

  session::SessionId id;
  session::Caller caller;
  session::SessionSink* sink = nullptr;
  policy::Client client;
  std::string identity;  // of the client's principal; empty: anonymous
  Transport transport = Transport::mcp;
  std::string greeting;       // params of its initialize; empty: it has not greeted
  std::string_view revision;  // that was agreed on; empty: not known
  bool is_adopted = false;    // it has begun in another process
  Duration age{0};            // there
  bool has_ended = false;     // its client has been told
  std::string level;          // params of its logging/setLevel; empty: none
  std::map<size_t, std::unique_ptr<Part>> parts;  // by member
  std::vector<std::unique_ptr<Part>> leaving;     // over, or at a backend that was replaced
  std::map<std::string, size_t> subscriptions;    // URIs with their members
  // Open questions to the client: our id, with the member and its id.
  struct Question {
    size_t member;
    std::string id;
  };
  std::map<uint64_t, Question> questions;
  uint64_t last_question = 0;
  size_t subscribed = 0;  // bytes of the subscriptions' URIs
  uint32_t listed = 0;    // bits of the kinds of lists that its client has got
  Share held{{}, Holding::sessions};

  // The member says whether a subscription holds; this, whether one more may be asked for.
  [[nodiscard]] bool may_subscribe(const std::string& uri) const;
  void subscribe(const std::string& uri, size_t member);
  void unsubscribe(const std::string& uri);
  [[nodiscard]] bool has_listed(ListKind kind) const { return (listed & bit_of(kind)) != 0; }
  void note_listed(ListKind kind) { listed |= bit_of(kind); }
  // Charges what is kept of the client.
  void charge();

 private:
  static uint32_t bit_of(ListKind kind) { return 1U << static_cast<unsigned>(kind); }
};

}  // namespace stdgate::servers
