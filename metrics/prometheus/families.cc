#include "metrics/prometheus/families.h"

#include <algorithm>

namespace stdgate::metrics {
namespace {

template <class Enum>
std::string_view name_at(std::string_view (*name_of)(Enum), size_t index) {
  return name_of(static_cast<Enum>(index));
}

// The names of an enum's values.
template <auto name_of, size_t count>
constexpr ValueList list(std::string_view label) {
  return {label, count, [](size_t index) { return name_at(name_of, index); }};
}

constexpr ValueList kOutcomes = {"outcome", Outcome::kCount,
                                 [](size_t index) { return Outcome::at(index).name(); }};
constexpr ValueList kTransports = list<transport_name, kTransportCount>("transport");
constexpr ValueList kClientEras = list<peer_kind_name, kPeerKindCount>("client_era");
constexpr ValueList kChildEras = {"child_era", kPeerKindCount + 1, [](size_t index) {
                                    return index == kPeerKindCount
                                               ? std::string_view("none")
                                               : peer_kind_name(static_cast<PeerKind>(index));
                                  }};
// The state `dead` is no state of a child, but where it comes from and goes to.
constexpr size_t kLivingStateCount = static_cast<size_t>(ChildState::dead);

constexpr auto kFamilies = std::to_array<FamilyRow>({
    {Family::requests,
     "stdgate_request_duration_seconds",
     MetricKind::histogram,
     Scope::method,
     {kOutcomes, kTransports},
     true,
     "Time from a request's arrival to its answer"},
    {Family::tools,
     "stdgate_tool_duration_seconds",
     MetricKind::histogram,
     Scope::tool,
     {kOutcomes},
     true,
     "Time from the arrival of a tool's call to its answer",
     "For MCP's `tools/call`."},
    {Family::child,
     "stdgate_child_duration_seconds",
     MetricKind::histogram,
     Scope::method,
     {},
     true,
     "Time from the writing of a request to the child until the child's answer"},
    {Family::queue,
     "stdgate_queue_duration_seconds",
     MetricKind::histogram,
     Scope::backend,
     {},
     false,
     "Time that requests waited for a child"},
    {Family::in_flight,
     "stdgate_requests_in_flight",
     MetricKind::gauge,
     Scope::backend,
     {},
     false,
     "Requests that have arrived and are not answered yet"},
    {Family::mcp_requests,
     "stdgate_mcp_requests_total",
     MetricKind::counter,
     Scope::backend,
     {kChildEras, kClientEras},
     true,
     "Requests of MCP clients, by the eras of client and child",
     "See [eras](protocols.md#the-two-eras-of-mcp); `none`: no child was asked."},
    {Family::cache_hits,
     "stdgate_mcp_cache_hits_total",
     MetricKind::counter,
     Scope::backend,
     {},
     false,
     "Requests that were answered from a child's earlier answer",
     "See [kept answers](protocols.md#kept-answers)."},
    {Family::remembered_answers,
     "stdgate_remembered_answers_total",
     MetricKind::counter,
     Scope::backend,
     {},
     false,
     "Requests that were answered from memory while the server sleeps",
     "See [servers that sleep](children.md#servers-that-sleep)."},
    {Family::check_failures,
     "stdgate_check_failures_total",
     MetricKind::counter,
     Scope::backend,
     {list<check_failure_name, kCheckFailureCount>("of")},
     true,
     "Arguments and results of tools that did not fit their schemas, and schemas that check "
     "nothing",
     "See [Checks](checks.md#arguments-and-results). `schema`: the schema itself cannot be "
     "compiled."},
    {Family::pins,
     "stdgate_tool_pins",
     MetricKind::gauge,
     Scope::backend,
     {list<pin_state_name, kPinStateCount>("state")},
     true,
     "Tools, prompts and resource templates of a server, compared with the pinned ones",
     "See [Checks](checks.md#pinned-tools). The list that was compared last counts; a list that a "
     "client asked for counts only if it came in one part."},
    {Family::returns,
     "stdgate_mcp_returns_total",
     MetricKind::counter,
     Scope::backend,
     {list<return_end_name, kReturnEndCount>("end")},
     false,
     "Requests that bring back a value that a child has given to a client",
     "The value was `returned` [to its process](protocols.md#what-comes-back-to-a-process), is "
     "`unknown` for this client here, has `expired`, or was `lost` with its process."},
    {Family::questions,
     "stdgate_questions_open",
     MetricKind::gauge,
     Scope::backend,
     {},
     false,
     "Requests of children that their clients have not answered yet",
     "Such as `session/request_permission` of an [agent](agents.md)."},
    {Family::question,
     "stdgate_question_duration_seconds",
     MetricKind::histogram,
     Scope::method,
     {list<question_end_name, kQuestionEndCount>("end")},
     true,
     "Time from a child's request to its client until it was answered or given up",
     "`answered`, `refused` by an error, `expired`, `withdrawn`, `left` by the client, or `lost` "
     "with the child."},
    {Family::parked_calls,
     "stdgate_parked_calls",
     MetricKind::gauge,
     Scope::backend,
     {},
     false,
     "Calls that wait for input from their clients",
     "Their server is a [legacy](protocols.md#questions-of-a-legacy-server) or a "
     "[modern](protocols.md#questions-of-a-modern-server) one."},
    {Family::parked_ends,
     "stdgate_parked_calls_ended_total",
     MetricKind::counter,
     Scope::backend,
     {list<parked_end_name, kParkedEndCount>("end")},
     false,
     "Calls that have waited for input from their clients, by how the wait ended",
     "`resumed`, `expired`, `stopped`, `given_up` by their clients, or `failed` with their child."},
    {Family::notifications,
     "stdgate_notifications_total",
     MetricKind::counter,
     Scope::method,
     {list<direction_name, kDirectionCount>("direction")},
     true,
     "Notifications passed on"},
    {Family::dropped,
     "stdgate_messages_dropped_total",
     MetricKind::counter,
     Scope::backend,
     {list<drop_reason_name, kDropReasonCount>("reason")},
     false,
     "Messages that were dropped"},
    {Family::rejected,
     "stdgate_rejected_total",
     MetricKind::counter,
     Scope::backend,
     {list<rejection_name, kRejectionCount>("reason")},
     false,
     "Messages and sessions refused by rules and by limits of one client",
     "[Reasons](rules.md#limits-of-one-client)."},
    {Family::children,
     "stdgate_children",
     MetricKind::gauge,
     Scope::backend,
     {list<child_state_name, kLivingStateCount>("state")},
     false,
     "Child processes by state"},
    {Family::child_start,
     "stdgate_child_start_duration_seconds",
     MetricKind::histogram,
     Scope::backend,
     {},
     false,
     "Time from a child's start until it was ready"},
    {Family::starts,
     "stdgate_child_starts_total",
     MetricKind::counter,
     Scope::backend,
     {list<start_reason_name, kStartReasonCount>("reason")},
     false,
     "Child processes started"},
    {Family::exits,
     "stdgate_child_exits_total",
     MetricKind::counter,
     Scope::backend,
     {list<exit_reason_name, kExitReasonCount>("reason")},
     false,
     "Child processes that have ended; asked is no failure, and exit_zero is no failure if a "
     "session ended its own child"},
    {Family::replaced,
     "stdgate_children_replaced_total",
     MetricKind::counter,
     Scope::backend,
     {list<replace_reason_name, kReplaceReasonCount>("reason")},
     false,
     "Child processes that were replaced because of their age, calls or memory",
     "See [replacing children](children.md#replacing-children)."},
    {Family::replacement_waits,
     "stdgate_replacement_waits_total",
     MetricKind::counter,
     Scope::backend,
     {list<replace_reason_name, kReplaceReasonCount>("reason")},
     false,
     "Children due for replacement that served on for open work, as there was no room for a "
     "successor",
     "Each child counts once. A higher `pool.max` makes room."},
    {Family::breakers,
     "stdgate_breaker_open",
     MetricKind::gauge,
     Scope::backend,
     {},
     false,
     "1 while calls are refused, as the children of the backend keep failing",
     "One call after each pause is let through. With `isolation: principal` it is the number of "
     "principals whose "
     "children fail."},
    {Family::sessions,
     "stdgate_sessions",
     MetricKind::gauge,
     Scope::backend,
     {list<session_state_name, kSessionStateCount>("state")},
     false,
     "Open sessions by state"},
    {Family::places,
     "stdgate_session_places",
     MetricKind::gauge,
     Scope::backend,
     {},
     false,
     "Highest number of children that sessions may have at a time"},
    {Family::parked,
     "stdgate_sessions_parked_total",
     MetricKind::counter,
     Scope::backend,
     {list<park_reason_name, kParkReasonCount>("reason")},
     false,
     "Sessions that have lost or given up their child"},
    {Family::revived,
     "stdgate_sessions_revived_total",
     MetricKind::counter,
     Scope::backend,
     {list<revival_outcome_name, kRevivalOutcomeCount>("outcome")},
     false,
     "Attempts to give a parked session a child"},
    {Family::revival,
     "stdgate_session_revival_duration_seconds",
     MetricKind::histogram,
     Scope::backend,
     {},
     false,
     "Time from a parked session's request until its new child was ready for it"},
    {Family::connections,
     "stdgate_connections",
     MetricKind::gauge,
     Scope::connection,
     {},
     false,
     "Open client connections",
     "`transport` is the connection's protocol, `http` or `websocket`."},
    {Family::bytes,
     "stdgate_bytes_total",
     MetricKind::counter,
     Scope::connection,
     {list<flow_name, kFlowCount>("direction")},
     false,
     "Bytes received from clients (in) and sent to them (out)",
     "Headers and framing count, bytes that TLS adds do not."},
    {Family::refusals,
     "stdgate_http_refusals_total",
     MetricKind::counter,
     Scope::gateway,
     {list<refusal_name, kRefusalCount>("reason")},
     false,
     "HTTP requests answered by an error before they became calls",
     "Requests to the admin address count too."},
    {Family::handshakes,
     "stdgate_tls_handshake_failures_total",
     MetricKind::counter,
     Scope::gateway,
     {list<handshake_failure_name, kHandshakeFailureCount>("reason")},
     false,
     "TLS handshakes that failed",
     "[Reasons](tls.md#when-a-client-does-not-get-in)."},
    {Family::key_fetches,
     "stdgate_key_fetches_total",
     MetricKind::counter,
     Scope::gateway,
     {list<fetch_outcome_name, kFetchOutcomeCount>("outcome")},
     false,
     "Attempts to fetch the keys of token issuers",
     "See [keys of an issuer](authentication.md#keys-of-an-issuer)."},
});
static_assert(std::ranges::all_of(kFamilies, [](const FamilyRow& row) {
  return &row == &kFamilies[static_cast<size_t>(row.id)];
}));

// Number of cells of this scope in the rows before `end`: of histograms, or of numbers.
constexpr size_t cells_before(size_t end, Scope scope, bool histograms) {
  size_t count = 0;
  for (size_t i = 0; i < end; ++i) {
    const FamilyRow& row = kFamilies[i];
    if (row.scope == scope && row.is_histogram() == histograms) count += row.cells();
  }
  return count;
}

constexpr auto kOffsets = [] {
  std::array<size_t, kFamilies.size()> offsets{};
  for (size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = cells_before(i, kFamilies[i].scope, kFamilies[i].is_histogram());
  }
  return offsets;
}();

}  // namespace

std::span<const FamilyRow> families() { return kFamilies; }

size_t cell_of(Family family, size_t first, size_t second) {
  return first * kFamilies[static_cast<size_t>(family)].labels[1].count + second;
}

size_t offset_of(Family family) { return kOffsets[static_cast<size_t>(family)]; }

size_t numbers_of(Scope scope) { return cells_before(kFamilies.size(), scope, false); }

size_t histograms_of(Scope scope) { return cells_before(kFamilies.size(), scope, true); }

}  // namespace stdgate::metrics
