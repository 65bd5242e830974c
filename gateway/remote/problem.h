// Problem: why a server over the network does not answer, in words that say what to do.
//
// Pure. Texts of a server or of libcurl are shown as visible text, and cut.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/remote/web_client.h"
#include "gateway/rpc/fault.h"

namespace stdgate::remote {

// Exit codes of the program; docs/tools.md names them.
enum class Exit : uint8_t {
  clean = 0,
  lost = 1,         // the server has gone, with the state of the client
  bad_usage = 2,    // options, or the files that they name
  unreachable = 3,  // wrong address or name, TLS, timeout
  refused = 4,      // 401, 403, or no token
  no_server = 5,    // 404, or the response is no MCP
};

struct Problem {
  Exit exit = Exit::unreachable;
  rpc::Fault fault = rpc::Fault::child_failed;
  std::string message;
};

// No response has come. `url`: the URL of the request.
Problem problem_of(const WebFailure& failure, std::string_view url);
// The response is no answer. `body`: its beginning. `credential`: that was sent, for people; empty:
// none was.
Problem problem_of(const WebHead& head, std::string_view body, std::string_view url,
                   std::string_view credential = {});
// Whether a refusal of a request with a session says that there is no such session: 404 (MCP,
// session management), or 400 or 401 with an error about the session, as examples and older
// releases of the official SDKs answer.
bool names_lost_session(const WebHead& head, std::string_view body);
// The server keeps sessions, and the client has begun none. `body`: of the refusal that said so.
Problem missing_greeting(std::string_view body, std::string_view url);
// The answer is lost; the text says that it is not known whether the request was done.
Problem lost_answer(std::string_view url, std::string_view why);

// The error response to a request; `id` is raw.
std::string answer_of(const Problem& problem, std::string_view id);

// A URL in a form that may be shown: without user information and query.
std::string shown_url(std::string_view url);

}  // namespace stdgate::remote
