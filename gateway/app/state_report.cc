#include "gateway/app/state_report.h"

#include <array>
#include <charconv>

#include "gateway/config/value_names.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::app {

namespace {

void write_seconds(rpc::JsonWriter& json, std::string_view key, Duration value) {
  json.raw(key, std::to_string(to_seconds(value)));
}

void write_child(rpc::JsonWriter& json, const pool::ChildStatus& child) {
  json.number("number", child.number);
  json.number("pid", static_cast<uint64_t>(child.pid));
  json.text("state", child_state_name(child.state));
  json.number("in_flight", child.in_flight);
  json.number("unsent_bytes", child.unsent_bytes);
  json.number("calls", child.calls);
  if (child.states > 0) json.number("states", child.states);
  if (child.tasks > 0) json.number("tasks", child.tasks);
  if (child.leased) json.boolean("leased", true);
  if (child.memory > 0) json.number("memory_bytes", child.memory);
  if (child.replaced_for) json.text("replaced_for", replace_reason_name(*child.replaced_for));
  if (child.waits_for != pool::ReplaceWait::none) {
    json.text("waits_for", pool::replace_wait_name(child.waits_for));
  }
  if (!child.principal.empty()) json.text("principal", child.principal);
  write_seconds(json, "age_seconds", child.age);
  const pool::ChildFacts& facts = child.facts;
  if (!facts.protocol_version.empty()) json.text("protocol_version", facts.protocol_version);
  if (facts.server_name.empty()) return;
  json.begin_object("server");
  json.text("name", facts.server_name);
  json.text("version", facts.server_version);
  json.end_object();
}

void write_sessions(rpc::JsonWriter& json, std::string_view key,
                    const std::vector<pool::SessionStatus>& sessions) {
  json.begin_array(key);
  for (const pool::SessionStatus& session : sessions) {
    json.begin_object();
    json.text("state", session_state_name(session.state));
    if (!session.client.empty()) json.text("client", session.client);
    if (!session.address.empty()) json.text("address", session.address);
    json.number("messages", session.messages);
    write_seconds(json, "age_seconds", session.age);
    write_seconds(json, "idle_seconds", session.idle);
    json.end_object();
  }
  json.end_array();
}

void write_texts(rpc::JsonWriter& json, std::string_view key,
                 const std::vector<std::string_view>& texts) {
  json.begin_array(key);
  for (const std::string_view text : texts) json.text({}, text);
  json.end_array();
}

void write_sandbox(rpc::JsonWriter& json, const pool::SandboxStatus& sandbox) {
  json.begin_object("sandbox");
  json.boolean("required", sandbox.required);
  write_texts(json, "holds", sandbox.holds);
  write_texts(json, "lacks", sandbox.lacks);
  if (!sandbox.missing.empty()) json.text("missing", sandbox.missing);
  json.number("incomplete_starts", sandbox.incomplete_starts);
  json.end_object();
}

void write_exits(rpc::JsonWriter& json, const std::vector<pool::ChildExit>& exits) {
  json.begin_array("exits");
  for (const pool::ChildExit& exit : exits) {
    json.begin_object();
    json.number("number", exit.number);
    json.number("pid", static_cast<uint64_t>(exit.pid));
    json.text("reason", exit_reason_name(exit.reason));
    json.boolean("failed", exit.failed);
    json.text("detail", exit.detail);
    if (!exit.hint.empty()) json.text("hint", exit.hint);
    if (!exit.principal.empty()) json.text("principal", exit.principal);
    json.number("in_flight", exit.in_flight);
    write_seconds(json, "lived_seconds", exit.lived);
    write_seconds(json, "age_seconds", exit.age);
    json.begin_array("stderr");
    for (const std::string& line : exit.last_words) json.text({}, line);
    json.end_array();
    json.end_object();
  }
  json.end_array();
}

void write_counts(rpc::JsonWriter& json, std::string_view key,
                  const std::vector<NamedCount>& counts) {
  json.begin_object(key);
  for (const NamedCount& one : counts) json.number(one.name, one.count);
  json.end_object();
}

void write_buckets(rpc::JsonWriter& json, std::string_view key, const BucketCounts& buckets) {
  json.begin_array(key);
  for (const uint64_t count : buckets) json.number({}, count);
  json.end_array();
}

void write_durations(rpc::JsonWriter& json, std::string_view key,
                     const std::vector<NamedDurations>& all) {
  json.begin_array(key);
  for (const NamedDurations& one : all) {
    json.begin_object();
    json.text("name", one.name);
    json.number("calls", one.calls);
    json.number("failures", one.failures);
    write_buckets(json, "total", one.total);
    if (!one.child.empty()) write_buckets(json, "child", one.child);
    json.end_object();
  }
  json.end_array();
}

void write_backend_counts(rpc::JsonWriter& json, const BackendCounts& counts) {
  write_counts(json, "outcomes", counts.outcomes);
  write_counts(json, "rejected", counts.rejected);
  write_counts(json, "dropped", counts.dropped);
  if (!counts.pins.empty()) write_counts(json, "pins", counts.pins);
  json.begin_object("durations");
  write_buckets(json, "total", counts.total);
  write_buckets(json, "queue", counts.queue);
  write_buckets(json, "child", counts.child);
  json.end_object();
  write_durations(json, "methods", counts.methods);
  write_durations(json, "tools", counts.tools);
}

// Empty parts are left out.
void write_held(rpc::JsonWriter& json, const HeldBytes& held) {
  json.begin_object("held_bytes");
  for (size_t i = 0; i < kHoldingCount; ++i) {
    if (held.of[i] > 0) json.number(holding_name(static_cast<Holding>(i)), held.of[i]);
  }
  json.end_object();
}

void write_memory(rpc::JsonWriter& json, const MemoryFacts& memory) {
  constexpr size_t kMaxClients = 5;
  const policy::Accounts& accounts = *memory.accounts;
  json.begin_object("memory");
  json.number("resident_bytes", memory.resident);
  json.number("limit_bytes", memory.limit);
  json.number("held_bytes", accounts.gateway().used());
  json.number("held_limit_bytes", accounts.bounds().gateway);
  json.number("held_limit_per_client_bytes", accounts.bounds().client);
  json.begin_object("at_no_backend");
  write_held(json, accounts.unrouted());
  json.end_object();
  json.begin_array("largest_clients");
  for (const auto& [client, bytes] : accounts.largest(kMaxClients)) {
    json.begin_object();
    json.text("client", client);
    json.number("held_bytes", bytes);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

// The members of a virtual server.
void write_members(rpc::JsonWriter& json, const std::vector<pool::MemberStatus>& members) {
  if (members.empty()) return;
  json.begin_array("members");
  for (const pool::MemberStatus& member : members) {
    json.begin_object();
    json.text("backend", member.backend);
    json.boolean("up", member.is_up);
    if (member.is_starting) json.text("state", "starting");
    if (!member.is_up && !member.reason.empty()) json.text("reason", member.reason);
    json.begin_array("tools");
    for (const std::string& tool : member.tools) json.text({}, tool);
    json.end_array();
    json.number("prompts", member.prompts);
    json.number("resources", member.resources);
    json.begin_object("calls");
    for (size_t i = 0; i < kMemberEndNames.size(); ++i) {
      json.number(kMemberEndNames[i], member.ended[i]);
    }
    json.end_object();
    json.end_object();
  }
  json.end_array();
}

void write_backend(rpc::JsonWriter& json, const backend::Upstream& upstream,
                   const pool::BackendStatus& backend) {
  json.text("name", backend.name);
  json.text("protocol", config::name_of(upstream.protocol()));
  json.boolean("default", upstream.is_default());
  json.boolean("required", upstream.is_required());
  json.text("isolation", config::name_of(backend.isolation));
  if (backend.peer_kind && upstream.protocol() == config::Protocol::mcp)
    json.text("era", peer_kind_name(*backend.peer_kind));
  if (backend.max_children > 0) json.number("max_children", backend.max_children);
  if (backend.max_queued > 0) json.number("max_queued", backend.max_queued);
  json.boolean("ready", backend.ready);
  json.text("state", pool::backend_state_name(backend.state));
  if (!backend.reason.empty()) json.text("reason", backend.reason);
  if (upstream.protocol() == config::Protocol::mcp) {
    json.boolean("asleep", backend.asleep);
    write_texts(json, "remembered", backend.remembered);
  }
  if (!backend.not_remembered.empty()) json.text("not_remembered", backend.not_remembered);
  if (!backend.replaced.empty()) {
    json.begin_object("replaced");
    for (const auto& [reason, count] : backend.replaced) json.number(reason, count);
    json.end_object();
  }
  json.number("in_flight", backend.in_flight);
  json.number("sessions", backend.sessions);
  json.number("parked_sessions", backend.parked_sessions);
  json.number("session_places", backend.session_places);
  json.number("missing_places", backend.missing_places);
  json.number("parked_calls", backend.parked_calls);
  json.number("watches", backend.watches);
  write_sessions(json, "oldest_sessions", backend.oldest_sessions);
  write_sessions(json, "longest_idle_sessions", backend.longest_idle_sessions);
  write_sessions(json, "busiest_sessions", backend.busiest_sessions);
  json.number("queued", backend.queued);
  json.number("queued_bytes", backend.queued_bytes);
  if (upstream.held() != nullptr && upstream.held()->total() > 0) {
    write_held(json, *upstream.held());
  }
  json.number("failures_in_a_row", backend.failures);
  json.boolean("breaker_open", backend.breaker_open);
  write_seconds(json, "retry_after_seconds", backend.retry_after);
  if (backend.sandbox.used) write_sandbox(json, backend.sandbox);
  json.begin_array("children");
  for (const pool::ChildStatus& child : backend.children) {
    json.begin_object();
    write_child(json, child);
    json.end_object();
  }
  json.end_array();
  write_exits(json, backend.exits);
  write_members(json, backend.members);
}

void write_confinement(rpc::JsonWriter& json, const pool::Confinement& confinement) {
  json.number("landlock_abi", static_cast<uint64_t>(confinement.landlock_abi));
  json.boolean("children_apart", confinement.children_apart);
  json.boolean("signals_scoped", confinement.signals_scoped);
  json.boolean("abstract_sockets_scoped", confinement.abstract_sockets_scoped);
  json.number("unconfined_starts", confinement.unconfined_starts);
  json.boolean("gateway_dumpable", confinement.gateway_dumpable);
  json.boolean("runs_as_root", confinement.runs_as_root);
  json.boolean("syscalls_filtered", confinement.syscalls_filtered);
  write_texts(json, "children_keep_capabilities", confinement.capabilities);
}

void write_reloads(rpc::JsonWriter& json, const ReloadFacts& reloads) {
  json.begin_object("configuration");
  json.number("reloads", reloads.good);
  json.number("failed_reloads", reloads.failed);
  if (!reloads.problem.empty()) json.text("problem", reloads.problem);
  json.begin_array("needs_restart");
  for (const std::string& key : reloads.restart) json.text({}, key);
  json.end_array();
  json.end_object();
}

void write_listeners(rpc::JsonWriter& json, const GatewayFacts& facts) {
  json.begin_array("listeners");
  for (const ListenerFacts& listener : facts.listeners) {
    json.begin_object();
    json.text("url", listener.url);
    json.boolean("admin", listener.is_admin);
    json.end_object();
  }
  json.end_array();
  if (facts.tls.empty()) return;
  json.begin_array("tls");
  for (const TlsFacts& tls : facts.tls) {
    json.begin_object();
    json.text("listener", tls.listener);
    json.text("client_certificate", tls.client_certificate);
    json.begin_array("certificates");
    for (const TlsFacts::Certificate& certificate : tls.certificates) {
      json.begin_object();
      json.text("file", certificate.file);
      json.raw("expires", std::to_string(certificate.not_after));
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.number("handshakes", facts.handshakes);
}

void write_issuers(rpc::JsonWriter& json, const std::vector<IssuerFacts>& issuers) {
  if (issuers.empty()) return;
  json.begin_array("issuers");
  for (const IssuerFacts& issuer : issuers) {
    json.begin_object();
    json.text("issuer", issuer.issuer);
    json.text("source", issuer.source);
    json.number("keys", issuer.keys);
    if (issuer.age) write_seconds(json, "age_seconds", *issuer.age);
    if (!issuer.problem.empty()) json.text("problem", issuer.problem);
    json.end_object();
  }
  json.end_array();
}

void write_snippets(rpc::JsonWriter& json, const std::vector<Snippet>& snippets) {
  json.begin_array("snippets");
  for (const Snippet& snippet : snippets) {
    json.begin_object();
    json.text("client", snippet.client);
    json.text("where", snippet.where);
    json.text("text", snippet.text);
    json.end_object();
  }
  json.end_array();
}

void write_bounds(rpc::JsonWriter& json, const std::vector<double>& bounds) {
  json.begin_array("bucket_bounds_seconds");
  for (const double bound : bounds) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), bound).ptr;
    json.raw({}, {digits.data(), static_cast<size_t>(end - digits.data())});
  }
  json.end_array();
}

}  // namespace

std::string state_report(const GatewayFacts& facts, const backend::Upstreams& backends) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
  json.begin_object();
  json.text("version", facts.version);
  write_seconds(json, "uptime_seconds", facts.uptime);
  json.boolean("draining", facts.draining);
  json.number("connections", facts.connections);
  if (facts.reloads != nullptr) write_reloads(json, *facts.reloads);
  write_listeners(json, facts);
  write_issuers(json, facts.issuers);
  if (facts.memory.accounts != nullptr) write_memory(json, facts.memory);
  json.begin_object("confinement");
  write_confinement(json, facts.confinement);
  json.end_object();
  json.begin_array("backends");
  for (const auto& backend : backends.all()) {
    json.begin_object();
    write_backend(json, *backend, backend->status());
    if (facts.counts != nullptr && backend->id() < facts.counts->backends.size()) {
      write_backend_counts(json, facts.counts->backends[backend->id()]);
    }
    json.end_object();
  }
  json.end_array();
  json.begin_array("retired");
  for (const auto& backend : backends.retired()) {
    json.begin_object();
    write_backend(json, *backend, backend->status());
    json.end_object();
  }
  json.end_array();
  if (facts.counts != nullptr) {
    write_counts(json, "refusals", facts.counts->refusals);
    write_bounds(json, facts.counts->bounds);
  }
  if (facts.snippets != nullptr) write_snippets(json, *facts.snippets);
  if (!facts.configuration.empty()) json.text("effective_configuration", facts.configuration);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace stdgate::app
