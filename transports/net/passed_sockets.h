// PassedSockets: listening sockets that whoever started the gateway has opened for it
// (sd_listen_fds(3)): systemd, or any other program that keeps them while gateways come and go.
//
// Job: take the descriptors of LISTEN_FDS, and give each to the listener whose address it has.
// Owner: main(), until the listeners are open. Limits: kMax sockets. Only what listens for streams,
// over TCP or on a Unix socket with a path, is taken.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/address.h"
#include "transports/net/file_descriptor.h"

namespace stdgate::net {

class PassedSockets {
 public:
  static constexpr size_t kMax = 128;
  static constexpr int kFirst = 3;  // their descriptors follow each other

  // Those of this process, none if LISTEN_PID is another one. The variables are removed from
  // `environment`, as no child is meant. Before anything else is opened that could have their
  // numbers. The error says which one cannot be used.
  static tl::expected<PassedSockets, std::string> take(
      std::map<std::string, std::string>& environment);

  // The one that listens there, which the caller has from then on; a closed one: there is none.
  FileDescriptor find(const Address& address);
  // Those that nobody wanted, for people; empty: there are none.
  [[nodiscard]] std::string unused() const;

 private:
  struct Socket {
    FileDescriptor descriptor;
    Address address;
    std::string name;  // of FileDescriptorName=, as a rule that of the unit
  };

  std::vector<Socket> sockets_;
};

}  // namespace stdgate::net
