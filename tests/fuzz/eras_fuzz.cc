// Fuzz target: conversations of clients and children of both eras of MCP with a backend. For the
// invariants see EraWorld.
//
// The first byte of the input chooses the children's era and isolation. Each further line is an
// event, whose first letter is its kind:
//   M, m  a client of the modern era sends the rest, anonymously or as a principal
//   F     the head of the next message has this field, NAME:VALUE
//   L, l  these clients send the rest in a session
//   R     a caller without a session and without an era sends the rest
//   X, x  a client leaves
//   C     a child sends the rest;  A, E  it answers with this result, or error;  K  it is killed
//   T, H  a second passes, or ten minutes

#include <optional>
#include <string>

#include "tests/fuzz/era_world.h"
#include "tests/fuzz/fuzz_target.h"

namespace stdgate::test::eras_fuzz {
namespace {

constexpr size_t kMaxLines = 64;

EraSetup setup_of(uint8_t how) {
  constexpr config::Revision kRevisions[] = {config::Revision::automatic, config::Revision::modern,
                                             config::Revision::legacy, config::Revision::automatic};
  EraSetup setup;
  setup.revision = kRevisions[how & 3];
  setup.children = (how & 4) != 0 ? PeerKind::stateful : PeerKind::stateless;
  setup.isolation = (how & 8) != 0 ? config::Isolation::session : config::Isolation::shared;
  setup.bridge = (how & 16) != 0;
  setup.cache = (how & 32) != 0;
  setup.is_polite = (how & 64) == 0;
  setup.serves_one = (how & 128) != 0 && setup.isolation == config::Isolation::shared;
  return setup;
}

class Conversation {
 public:
  explicit Conversation(std::string_view input)
      : world_(setup_of(static_cast<uint8_t>(input[0])), input) {}

  void act(char what, std::string_view rest) {
    std::string text(rest);
    switch (what) {
      case 'M':
      case 'm':
        return world_.say_modern(what == 'm' ? 1 : 0, std::move(text),
                                 std::exchange(fields_, std::nullopt));
      case 'F':
        fields_ = fields_.value_or("") + text + "\n";
        return;
      case 'L':
      case 'l':
        return world_.say_in_session(what == 'l' ? 1 : 0, std::move(text));
      case 'R':
        return world_.say_plain(std::move(text));
      case 'X':
      case 'x':
        return world_.leave(what == 'x' ? 1 : 0);
      case 'C':
        return world_.child_says(std::move(text));
      case 'A':
        return world_.child_answers("\"result\":" + text);
      case 'E':
        return world_.child_answers("\"error\":" + text);
      case 'K':
        return world_.kill_child();
      case 'T':
        return world_.pass(std::chrono::seconds(1));
      case 'H':
        return world_.pass(std::chrono::minutes(10));
      default:
        return;
    }
  }
  void stop() { world_.stop(); }

 private:
  EraWorld world_;
  std::optional<std::string> fields_;
};

void check(std::string_view input) {
  if (input.empty()) return;
  Conversation conversation(input);
  input.remove_prefix(1);
  for (size_t lines = 0; !input.empty() && lines < kMaxLines; ++lines) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    if (!line.empty()) conversation.act(line[0], line.substr(1));
  }
  conversation.stop();
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::eras_fuzz
