#include "tests/support/backend_bench.h"

#include <algorithm>
#include <utility>

#include "gateway/pool/dialect.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::test {

backend::BackendOptions plain_options() {
  backend::BackendOptions options;
  options.config.name = "fake";
  options.config.command = {"fake"};
  options.config.protocol = config::Protocol::jsonrpc;
  options.config.timeout = std::chrono::seconds(10);
  options.config.pool.min_hold = Duration{0};
  return options;
}

backend::BackendOptions session_options(uint32_t max_children) {
  backend::BackendOptions options = plain_options();
  options.config.isolation = config::Isolation::session;
  options.config.pool.max = max_children;
  return options;
}

BackendBench::BackendBench(backend::BackendOptions options)
    : BackendBench(std::move(options), std::make_unique<pool::JsonRpcDialect>("$/cancelRequest")) {}

BackendBench::BackendBench(backend::BackendOptions options, std::unique_ptr<pool::Dialect> dialect)
    : backend(BackendId{0}, std::move(options), std::move(dialect), callers, services) {
  backend.start();
}

backend::Admission BackendBench::send(FakeClient& client, std::string text, session::Tag tag,
                                      bool wants_events, const TraceContext* trace) {
  rpc::EnvelopeParser parser(backend.envelope_limits());
  call::CallContext context;
  context.caller = client.caller();
  context.tag = tag;
  context.arrived = clock.now();
  context.account = account.get();
  context.wants_events = wants_events;
  context.trace = trace;
  return backend.accept(parser.parse(text).value().messages[0], context);
}

std::optional<rpc::FaultReport> BackendBench::open(FakeSession& session,
                                                   const ClientAddress& from) {
  const auto id = backend.open_session(session.caller(), session, {from, nullptr, account});
  if (!id) return id.error();
  session.id = *id;
  return std::nullopt;
}

backend::Admission BackendBench::send(FakeSession& session, std::string text, session::Tag tag) {
  rpc::EnvelopeParser parser(backend.envelope_limits());
  call::CallContext context;
  context.caller = session.caller();
  context.session = session.id;
  context.tag = tag;
  context.transport = Transport::websocket;
  context.arrived = clock.now();
  context.account = account.get();
  return backend.accept(parser.parse(text).value().messages[0], context);
}

void BackendBench::call(FakeSession& session, const std::string& id, session::Tag tag) {
  send(session, request_text(id), tag);
}

void BackendBench::call(FakeClient& client, const std::string& id, session::Tag tag) {
  send(client, request_text(id), tag);
}

void BackendBench::advance(Duration duration) {
  const TimePoint end = clock.now() + duration;
  // A timer that fires may arm another timer for the present time, so the due times are read again
  // in each round.
  for (auto due = timers.next_due(); due && *due <= end; due = timers.next_due()) {
    clock.set(std::max(clock.now(), *due));
    timers.run_due(clock.now());
    backend.check_invariants();
    accounts.check_invariants();
  }
  clock.set(end);
}

FakeChild& BackendBench::start_child() {
  FakeChild& newest = launcher.child(launcher.launched() - 1);
  newest.start();
  return newest;
}

}  // namespace stdgate::test
