#include "gateway/tools/doctor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "gateway/config/backend_facts.h"
#include "gateway/config/value_parser.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/pool/handshake.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/message_text.h"
#include "gateway/tools/gateway_yaml.h"
#include "gateway/tools/hints.h"
#include "gateway/tools/listing.h"
#include "gateway/tools/peer.h"

namespace stdgate::tools {

namespace {

using Weight = Finding::Weight;

// A method of OpenRPC; a server without it says so, which is an answer too.
constexpr std::string_view kPlainMethod = "rpc.discover";
// How long a server may take to end after its input has ended. A slow machine needs no more time: a
// server that ignores the end of its input would never end.
constexpr Duration kEndPatience = std::chrono::seconds(5);
// Without a word about what it is fetching.
constexpr Duration kSilentWait = std::chrono::seconds(3);
// The params of initialize that every language server takes.
constexpr std::string_view kLanguageClient =
    R"({"processId":null,"rootUri":null,"capabilities":{}})";
// The params of initialize for agents.
constexpr std::string_view kAgentClient = R"({"protocolVersion":1,"clientCapabilities":{}})";

// An MCP server names the revision that it speaks.
bool is_of_language_server(const Answer& answer) {
  return !answer.is_error && rpc::find_member(answer.payload, "capabilities") &&
         !rpc::find_member(answer.payload, "protocolVersion");
}

std::string shortened(std::string text) {
  if (text.size() > Observations::kMaxShown) text.resize(Observations::kMaxShown);
  return text;
}

}  // namespace

Doctor::Doctor(DoctorServices services, const config::BackendConfig& backend, DoctorTimes times)
    : services_(std::move(services)),
      framing_(backend.framing),
      fetch_(package_fetch_of(backend)),
      timeout_(times.step),
      first_timeout_(fetch_ ? times.fetch : times.step),
      gateways_patience_(backend.pool.start_timeout / pool::Handshake::kPatienceShare),
      patience_(std::min(timeout_, gateways_patience_)),
      end_patience_(std::max(backend.pool.grace, std::min(timeout_, kEndPatience))),
      time_(services_.conversation.loop, times.whole),
      diagnosis_{backend} {}

Diagnosis Doctor::examine() {
  const bool can_fetch_it = can_fetch();
  if (!can_be_started() || !can_fetch_it) return std::move(diagnosis_);
  switch (diagnosis_.backend.protocol) {
    case config::Protocol::mcp:
      examine_mcp();
      break;
    case config::Protocol::lsp:
      examine_greeted(kLanguageClient);
      break;
    case config::Protocol::acp:
      examine_greeted(kAgentClient);
      break;
    default:
      examine_plain();
      break;
  }
  look_whether_npm_asks();
  if (auto shortage = time_.shortage(diagnosis_.steps)) add_finding(*std::move(shortage));
  std::ranges::stable_sort(diagnosis_.findings, {}, &Finding::weight);
  return std::move(diagnosis_);
}

bool Doctor::can_be_started() {
  const auto found = services_.conversation.launcher.look_for(services_.conversation.launch);
  if (found) return true;
  const pool::LaunchProblem& problem = found.error();
  add_finding({Weight::breaks, problem.code, problem.what, problem.advice});
  return false;
}

// A package runner that reaches no network tries for minutes, and then does not say why.
bool Doctor::can_fetch() {
  if (!fetch_ || diagnosis_.backend.sandbox.reaches_network()) return true;
  add_finding({Weight::breaks, "sandbox-network",
               fetch_->runner + " fetches " + fetch_->package +
                   " with each start, and the sandbox lets it reach no network",
               "install the package, and name its program as the command; or let it out: sandbox: "
               "{ network: outbound, filesystem: { write: [FOLDER_OF_ITS_CACHE] } }"});
  return false;
}

// Its question has other words in each release; that it may not install what is missing has not.
void Doctor::look_whether_npm_asks() {
  const auto run = config::package_run_of(diagnosis_.backend.command);
  const bool is_open = std::ranges::any_of(diagnosis_.findings, [](const Finding& finding) {
    return finding.code == "no-answer" || finding.code == "exited" || finding.code == "late";
  });
  if (!run || !run->may_ask || !is_open) return;
  pool::LaunchSpec told = services_.conversation.launch;
  told.command.insert(told.command.begin() + static_cast<ptrdiff_t>(run->words), "--no");
  Conversation child({services_.conversation.loop, services_.conversation.launcher, told,
                      services_.conversation.dialect, services_.conversation.limits,
                      services_.conversation.left_behind},
                     framing_);
  if (!start(child)) return;
  ask(child, "initialize, with --no", request_of("initialize"), timeout_);
  end(child);
  const std::vector<std::string>& words = child.seen().last_words;
  if (!child.seen().exit || std::ranges::none_of(words, asks_to_install)) return;
  drop_findings({"no-answer", "exited", "late", "noise-on-stdout"});
  add_finding({Weight::breaks, "npx-asks", std::string(kAsks), std::string(kDoNotAsk)});
}

// --- MCP ------------------------------------------------------------------------------------

// The older era first: its process pays for what the first start has to fetch, and is waited for
// longest.
void Doctor::examine_mcp() {
  Conversation child(services_.conversation, diagnosis_.backend.framing);
  const Visit visit = greet_legacy(child);
  end(child);
  judge(child, visit, "initialize");
  const Observations& seen = child.seen();
  if (seen.pid == 0 || seen.after_end > 0 || seen.echoes) return;
  if (seen.has_length_headers) return try_other_framing();
  examine_modern();
  if (!diagnosis_.is_legacy && !diagnosis_.is_modern) return try_other_framing();
  if (diagnosis_.is_legacy) note_modern_clients();
  if (diagnosis_.is_legacy || !diagnosis_.is_modern) return;
  // The server did not answer initialize, which is no fault of a modern server.
  drop_findings({"no-answer", "exited", "refused"});
  add_finding({Weight::note, "only-modern",
               "it answers server/discover and no initialize: it is of the modern era alone",
               "revision: modern spares the question; sessions share its processes"});
  diagnosis_.backend.revision = config::Revision::modern;
}

// How modern clients fare at such a server depends on the configuration alone.
void Doctor::note_modern_clients() {
  const config::ModernClients clients =
      diagnosis_.is_modern ? config::modern_clients_of_both_eras(diagnosis_.backend)
                           : config::modern_clients(diagnosis_.backend);
  diagnosis_.modern_clients = clients.what;
  if (!clients.advice.empty()) diagnosis_.modern_clients.append("; ").append(clients.advice);
}

Doctor::Visit Doctor::greet_legacy(Conversation& child) {
  Visit visit;
  const TimePoint began = now();
  if (!start(child)) return visit;
  const auto answer = ask_first(child, "initialize", greeting());
  if (!answer) return visit;
  has_greeted_ = true;
  visit.first_answer = now() - began;
  const rpc::Envelope envelope = answer->envelope();
  const pool::ChildFacts facts =
      dialect().facts(envelope, "initialize").value_or(pool::ChildFacts());
  note_facts(facts);
  const auto completion = dialect().finish_handshake(envelope);
  if (!completion) {
    visit.refused = true;
    diagnosis_.steps.back().is_ok = false;
    diagnosis_.steps.back().outcome = shortened(completion.error());
    add_finding({Weight::breaks, "refused",
                 "it does not do the handshake: " + shortened(completion.error()),
                 std::string(dialect().traits().greeting_hint)});
    return visit;
  }
  visit.answered = diagnosis_.is_legacy = true;
  diagnosis_.steps.back().outcome = facts.protocol_version;
  child.say(*completion);
  const auto pong = ask(child, "ping", request_of("ping"), timeout_);
  if (pong ? pong->is_error : !time_.is_over()) {
    add_finding({Weight::warning, "no-ping", "it does not answer ping",
                 "MCP wants an empty result; clients close a connection over this"});
  }
  list_offers(child, facts.capabilities, {});
  return visit;
}

void Doctor::examine_modern() {
  if (time_.is_over()) return;
  Conversation child(services_.conversation, diagnosis_.backend.framing);
  if (start(child)) examine_modern_child(child);
  end(child);
  if (!diagnosis_.is_legacy && diagnosis_.is_modern) {
    judge(child, {true, false, Duration{0}}, "server/discover");
  }
}

void Doctor::examine_modern_child(Conversation& child) {
  const std::string method(dialect().traits().probe);
  const size_t asked = diagnosis_.steps.size();
  auto answer = ask(
      child, method, [this](rpc::WireId id) { return dialect().probe(id); }, patience_);
  const bool is_silent = !answer && child.is_open();
  if (is_silent && has_greeted_) answer = late_answer(child);
  Step& step = diagnosis_.steps[asked];
  const std::string when =
      is_silent && answer ? ", " + text_of(answer->took) + " after its start" : "";
  const auto facts = answer ? dialect().facts(answer->envelope(), method) : std::nullopt;
  if (facts) {
    diagnosis_.is_modern = true;
    step.outcome = facts->protocol_version + when;
    if (diagnosis_.is_legacy) return;
    note_facts(*facts);
    return list_offers(child, facts->capabilities, services_.conversation.stamp);
  }
  if (diagnosis_.revision == mcp::kModernRevision) {
    step.is_ok = false;
    drop_findings({"refused"});
    add_finding(
        {Weight::breaks, "no-discover",
         "it says that it speaks " + diagnosis_.revision + ", and does not answer " + method,
         "a server of that revision answers server/discover and needs no initialize"});
    return;
  }
  if (answer) {
    step.is_ok = true;
    step.outcome = "not of the modern era" + when;
    return;
  }
  if (!diagnosis_.is_legacy || time_.is_over()) return;
  diagnosis_.backend.revision = config::Revision::legacy;
  constexpr const char* kAdvice = "revision: legacy in gateway.yaml spares the question";
  if (is_silent) {
    return add_finding({Weight::warning, "silent-when-asked",
                        "it leaves " + method + " before initialize unanswered: stdgate waits " +
                            text_of(gateways_patience_) + " before it goes on",
                        kAdvice});
  }
  step.outcome = "it ended";
  add_finding({Weight::warning, "ends-when-asked",
               "it ends when it is asked " + method + " before initialize", kAdvice,
               lines_shown(child.seen().last_words)});
}

// A server that has not answered a probe is greeted, as the gateway does. One that only starts
// slowly answers the probe before it answers initialize.
std::optional<Answer> Doctor::late_answer(Conversation& child) {
  ask(child, "initialize", greeting(), timeout_);
  const std::optional<Answer>& late = child.seen().late_answer;
  if (late) note_slow_start(late->took);
  return late;
}

void Doctor::note_slow_start(Duration took) {
  if (took < gateways_patience_) return;  // the gateway would have waited
  using std::chrono::seconds;
  const Duration enough =
      std::chrono::ceil<seconds>(took + took / 4) * pool::Handshake::kPatienceShare;
  diagnosis_.backend.pool.start_timeout = enough;
  drop_findings({"slow-start"});
  add_finding({Weight::warning, "slow-start",
               "it starts slowly: its first answer took " + text_of(took) + ", and stdgate waits " +
                   text_of(gateways_patience_) + " for it, a " +
                   "sixth of pool.start_timeout, before it goes on",
               "pool.start_timeout: " + config::print_duration(enough) +
                   " gives it longer; keep one running (pool.warm: 1; where clients share it, "
                   "pool.min: 1)"});
}

void Doctor::list_offers(Conversation& child, const std::string& capabilities,
                         std::string_view stamp) {
  for (const ListKind& kind : kListKinds) {
    if (!offers(capabilities, kind) || !child.is_open() || time_.is_over()) continue;
    diagnosis_.offers.push_back(Offer{kind.kind});
    if (list_one(child, kind, stamp) || time_.is_over()) continue;
    add_finding({Weight::warning, "no-list",
                 "it offers " + std::string(kind.kind) +
                     " and does not list them: " + diagnosis_.steps.back().outcome,
                 "answer " + std::string(kind.method) + ", or do not offer it in capabilities"});
  }
}

bool Doctor::list_one(Conversation& child, const ListKind& kind, std::string_view stamp) {
  std::string cursor;
  Offer& offer = diagnosis_.offers.back();
  for (size_t pages = 0; pages < kMaxPages; ++pages) {
    const auto answer =
        ask(child, kind.method, request_of(kind.method, page_params(cursor, stamp)), timeout_);
    Step& step = diagnosis_.steps.back();
    if (!answer) return false;
    const auto page =
        answer->is_error ? tl::unexpected(answer->payload) : read_page(answer->payload, kind);
    if (!page) {
      step.is_ok = false;
      step.outcome = shortened(page.error());
      return false;
    }
    for (const ListEntry& entry : page->entries) offer.names.push_back(entry.name);
    step.outcome = std::to_string(page->entries.size());
    if (page->next_cursor.empty()) return true;
    step.outcome += ", and more";
    cursor = page->next_cursor;
  }
  add_finding(
      {Weight::warning, "endless-list",
       std::string(kind.method) + " has no end after " + std::to_string(kMaxPages) + " pages",
       "leave nextCursor out of the last page"});
  return true;
}

// --- Other protocols ------------------------------------------------------------------------

void Doctor::examine_plain() {
  Conversation child(services_.conversation, diagnosis_.backend.framing);
  Visit visit;
  const TimePoint began = now();
  if (start(child)) {
    const auto answer = ask_first(child, kPlainMethod, request_of(kPlainMethod));
    visit.answered = answer.has_value();
    visit.first_answer = now() - began;
    if (answer) {
      diagnosis_.steps.back().outcome = answer->is_error ? "an error, as usual" : "a description";
    }
  }
  end(child);
  judge(child, visit, kPlainMethod);
  if (!visit.answered && child.seen().pid != 0) try_other_framing();
}

void Doctor::shut_down(Conversation& child) {
  child.say(rpc::notification_text("initialized", "{}"));
  ask(
      child, "shutdown", [this](rpc::WireId id) { return dialect().shutdown_request(id); },
      timeout_);
  child.say(dialect().traits().exit);
}

void Doctor::examine_greeted(std::string_view client) {
  Conversation child(services_.conversation, diagnosis_.backend.framing);
  Visit visit;
  const TimePoint began = now();
  if (start(child)) {
    const auto answer = ask_first(child, "initialize", request_of("initialize", client));
    visit.answered = answer && !answer->is_error;
    visit.refused = answer && answer->is_error;
    visit.first_answer = now() - began;
    if (visit.answered) {
      note_facts(dialect().facts(answer->envelope(), "initialize").value_or(pool::ChildFacts()));
      if (diagnosis_.backend.protocol == config::Protocol::lsp) shut_down(child);
    } else if (answer) {
      add_finding(
          {Weight::breaks, "refused", "it refuses initialize: " + shortened(answer->payload)});
    }
  }
  end(child);
  judge(child, visit, "initialize");
  if (!visit.answered && !visit.refused && child.seen().pid != 0) try_other_framing();
}

// One that waits for headers takes a line for an incomplete one, and says nothing.
void Doctor::try_other_framing() {
  // A line may also have ended it, or it has refused the line with headers of its own.
  constexpr std::array<std::string_view, 3> kOpen{"no-answer", "exited", "length-headers"};
  const bool has_reason = std::ranges::any_of(diagnosis_.findings, [&](const Finding& finding) {
    return finding.weight == Weight::breaks &&
           std::ranges::find(kOpen, finding.code) == kOpen.end();
  });
  if (has_reason || time_.is_over()) return;
  const rpc::Framing other =
      framing_ == rpc::Framing::newline ? rpc::Framing::content_length : rpc::Framing::newline;
  Conversation child(services_.conversation, other);
  if (!start(child)) return;
  const auto answer =
      ask(child, "initialize, other framing", request_of("initialize", kLanguageClient), timeout_);
  end(child);
  if (!answer) return;
  drop_findings({"no-answer", "exited", "exit-code", "length-headers"});
  diagnosis_.backend.framing = other;
  const bool is_length = other == rpc::Framing::content_length;
  if (is_length && is_of_language_server(*answer)) {
    diagnosis_.backend.protocol = config::Protocol::lsp;
    return add_finding({Weight::breaks, "length-headers",
                        "it answers messages with Content-Length headers only, and initialize as "
                        "a language server does",
                        "set protocol: lsp"});
  }
  add_finding({Weight::breaks, is_length ? "length-headers" : "no-length-headers",
               is_length ? "it answers messages with Content-Length headers only"
                         : "it answers messages in lines only",
               is_length ? "set framing: content-length; if it is a language server, protocol: lsp"
                         : "set framing: newline; if it is no language server, protocol: mcp or "
                           "jsonrpc"});
}

// --- Steps ----------------------------------------------------------------------------------

Doctor::Request Doctor::request_of(std::string_view method, std::string_view params) {
  return [method = std::string(method), params = std::string(params)](rpc::WireId id) {
    return rpc::request_text(id, method, params);
  };
}

Doctor::Request Doctor::greeting() const {
  return [this](rpc::WireId id) { return dialect().greet(id, std::nullopt); };
}

bool Doctor::start(Conversation& child) {
  const auto took = child.start(time_.left(timeout_));
  diagnosis_.steps.push_back(Step{diagnosis_.steps.empty() ? "start" : "start again",
                                  took.value_or(Duration{0}), took.has_value()});
  return took.has_value();
}

std::optional<Answer> Doctor::ask(Conversation& child, std::string_view name,
                                  const Request& request, Duration timeout) {
  const rpc::WireId id = child.next_id();
  const TimePoint began = now();
  auto answer = child.ask(id, request(id), time_.left(timeout));
  Step step{std::string(name), now() - began, answer.has_value()};
  if (!answer) step.outcome = kNoAnswer;
  if (answer && answer->is_error) step.outcome = shortened(answer->payload);
  diagnosis_.steps.push_back(std::move(step));
  return answer;
}

// Of the first process, which may have to fetch what it runs.
std::optional<Answer> Doctor::ask_first(Conversation& child, std::string_view name,
                                        const Request& request) {
  Timer notice(services_.conversation.loop.timers(), [this] {
    services_.tell(fetch_->text() + ", and perhaps still does; waiting for up to " +
                   text_of(first_timeout_));
  });
  if (fetch_) notice.arm(now() + kSilentWait);
  return ask(child, name, request, first_timeout_);
}

void Doctor::end(Conversation& child) {
  const bool was_open = !child.seen().exit;
  child.end(end_patience_);
  const Observations& seen = child.seen();
  if (seen.pid == 0 || !was_open || !seen.exit) return;
  const bool has_ended = seen.ended_after < end_patience_;
  diagnosis_.steps.push_back(Step{"end of input", seen.ended_after.value_or(Duration{0}), has_ended,
                                  has_ended ? text_of(*seen.exit) : forced_end_text(seen)});
}

void Doctor::judge(const Conversation& child, const Visit& visit, std::string_view request) {
  const FindingContext context{diagnosis_.backend,     services_.conversation.limits,
                               services_.has_variable, request,
                               visit.answered,         visit.refused,
                               visit.first_answer,     first_timeout_,
                               end_patience_,          fetch_};
  for (Finding& finding : findings_of(child.seen(), context)) {
    const bool counts = !fetch_;  // what it had fetched is there the next time
    if (counts && finding.code == "slow-start") {
      config::BackendConfig& backend = diagnosis_.backend;
      const bool is_leased = backend.isolation == config::Isolation::session;
      uint32_t& ready = is_leased ? backend.pool.warm : backend.pool.min;
      ready = std::max(ready, 1U);
    }
    if (counts && finding.code == "late") diagnosis_.backend.pool.start_timeout = 4 * timeout_;
    add_finding(std::move(finding));
  }
  if (child.seen().has_length_headers) {
    diagnosis_.backend.framing = rpc::Framing::content_length;
  }
  if (child.seen().lacks_length_headers) diagnosis_.backend.framing = rpc::Framing::newline;
  if (visit.answered) return;
  for (const VariableChoice& choice : missing_variables(child.seen().last_words)) {
    if (choice.is_given_to(diagnosis_.backend)) continue;
    diagnosis_.variables.push_back(choice.wanted(services_.has_variable));
  }
}

void Doctor::note_facts(const pool::ChildFacts& facts) {
  diagnosis_.server_name = facts.server_name;
  diagnosis_.server_version = facts.server_version;
  diagnosis_.revision = facts.protocol_version;
}

void Doctor::drop_findings(std::initializer_list<std::string_view> codes) {
  std::erase_if(diagnosis_.findings, [&codes](const Finding& finding) {
    return std::find(codes.begin(), codes.end(), finding.code) != codes.end();
  });
}

void Doctor::add_finding(Finding finding) { diagnosis_.findings.push_back(std::move(finding)); }

}  // namespace stdgate::tools
