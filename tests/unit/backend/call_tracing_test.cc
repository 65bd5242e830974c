// Which trace a call belongs to, whether the call is recorded, and what its child is told.
#include <optional>
#include <string>

#include "gateway/call/splice.h"
#include "gateway/call/trace_filter.h"
#include "gateway/pool/dialect.h"
#include "tests/support/backend_fixture.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::test {
namespace {

constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const std::string kOther = "00-11111111111111111111111111111111-2222222222222222-00";

TraceContext header(const std::string& traceparent, const std::string& state = "") {
  TraceContext trace;
  trace.read(traceparent);
  trace.add_state(state);
  return trace;
}

std::string with_params(const std::string& params) {
  return R"({"jsonrpc":"2.0","id":1,"method":"m","params":)" + params + "}";
}

class Tracing : public testing::Test {
 protected:
  Tracing() {
    backend_.protocol = config::Protocol::mcp;
    config_.sample = 1;
  }

  // Begins a call with this text, whose header names this trace.
  void begin(const std::string& text, const TraceContext& trace = {}) {
    text_.emplace(text);
    call_ = calls_.take();
    call::CallContext context;
    context.trace = &trace;
    tracing_.on_begin(*call_, {context, &text_->envelope, "m"});
    call::End end;
    end.record = &record_;
    tracing_.on_end(*call_, end);
  }
  // The message as it is sent to a child of this era. `stamp`: what a modern child demands; empty
  // if the message has it already.
  std::string told(std::string_view stamp = {}, PeerKind peer_kind = PeerKind::stateful) {
    if (stamp.empty()) return told_with({}, peer_kind);
    auto insertion = call::insertion_at(call::InsertionPlace::meta, text_->envelope, stamp);
    insertion->only_for = PeerKind::stateless;
    return told_with(std::span(&*insertion, 1), peer_kind);
  }
  std::string told_with(std::span<const call::Insertion> changes, PeerKind peer_kind) {
    const rpc::Envelope& request = text_->envelope;
    call::Outgoing message;
    message.text = request.text;
    message.inserted = changes;
    tracing_.tell_child(request, *call_, message);
    call::Splice splice(message, std::nullopt, peer_kind);
    std::string written;
    for (const std::string_view part : splice.framed("", "")) written += part;
    return written;
  }
  // The traceparent that names the call's span.
  [[nodiscard]] std::string own() const {
    return "\"traceparent\":\"" + std::string(TraceParentText(trace(), record_.span).view()) + "\"";
  }
  [[nodiscard]] const TraceContext& trace() const { return *record_.trace; }
  [[nodiscard]] std::string trace_id() const { return std::string(TraceIdText(trace()).view()); }

  Random random_{3};
  config::TracesConfig config_;
  const config::TracesConfig* traces_ = &config_;
  config::BackendConfig backend_;
  call::CallStore calls_{1, 2};
  call::TraceFilter tracing_{traces_, random_, backend_, calls_};
  CallRecord record_;
  std::optional<ParsedText> text_;
  call::CallPtr call_;
};

TEST_F(Tracing, IsOffWithoutAConfiguration) {
  traces_ = nullptr;
  begin(with_params("{}"), header(kParent));
  EXPECT_EQ(trace_id(), kTrace) << "for the record";
  EXPECT_EQ(record_.span, 0U);
  EXPECT_EQ(told(), with_params("{}"));
}

TEST_F(Tracing, TheHeaderNamesTheTrace) {
  begin(with_params("{}"), header(kParent, "a=1"));
  EXPECT_EQ(trace_id(), kTrace);
  EXPECT_EQ(trace().parent(), 0x00f067aa0ba902b7U);
  EXPECT_TRUE(trace().is_sampled());
  EXPECT_NE(record_.span, 0U);
  EXPECT_EQ(told(), with_params("{\"_meta\":{" + own() + R"(,"tracestate":"a=1"}})"));
}

TEST_F(Tracing, TheMessageNamesItBeforeTheHeader) {
  const std::string meta =
      R"({"_meta":{"a":1,"traceparent":"@","tracestate":"b=2","baggage":"k=v"}})";
  const auto params = [&](const std::string& parent) {
    return with_params(std::string(meta).replace(meta.find("\"traceparent"), 17, parent));
  };
  begin(params("\"traceparent\":\"" + kParent + "\""), header(kOther, "a=1"));
  EXPECT_EQ(trace_id(), kTrace);
  EXPECT_EQ(trace().state, "b=2");
  EXPECT_EQ(told(), params(own())) << "the rest is untouched";
}

// An invalid traceparent is replaced, so that a child always receives a valid one and only one.
TEST_F(Tracing, AMalformedOneCountsAsNone) {
  for (const std::string bad :
       {"\"\"", "1", "null", "{}", "\"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"",
        "\"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01\"",
        "\"00-00000000000000000000000000000000-00f067aa0ba902b7-01\"",
        "\"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01\""}) {
    begin(with_params("{\"_meta\":{\"traceparent\":" + bad + "}}"), header(kOther));
    EXPECT_EQ(trace_id(), "11111111111111111111111111111111") << bad;
    EXPECT_EQ(told(), with_params("{\"_meta\":{" + own() + "}}")) << bad;
    begin(with_params("{\"_meta\":{\"traceparent\":" + bad + "}}"));
    EXPECT_FALSE(trace().has_parent()) << bad;
  }
}

TEST_F(Tracing, ATraceBeginsWhereThereIsNone) {
  begin(request_text("1"));
  EXPECT_FALSE(trace().is_none());
  EXPECT_FALSE(trace().has_parent());
  EXPECT_TRUE(trace().is_sampled());
  EXPECT_THAT(told(), HasSubstr("\"params\":{\"_meta\":{" + own() + "}}"));
  const std::string first = trace_id();
  begin(request_text("1"));
  EXPECT_NE(trace_id(), first);
}

TEST_F(Tracing, TheCallersDecisionHolds) {
  config_.sample = 1;
  begin(with_params("{}"), header(kOther));
  EXPECT_FALSE(trace().is_sampled());
  EXPECT_THAT(told(), HasSubstr("-00\"")) << "and is passed on";
  config_.sample = 0;
  begin(with_params("{}"), header(kParent));
  EXPECT_TRUE(trace().is_sampled());
  EXPECT_THAT(told(), HasSubstr("-01\""));
}

TEST_F(Tracing, APartOfTheTracesThatBeginIsRecorded) {
  const auto recorded_of_1000 = [&](double sample) {
    config_.sample = sample;
    int recorded = 0;
    for (int i = 0; i < 1000; ++i) {
      begin(request_text("1"));
      recorded += trace().is_sampled() ? 1 : 0;
    }
    return recorded;
  };
  EXPECT_EQ(recorded_of_1000(0), 0);
  EXPECT_EQ(recorded_of_1000(1), 1000);
  EXPECT_NEAR(recorded_of_1000(0.25), 250, 60);
}

// The last 56 bits of the id decide, so that other samplers keep the same traces.
TEST_F(Tracing, TheIdDecides) {
  config_.sample = 0.5;
  for (int i = 0; i < 100; ++i) {
    begin(request_text("1"));
    EXPECT_EQ(trace().is_sampled(), trace().trace_id[9] >= 0x80);
  }
}

TEST_F(Tracing, WhatCannotHaveMetaIsLeftAlone) {
  for (const std::string params : {"[1]", R"({"_meta":1})", R"({"_meta":{},"_meta":{}})",
                                   R"({"_meta":{"traceparent":"a","traceparent":"b"}})"}) {
    begin(with_params(params), header(kParent));
    EXPECT_EQ(told(), with_params(params));
  }
}

TEST_F(Tracing, ATraceStateOfTheMessageIsUntouched) {
  begin(with_params(R"({"_meta":{"tracestate":"b=2"}})"), header(kParent, "a=1"));
  EXPECT_EQ(told(), with_params("{\"_meta\":{" + own() + R"(,"tracestate":"b=2"}})"));
  begin(with_params("{}"), header(kParent, "a=\"1\\"));
  EXPECT_THAT(told(), HasSubstr(R"("tracestate":"a=\"1\\")")) << "as JSON";
}

TEST_F(Tracing, GoesTogetherWithAStamp) {
  const std::string stamp = R"("v":"1")";
  begin(with_params("{}"), header(kParent));
  EXPECT_EQ(told(stamp), with_params("{\"_meta\":{" + own() + "}}"));
  EXPECT_EQ(told(stamp, PeerKind::stateless),
            with_params("{\"_meta\":{" + own() + "," + stamp + "}}"));
  begin(with_params(R"({"_meta":{"a":1}})"), header(kParent));
  EXPECT_EQ(told(stamp, PeerKind::stateless),
            with_params("{\"_meta\":{" + own() + "," + stamp + ",\"a\":1}}"));
  begin(with_params("{\"_meta\":{\"traceparent\":\"" + kParent + "\"}}"));
  EXPECT_EQ(told(stamp), with_params("{\"_meta\":{" + own() + "}}"));
  EXPECT_EQ(told(stamp, PeerKind::stateless),
            with_params("{\"_meta\":{" + stamp + "," + own() + "}}"));
}

TEST_F(Tracing, StaysWhereAllElseIsTaken) {
  const std::string gone = R"("v":"1")";
  call::Insertion omission;
  omission.only_for = PeerKind::stateful;
  const auto changes = std::span(&omission, 1);
  begin(with_params("{\"_meta\":{" + gone + "}}"), header(kParent));
  omission.offset = text_->envelope.text.find(gone);
  omission.replaced = gone.size();
  omission.empties = true;
  EXPECT_EQ(told_with(changes, PeerKind::stateful), with_params("{\"_meta\":{" + own() + "}}"));
  EXPECT_EQ(told_with(changes, PeerKind::stateless),
            with_params("{\"_meta\":{" + own() + "," + gone + "}}"));
  begin(with_params("{\"_meta\":{" + gone + R"(,"a":1}})"), header(kParent));
  omission.replaced += 1;
  omission.empties = false;
  EXPECT_EQ(told_with(changes, PeerKind::stateful),
            with_params("{\"_meta\":{" + own() + R"(,"a":1}})"));
}

TEST_F(Tracing, PassesTheHeadersBaggageOn) {
  TraceContext head;
  head.baggage = Baggage("user=ada;ttl=1 , shop=%20");
  const std::string members = R"("baggage":"user=ada;ttl=1 , shop=%20")";
  begin(with_params("{}"), head);
  EXPECT_FALSE(trace().has_parent()) << "it needs no trace";
  EXPECT_EQ(told(), with_params("{\"_meta\":{" + own() + "," + members + "}}"));
  EXPECT_EQ(told(R"("v":"1")", PeerKind::stateless),
            with_params("{\"_meta\":{" + own() + "," + members + R"(,"v":"1"}})"));
  begin(with_params(R"({"_meta":{"a":1}})"), head);
  EXPECT_EQ(told(), with_params("{\"_meta\":{" + own() + "," + members + R"(,"a":1}})"));
  begin(with_params(R"({"_meta":{"traceparent":")" + kParent + R"(","a":1}})"), head);
  EXPECT_EQ(trace_id(), kTrace);
  EXPECT_EQ(told(), with_params("{\"_meta\":{" + own() + "," + members + R"(,"a":1}})"));
}

TEST_F(Tracing, TheMessagesOwnBaggageIsUntouched) {
  TraceContext head = header(kOther);
  head.baggage = Baggage("a=1");
  for (const std::string kept :
       {R"("baggage":"b=2")", R"("baggage":"")", R"("baggage":1)", R"("baggage":"","baggage":1)"}) {
    begin(with_params("{\"_meta\":{" + kept + "}}"), head);
    EXPECT_EQ(told(), with_params("{\"_meta\":{" + own() + "," + kept + "}}"));
    begin(with_params("{\"_meta\":{" + kept + R"(,"traceparent":")" + kParent + "\"}}"), head);
    EXPECT_EQ(told(), with_params("{\"_meta\":{" + kept + "," + own() + "}}"));
  }
}

// Plain JSON-RPC has no `_meta`, so it is neither read nor written.
TEST_F(Tracing, OtherProtocolsHaveTheHeaderAlone) {
  backend_.protocol = config::Protocol::jsonrpc;
  const std::string text = with_params("{\"_meta\":{\"traceparent\":\"" + kOther + "\"}}");
  begin(text, header(kParent));
  EXPECT_EQ(trace_id(), kTrace);
  EXPECT_EQ(told(), text);
}

class TracedBackend : public testing::Test {
 protected:
  static backend::BackendOptions options() {
    backend::BackendOptions options = plain_options();
    options.config.protocol = config::Protocol::mcp;
    options.config.pool.min = options.config.pool.max = 1;
    options.config.pool.max_in_flight = 1;
    return options;
  }
  config::TracesConfig traces_;
  const TraceContext parent_ = header(kParent);
  BackendBench bench_{options()};
  FakeClient client_{bench_.callers};
  FakeChild& child_ = bench_.start_child();
};

TEST_F(TracedBackend, TellsObserverAndChildOfTheSameSpan) {
  bench_.services.traces = &traces_;
  for (const char* id : {"1", "2"}) bench_.send(client_, request_text(id), 0, false, &parent_);
  for (size_t i = 0; i < 2; ++i) {  // the second call has waited in the queue
    const std::string line = child_.take_line();
    child_.answer(id_in(line));
    ASSERT_EQ(bench_.observer.records.size(), i + 1);
    const auto& record = bench_.observer.records.back();
    EXPECT_EQ(record.trace, parent_);
    EXPECT_NE(record.span, 0U);
    EXPECT_THAT(line, HasSubstr("\"_meta\":{\"traceparent\":\"" +
                                std::string(TraceParentText(parent_, record.span).view()) + "\"}"));
  }
}

TEST_F(TracedBackend, RefusedCallsHaveATraceToo) {
  bench_.services.traces = &traces_;
  bench_.send(client_, R"({"jsonrpc":"2.0","id":1,"method":7})");
  ASSERT_EQ(bench_.observer.records.size(), 1U);
  EXPECT_FALSE(bench_.observer.records[0].trace.is_none());
  EXPECT_NE(bench_.observer.records[0].span, 0U);
}

TEST_F(TracedBackend, IsUntouchedWithoutAConfiguration) {
  bench_.send(client_, request_text("1"), 0, false, &parent_);
  const std::string line = child_.take_line();
  EXPECT_THAT(line, Not(HasSubstr("_meta")));
  child_.answer(id_in(line));
  EXPECT_EQ(bench_.observer.records[0].trace, parent_);
  EXPECT_EQ(bench_.observer.records[0].span, 0U);
}

}  // namespace
}  // namespace stdgate::test
