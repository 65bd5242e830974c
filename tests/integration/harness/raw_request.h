// Requests as bytes, and all that comes back, for tests that send what no client would.
#pragma once

#include <string>

namespace stdgate::harness {

// A request with these header lines, each with its CRLF. With a body it is JSON. The server is
// asked to close the connection after it.
std::string raw_request(const std::string& method, const std::string& target,
                        const std::string& fields, const std::string& body);

// Everything that the gateway answers to these bytes, on a connection of their own. Where another
// protocol is asked for, the client ends its side too, which ends a WebSocket.
std::string answer_to(const std::string& url, const std::string& bytes);

// Of the first response in `answer`; 0: there is none.
int status_of(const std::string& answer);

}  // namespace stdgate::harness
