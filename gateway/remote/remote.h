// Remote: a JSON-RPC server that is reached over the network, as its client on stdin sees it.
// Problem: why it does not answer.
//
// The client's messages arrive unchanged; messages of the server go to the LocalClient. Owner: the
// program between both. Time and randomness are passed in, I/O belongs to a WebClient or a
// RemoteLink.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/random.h"
#include "gateway/base/time.h"
#include "gateway/remote/client_message.h"
#include "gateway/remote/web_client.h"
#include "gateway/rpc/envelope.h"
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

// Problem: why a server over the network does not answer, in words that say what to do. Texts of a
// server or of libcurl are shown as visible text, and cut.
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
// Whether an error response says that stdgate, which serves MCP there, could not begin with its
// server. The server's own errors have other codes, and so has a lack of room, which passes.
bool is_failed_beginning(const rpc::Envelope& answer);
// The server could not begin. `answer`: the error response to `initialize`.
Problem failed_beginning(std::string_view answer, std::string_view url);
// The answer is lost; the text says that it is not known whether the request was done.
Problem lost_answer(std::string_view url, std::string_view why);

// The error response to a request; `id` is raw.
std::string answer_of(const Problem& problem, std::string_view id);

// A URL in a form that may be shown: without user information and query.
std::string shown_url(std::string_view url);

// LocalClient: the client on stdin, as a Remote sees it.
class LocalClient {
 public:
  virtual ~LocalClient() = default;
  // One message, without framing.
  virtual void send(std::string_view message) = 0;
  // A line for people.
  virtual void say(const std::string& line) = 0;
  // The server cannot be used any more: the program ends with this code once the client has read
  // everything.
  virtual void leave(Exit exit) = 0;
  // Remote::is_full() may have become false. Implementations must not hand messages over at once.
  virtual void on_room() = 0;
};

// Authorizer: the credentials of requests.
class Authorizer {
 public:
  using Done = std::function<void(tl::expected<void, std::string>)>;

  virtual ~Authorizer() = default;
  [[nodiscard]] virtual std::vector<std::string> fields() const = 0;
  // What they are, for people: "the key of FILE". Empty: none, or it is not known.
  [[nodiscard]] virtual std::string name() const { return {}; }
  // Whether a credential can be read again, after a 401.
  [[nodiscard]] virtual bool can_renew() const = 0;
  // `done` is called from the outermost level of the loop; never, if this has been destroyed.
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
  // Whether so many messages wait that the client should not be read at the moment.
  [[nodiscard]] virtual bool is_full() const = 0;
  // Whether nothing of the client waits to be sent or answered.
  [[nodiscard]] virtual bool is_answered() const = 0;
  // The client does not read: the server is not read either, until resume().
  virtual void pause() = 0;
  virtual void resume() = 0;
  // The client has gone: what is under way is given up, and the server told. `done` follows, once,
  // at the latest after kFarewellTime; it may be called from within.
  virtual void close(std::function<void()> done) = 0;
  static constexpr Duration kFarewellTime = std::chrono::seconds(1);
};

// Pauses that grow: each is about twice as long as the one before, with jitter, so that the clients
// of a restarted server do not all come at once.
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

// Hands each message of `text` to `each`, without a version if it came so and the parser lets it,
// until that returns false. A text that is no JSON-RPC is reported to people, with `url`.
void read_server_text(rpc::EnvelopeParser& parser, std::span<char> text, const std::string& url,
                      LocalClient& client, const std::function<bool(const rpc::Envelope&)>& each);

}  // namespace stdgate::remote
