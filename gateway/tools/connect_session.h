// One run of `stdgate connect`: ConnectSession, with its plan, its credentials (ConnectAuthorizer)
// and its question to a gateway (ConnectLookup).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/random.h"
#include "gateway/base/time.h"
#include "gateway/remote/remote.h"
#include "gateway/remote/remote_stream.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/framer.h"
#include "transports/fetch/curl_web_client.h"
#include "transports/net/byte_stream.h"
#include "transports/net/departure_watch.h"
#include "transports/net/loop.h"
#include "transports/stdio/command_output.h"

namespace stdgate::tools {

// The URL of an agent ends so.
inline constexpr std::string_view kAcpPath = "/acp";

// The options of `stdgate connect`.
struct ConnectPlan {
  std::string endpoint;  // http://…, https://…, ws://… or wss://…; empty: the gateway is asked
  std::string gateway;  // its URL, without a slash at the end; empty: no gateway is asked
  std::string backend;  // of that gateway; empty: its only one
  fetch::WebClientOptions web;
  std::vector<std::string> fields;  // of every request: "Name: value"
  std::string key_file;             // of the API key among `fields`
  std::string token_file;
  std::string token_command;
  rpc::Framing framing = rpc::Framing::newline;
  uint64_t chance = 0;
};

// ConnectAuthorizer: the header fields that identify the client: fields of the options, and a token
// from a file or a command.
//
// Owner: a ConnectSession. A token is read when it is needed first, and again after a 401. Limits:
// kMaxToken bytes, kCommandTime for the command.
class ConnectAuthorizer final : public remote::Authorizer {
 public:
  static constexpr size_t kMaxToken = 64 << 10;
  static constexpr Duration kCommandTime = std::chrono::seconds(30);

  ConnectAuthorizer(net::Loop& loop, const ConnectPlan& plan);
  ~ConnectAuthorizer() override;
  ConnectAuthorizer(const ConnectAuthorizer&) = delete;
  ConnectAuthorizer& operator=(const ConnectAuthorizer&) = delete;

  [[nodiscard]] std::vector<std::string> fields() const override;
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] bool can_renew() const override;
  void renew(Done done) override;

 private:
  tl::expected<void, std::string> take(tl::expected<std::string, std::string> text,
                                       const std::string& source);

  void finish(tl::expected<void, std::string> read);

  net::Loop& loop_;
  const ConnectPlan& plan_;
  std::string token_;
  tl::expected<void, std::string> read_;  // from a file
  Done done_;
  Timer done_timer_;
  std::unique_ptr<stdio::CommandOutput> command_;  // while it runs
};

// ConnectLookup: where a backend of a running gateway is served, as the gateway lists it.
//
// Owner: a ConnectSession. Limits: kMaxList bytes of the list, kTime.
class ConnectLookup final : private remote::RemoteStream::Owner {
 public:
  static constexpr size_t kMaxList = 4 << 20;
  static constexpr Duration kTime = std::chrono::seconds(10);
  // A URL, of http or of ws.
  using Found = tl::expected<std::string, remote::Problem>;

  // `done` is called once, from the outermost level of the loop.
  ConnectLookup(const ConnectPlan& plan, const remote::RemoteServices& services,
                std::function<void(Found)> done);

 private:
  void on_stream_head(const remote::WebHead& head) override;
  void on_stream_event(std::string_view /*name*/, std::span<char> /*data*/) override {}
  void on_stream_end(const remote::WebFailure* failure) override;
  [[nodiscard]] Found find() const;
  [[nodiscard]] std::string guessed() const;

  const ConnectPlan& plan_;
  const std::function<void(Found)> done_;
  const std::string credential_;  // for people
  remote::RemoteStream stream_;
};

// ConnectSession: the client on stdin and stdout, the server over the network, and the loop that
// both are on.
//
// Owner: the tool. Only JSON-RPC goes to stdout; texts for people go to stderr. Limits: kMaxMessage
// bytes of a message of the client, kMaxUnread bytes that the client has not read, kLastWordsTime
// for a client to read the rest at the end. The client is not read before the server's address is
// known.
class ConnectSession final : private remote::LocalClient,
                             private net::StreamEvents,
                             private rpc::FrameSink {
 public:
  static constexpr size_t kMaxMessage = 64 << 20;
  static constexpr size_t kMaxUnread = 4 << 20;
  static constexpr Duration kLastWordsTime = std::chrono::seconds(2);
  // How long requests from before the end of input may still be answered; a server may have to
  // start first. A client that does not want to wait sends SIGTERM, which ends the run at once.
  static constexpr Duration kLastAnswersTime = std::chrono::seconds(10);
  // Interval at which the open answers are checked.
  static constexpr Duration kAnswersInterval = std::chrono::milliseconds(50);

  explicit ConnectSession(ConnectPlan plan);
  ~ConnectSession() override;
  ConnectSession(const ConnectSession&) = delete;
  ConnectSession& operator=(const ConnectSession&) = delete;

  // Runs until the client or the server has ended the session. Returns the exit code.
  int run();

 private:
  // Receives events of the output; the client's input arrives at on_bytes().
  class Output;

  bool open_streams();
  // Whether a reader of both outputs has seen this text, as an answer.
  [[nodiscard]] bool is_told(std::string_view text) const;
  void find_server();
  void find_backend();
  void open_remote(const std::string& url);

  // remote::LocalClient
  void send(std::string_view message) override;
  void say(const std::string& line) override;
  void leave(remote::Exit exit) override;
  void on_room() override;
  // net::StreamEvents
  void on_bytes(std::span<char> bytes) override;
  void on_end() override;
  void on_error(int error) override;
  // rpc::FrameSink
  void on_frame(std::span<char> message) override;
  void on_oversized_frame(const rpc::OversizedFrame& frame) override;
  void on_broken_framing(const char* reason) override;

  void answer(std::string_view id, const rpc::FaultReport& report);
  void begin_reading();
  void give_up();
  void hold_back();
  [[nodiscard]] bool is_full() const;
  void end_when_answered();
  void end();
  void finish();

  const ConnectPlan plan_;
  net::Loop loop_;
  Random random_;
  fetch::CurlWebClient web_;
  ConnectAuthorizer authorizer_;
  const remote::RemoteServices services_;
  rpc::EnvelopeParser parser_;
  const std::unique_ptr<rpc::Framer> framer_;
  net::Signals signals_;
  std::unique_ptr<Output> output_events_;
  std::unique_ptr<net::ByteStream> input_;
  std::unique_ptr<net::ByteStream> output_;
  std::unique_ptr<ConnectLookup> lookup_;
  std::unique_ptr<remote::Remote> remote_;
  std::optional<remote::Problem> problem_;  // why there will be none
  bool has_refused_ = false;                // a request has been answered with that
  std::string frame_head_;
  const bool shares_outputs_;                              // stdout and stderr go to the same place
  std::string last_error_;                                 // that was sent, where they do
  std::unique_ptr<net::DepartureWatch> departure_;         // while the client is not read
  std::unique_ptr<net::DepartureWatch> reader_departure_;  // once it has said all, too
  bool is_held_ = false;                                   // it is not read
  Timer answers_timer_;
  Timer end_timer_;
  int exit_code_ = 0;
  bool is_ending_ = false;   // the client has gone, or the server is lost
  TimePoint answers_due_{};  // once the client has said all
  bool has_said_all_ = false;
  bool is_leaving_ = false;  // once the client has read all
  bool is_unread_ = false;
};

}  // namespace stdgate::tools
