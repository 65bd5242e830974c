// How pool.max is divided between calls (pool.min) and sessions (pool.warm). Each rule is tested at
// its limit and one beyond, with the whole error.
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"
#include "gateway/config/value_names.h"

namespace stdgate {
namespace {

std::string lanes_errors(const std::string& yaml) {
  const auto config = config::parse_config(yaml, {});
  if (config) return "";
  std::string lines;
  for (const config::ConfigError& error : config.error()) lines += error.to_string("f") + "\n";
  return lines;
}

// A backend with `options` (such as "protocol: lsp, ", on line 2) and `pool` (on line 3, its keys
// from column 13 on). An expected error begins with the place and the key.
struct Case {
  std::string options;
  std::string pool;
  std::string errors;
};

void check_lanes(const Case& c) {
  const std::string yaml =
      "backends: { a: {\n    " + c.options + "command: [x],\n    pool: { " + c.pool + " } } }\n";
  EXPECT_EQ(lanes_errors(yaml), c.errors) << yaml;
}

const std::string kShared = "protocol: jsonrpc, ";  // isolation is shared by default
const std::string kLsp = "protocol: lsp, ";

TEST(ConfigLanes, SharedChildrenAreNotWarmed) {
  const std::string refusal =
      " is for sessions with a child of their own; with isolation shared use min\n";
  for (const std::string& options : {kShared, std::string("isolation: shared, ")}) {
    check_lanes({options, "min: 16", ""});
    check_lanes({options, "min: 1, max: 1", ""});
    check_lanes({options, "warm: 0", ""});
    check_lanes({options, "warm: 1", "f:3:19: backends.a.pool.warm: warm (1)" + refusal});
    check_lanes({options, "sessions: 7", ""});
  }
}

TEST(ConfigLanes, SessionsLeaveAChildToCalls) {
  const std::string all_kept =
      " for /rpc and leaves no child for sessions; lower min, raise max, or use isolation shared\n";
  const Case cases[] = {
      {"", "min: 15", ""},
      {"", "min: 16", "f:3:18: backends.a.pool.min: min (16) keeps all of max (16)" + all_kept},
      {"", "min: 1, max: 2", ""},
      {"", "min: 2, max: 2",
       "f:3:18: backends.a.pool.min: min (2) keeps all of max (2)" + all_kept},
      // The rest of max without a min.
      {"", "warm: 15", ""},
      {"", "warm: 16",
       "f:3:19: backends.a.pool.warm: warm (16) is greater than 15, what is left of max (16) "
       "beside 1 kept for /rpc\n"},
      // One child is kept for calls in any case, so a min of 1 changes nothing.
      {"", "min: 1, max: 4, warm: 3", ""},
      {"", "min: 1, max: 4, warm: 4",
       "f:3:35: backends.a.pool.warm: warm (4) is greater than 3, what is left of max (4) beside "
       "1 kept for /rpc\n"},
      {"", "min: 3, max: 4, warm: 1", ""},
      {"", "min: 3, max: 4, warm: 2",
       "f:3:35: backends.a.pool.warm: warm (2) is greater than 1, what is left of max (4) beside "
       "3 kept for /rpc\n"},
      // A pool of one child cannot be divided.
      {"", "max: 1", ""},
      {"", "min: 1, max: 1", ""},
      {"", "max: 1, warm: 0", ""},
      {"", "max: 1, warm: 1",
       "f:3:27: backends.a.pool.warm: warm (1) is greater than 0, what is left of max (1) beside "
       "1 kept for /rpc\n"},
      {"", "min: 1, max: 1, warm: 1",
       "f:3:35: backends.a.pool.warm: warm (1) is greater than 0, what is left of max (1) beside "
       "1 kept for /rpc\n"},
  };
  for (const std::string& options :
       {std::string(), std::string("protocol: jsonrpc, isolation: session, ")}) {
    for (const Case& c : cases) check_lanes({options, c.pool, c.errors});
  }
}

TEST(ConfigLanes, ALanguageServerHasSessionsOnly) {
  const std::string refusal =
      " is for children that clients share, and a language server serves one client; use warm\n";
  const Case cases[] = {
      {kLsp, "min: 0", ""},
      {kLsp, "min: 1", "f:3:18: backends.a.pool.min: min (1)" + refusal},
      {kLsp, "max: 1, warm: 1", ""},
      {kLsp, "max: 1, warm: 2", "f:3:27: backends.a.pool.warm: warm (2) is greater than max (1)\n"},
      {kLsp, "warm: 16", ""},
      {kLsp, "warm: 17", "f:3:19: backends.a.pool.warm: warm (17) is greater than max (16)\n"},
      {kLsp, "min: 2, max: 2, warm: 3",
       "f:3:18: backends.a.pool.min: min (2)" + refusal +
           "f:3:35: backends.a.pool.warm: warm (3) is greater than max (2)\n"},
  };
  for (const Case& c : cases) check_lanes(c);
}

// An invalid value causes no errors about other keys, and hides no independent errors.
TEST(ConfigLanes, OneErrorIsNotTwo) {
  const std::string no_max =
      "f:3:18: backends.a.pool.max: expected a whole number from 1 to 1024, found '0'\n";
  const std::string isolation =
      "f:2:16: backends.a.isolation: expected one of shared, session, principal; found 'none'\n";
  const Case cases[] = {
      {"", "max: 0, min: 17, warm: 17", no_max},
      {"", "min: 3, max: 2, warm: 2",
       "f:3:18: backends.a.pool.min: min (3) is greater than max (2)\n"},
      {"", "min: 2, max: 2, warm: 1",
       "f:3:18: backends.a.pool.min: min (2) keeps all of max (2) for /rpc and leaves no child for "
       "sessions; lower min, raise max, or use isolation shared\n"},
      {"", "max: 2, warm: x",
       "f:3:27: backends.a.pool.warm: expected a whole number from 0 to 1024, found 'x'\n"},
      {"isolation: none, ", "min: 16, warm: 16", isolation},
      {"isolation: none, protocol: jsonrpc, ", "warm: 1", isolation},
      {"isolation: none, ", "min: 17",
       isolation + "f:3:18: backends.a.pool.min: min (17) is greater than max (16)\n"},
      {"protocol: http, ", "min: 1, warm: 16",
       "f:2:15: backends.a.protocol: expected one of " + config::words_of<config::Protocol>() +
           "; found 'http'\n"},
      {"protocol: lsp, isolation: shared, ", "warm: 16",
       "f:2:31: backends.a.isolation: a language server serves one client; leave isolation out, "
       "or use session\n"},
      {kShared, "max: 0, warm: 1",
       no_max + "f:3:27: backends.a.pool.warm: warm (1) is for sessions with a child of their own; "
                "with isolation shared use min\n"},
  };
  for (const Case& c : cases) check_lanes(c);
}

}  // namespace
}  // namespace stdgate
