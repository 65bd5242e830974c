// Remote: a JSON-RPC server that is reached over the network, as the client of it on stdin sees it.
//
// The client's messages come as they are; what the server says goes to the LocalClient. Owner: the
// program between both. Time and chance are passed in, I/O is a WebClient's or a RemoteLink's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/random.h"
#include "gateway/base/time.h"
#include "gateway/base/timers.h"
#include "gateway/remote/client_message.h"
#include "gateway/remote/problem.h"
#include "gateway/remote/web_client.h"

namespace stdgate::remote {

class LocalClient {
 public:
  virtual ~LocalClient() = default;
  // One message, without framing.
  virtual void send(std::string_view message) = 0;
  // A line for people.
  virtual void say(const std::string& line) = 0;
  // Nothing more is to be had: the program ends with this code once the client has read all.
  virtual void leave(Exit exit) = 0;
};

// Authorizer: what a request shows to say who sends it.
class Authorizer {
 public:
  using Done = std::function<void(tl::expected<void, std::string>)>;

  virtual ~Authorizer() = default;
  [[nodiscard]] virtual std::vector<std::string> fields() const = 0;
  // Whether there is anything to read anew, after a 401.
  [[nodiscard]] virtual bool can_renew() const = 0;
  // `done` follows from the outermost level of the loop, or never where this has been destroyed.
  virtual void renew(Done done) = 0;
};

struct RemoteServices {
  LocalClient& client;
  WebClient& web;
  Authorizer& authorizer;
  const Clock& clock;
  TimerQueue& timers;
  Random& random;
};

class Remote {
 public:
  virtual ~Remote() = default;
  virtual void take(ClientMessage message) = 0;
  // So much waits that the client is not to be read for the moment.
  [[nodiscard]] virtual bool is_full() const = 0;
  // Nothing that the client has said waits to be sent or answered.
  [[nodiscard]] virtual bool is_answered() const = 0;
  // The client does not read: nothing more of the server is read either, until it does.
  virtual void pause() = 0;
  virtual void resume() = 0;
  // The client has gone: what is under way is given up, and the server told. `done` follows, once,
  // at the latest after kFarewellTime; it may be called from within.
  virtual void close(std::function<void()> done) = 0;
  static constexpr Duration kFarewellTime = std::chrono::seconds(1);
};

// Pauses that grow: each about twice as long as the one before, a part of it by chance, so that
// many clients of a server that was restarted do not come at once.
class Backoff {
 public:
  static constexpr Duration kFirst = std::chrono::milliseconds(100);
  static constexpr Duration kLongest = std::chrono::seconds(10);

  explicit Backoff(Random& random) : random_(random) {}
  Duration next();
  void reset() { next_ = kFirst; }

 private:
  Random& random_;
  Duration next_ = kFirst;
};

}  // namespace stdgate::remote
