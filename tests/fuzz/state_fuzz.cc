// Fuzz target: any file of state_dir is either read as it was written, or not at all. An answer
// from its content is one message with the client's id.
//
// The input serves as the whole file, and also as the text in a file with a correct frame. An
// attacker who can write files can also compute the frame's digest.

#include <string>

#include "gateway/app/state_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/json_oracle.h"
#include "tests/support/rpc_texts.h"
#include "tests/unit/mcp/memory_bench.h"

namespace stdgate::test::state_fuzz {
namespace {

constexpr std::string_view kKey = "a key\nof two lines";

void check_file(std::string_view bytes) {
  const auto text = app::read_state_file(kKey, bytes);
  if (text) require(app::state_file(kKey, *text) == bytes, "a file has one form", bytes);
  const auto framed = app::read_state_file(kKey, app::state_file(kKey, bytes));
  require(framed == bytes, "a file is read as it was written", bytes);
}

// Whether the file was accepted as the memory of a server.
bool check_memory(mcp::ServerMemory& memory, std::string_view bytes) {
  if (!memory.read(std::string(bytes))) {
    require(memory.bytes() == 0 && memory.words().empty(), "what is no good is nothing", bytes);
    return false;
  }
  require(memory.bytes() <= mcp::ServerMemory::kMaxBytes, "what is kept has a limit", bytes);
  mcp::ServerMemory again([] {});
  require(again.read(memory.text()), "what is written can be read", bytes);
  require(again.text() == memory.text(), "it is written as before", bytes);
  require(again.lists_differ() == memory.lists_differ(), "it is found out as before", bytes);
  return true;
}

void check_answers(config::Isolation isolation, std::string_view bytes) {
  const auto memory = MemoryBench::fresh();
  if (!check_memory(*memory, bytes)) return;
  MemoryBench bench(isolation, memory);
  FakeSession session(bench.callers);
  if (bench.open(session)) return;
  bench.send(session, greeting());
  bench.send(session, note_text("notifications/initialized"));
  for (const mcp::McpListing& list : mcp::kMcpListings) {
    bench.send(session, request_text("2", std::string(list.method)));
  }
  bench.send(session, request_text("3", "ping"));
  for (const std::string& text : session.take()) {
    require(oracle_accepts(text) && text.find('\n') == std::string::npos, "it is JSON", bytes);
    const ParsedText answer(text);
    const bool is_answer = answer.envelope.kind == rpc::MessageKind::result ||
                           answer.envelope.kind == rpc::MessageKind::error;
    require(is_answer, "it is an answer", bytes);
  }
  bench.backend.check_invariants();
  bench.close(session);
}

}  // namespace

void run(std::string_view input) {
  check_file(input);
  for (const auto isolation : {config::Isolation::shared, config::Isolation::session}) {
    check_answers(isolation, input);
  }
}

}  // namespace stdgate::test::state_fuzz
