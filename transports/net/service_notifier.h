// ServiceNotifier: tells the service manager that started the gateway how it is (sd_notify(3)).
//
// Job: one datagram to NOTIFY_SOCKET for each change, and one each half of WATCHDOG_USEC as a sign
// that the loop turns. Without NOTIFY_SOCKET it does nothing. A datagram that cannot be sent is
// lost: the gateway serves on, and the manager's own timeouts decide. Owner: the process.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/base/timers.h"
#include "transports/net/loop.h"

namespace stdgate::net {

class ServiceNotifier {
 public:
  // `environment`: the gateway's own.
  ServiceNotifier(Loop& loop, const std::map<std::string, std::string>& environment);
  ServiceNotifier(const ServiceNotifier&) = delete;
  ServiceNotifier& operator=(const ServiceNotifier&) = delete;

  // Everything listens. `status` is a line for people.
  void ready(std::string_view status);
  // It reads its configuration again; ready() follows.
  void reloading();
  // It ends, which takes up to `patience`.
  void stopping(std::string_view status, Duration patience);

 private:
  void tell(const std::string& state) const;
  void tell_alive();

  Loop& loop_;
  std::string socket_;    // its path; empty: there is none
  Duration interval_{0};  // between signs of life; zero: none are asked for
  Timer watchdog_timer_;
};

}  // namespace stdgate::net
