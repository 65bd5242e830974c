// Problem: why a server over the network does not answer, in words that say what to do.
//
// Pure. What a server or libcurl says is shown as visible text, and cut.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/remote/web_client.h"
#include "gateway/rpc/fault.h"

namespace stdgate::remote {

// How the program ends; docs/tools.md names them.
enum class Exit : uint8_t {
  clean = 0,
  lost = 1,         // the server has gone, and what it kept for the client
  bad_usage = 2,    // options, or files that they name
  unreachable = 3,  // address, name, TLS, time
  refused = 4,      // 401, 403, or no token
  no_server = 5,    // 404, or what is there speaks no MCP
};

struct Problem {
  Exit exit = Exit::unreachable;
  rpc::Fault fault = rpc::Fault::child_failed;
  std::string message;
};

// No response came. `url` is what was asked.
Problem problem_of(const WebFailure& failure, std::string_view url);
// What came is no answer. `body` is its beginning.
Problem problem_of(const WebHead& head, std::string_view body, std::string_view url);
// Whether a refusal of a request with a session says that there is no such session: 404 (MCP,
// session management), and 400 with an error that speaks of the session, as examples of the
// official SDKs answer.
bool names_lost_session(const WebHead& head, std::string_view body);
// "and whether it was done is not known" stands in it.
Problem lost_answer(std::string_view url, std::string_view why);

// The error response to a request; `id` is raw.
std::string answer_of(const Problem& problem, std::string_view id);

// A URL as it may be shown: without user information and query.
std::string shown_url(std::string_view url);

}  // namespace stdgate::remote
