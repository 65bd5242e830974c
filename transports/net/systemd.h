// The gateway's side of systemd's protocols: sockets that are passed, and notifications.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/addresses.h"
#include "gateway/base/time.h"
#include "transports/net/file_descriptor.h"
#include "transports/net/loop.h"

namespace stdgate::net {

// PassedSockets: listening sockets that the gateway's parent has opened for it (sd_listen_fds(3)):
// systemd, or any other program that keeps them while gateways come and go.
//
// Job: take the descriptors of LISTEN_FDS, and give each to the listener whose address it has.
// Owner: main(), until the listeners are open. Limits: kMax sockets. Only what listens for streams,
// over TCP or on a Unix socket with a path, is taken.
class PassedSockets {
 public:
  static constexpr size_t kMax = 128;
  static constexpr int kFirst = 3;  // their descriptors follow each other

  // The sockets for this process; none if LISTEN_PID is another one. The variables are removed from
  // `environment`, as no child is meant. Before anything else is opened that could have their
  // numbers. The error says which one cannot be used.
  static tl::expected<PassedSockets, std::string> take(
      std::map<std::string, std::string>& environment);

  // The socket that listens there, which the caller owns from then on; closed: none does.
  FileDescriptor find(const Address& address);
  // The sockets that no listener took, for people; empty: none.
  [[nodiscard]] std::string unused() const;

 private:
  struct Socket {
    FileDescriptor descriptor;
    Address address;
    std::string name;  // of FileDescriptorName=, as a rule the unit's
  };

  std::vector<Socket> sockets_;
};

// ServiceNotifier: tells the service manager that started the gateway how it is (sd_notify(3)).
//
// Job: one datagram to NOTIFY_SOCKET for each change, and one each half of WATCHDOG_USEC as a sign
// that the loop turns. Without NOTIFY_SOCKET it does nothing. A datagram that cannot be sent is
// lost: the gateway serves on, and the manager's own timeouts decide. Owner: the process.
class ServiceNotifier {
 public:
  // `environment`: the gateway's own.
  ServiceNotifier(Loop& loop, const std::map<std::string, std::string>& environment);
  ServiceNotifier(const ServiceNotifier&) = delete;
  ServiceNotifier& operator=(const ServiceNotifier&) = delete;

  // Everything listens. `status` is a line for people.
  void ready(std::string_view status);
  // The configuration is read again; ready() follows.
  void reloading();
  // The gateway ends, which takes up to `patience`.
  void stopping(std::string_view status, Duration patience);

 private:
  void tell(const std::string& state) const;
  void tell_alive();

  Loop& loop_;
  std::string socket_;    // its path; empty: none
  Duration interval_{0};  // between signs of life; zero: none are asked for
  Timer watchdog_timer_;
};

}  // namespace stdgate::net
