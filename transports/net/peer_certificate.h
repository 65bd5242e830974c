// PeerCertificate: what the trusted certificate of a peer says.
#pragma once

#include <chrono>
#include <string>

namespace stdgate::net {

struct PeerCertificate {
  std::string uri;          // the first one among the alternative names; empty: none
  std::string dns;          // the same
  std::string common_name;  // of the subject; empty: none
  std::string subject;      // all of it, as RFC 2253 writes it
  std::chrono::system_clock::time_point expires{};
};

}  // namespace stdgate::net
