#include "gateway/remote/acp_remote.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gateway/remote/remote.h"
#include "gateway/remote/remote_stream.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::remote {

namespace {

// An id as a header field may hold it; empty: it is none.
std::string field_id(std::string_view id) {
  const bool is_good = id.size() <= AcpRemote::kMaxId &&
                       std::ranges::all_of(id, [](char c) { return c >= '!' && c <= '~'; });
  return is_good ? std::string(id) : std::string();
}

// The session that an object names; empty: none.
std::string session_in(std::string_view object) {
  std::string scratch;
  const std::string_view quoted = rpc::member_or_empty(object, "sessionId");
  return field_id(rpc::decode_string(rpc::string_content(quoted), scratch));
}

// Methods whose answer names a session.
bool begins_session(const ClientMessage& message) {
  return message.method == "session/new" || message.method == "session/fork";
}

}  // namespace

// A stream of the connection, or of one of its sessions.
class AcpRemote::Channel final : private ListenStream::Owner {
 public:
  Channel(AcpRemote& remote, std::string session)
      : stream(remote.services_, *this), remote_(remote), session_(std::move(session)) {}

  ListenStream stream;

 private:
  void on_listen_text(std::span<char> text) override { remote_.read(text); }
  void on_listen_gone() override {
    if (session_.empty()) remote_.on_connection_gone();
  }
  void on_listen_refused(const WebHead& head) override {
    if (session_.empty())
      remote_.leave(problem_of(head, {}, remote_.url_, remote_.services_.authorizer.name()));
  }
  void on_unauthorized() override {
    remote_.renew([](const Renewed& /*renewed*/) {});
  }
  WebRequest listening(const std::string& last_id) override {
    WebRequest request = remote_.request_of(WebMethod::get, session_);
    if (!last_id.empty()) request.fields.push_back("Last-Event-ID: " + last_id);
    return request;
  }

  AcpRemote& remote_;
  const std::string session_;
};

AcpRemote::AcpRemote(std::string url, const RemoteServices& services)
    : url_(std::move(url)),
      services_(services),
      parser_(rpc::EnvelopeLimits{}),
      queue_([this] { services_.client.on_room(); }),
      post_(services.web, services.clock, services.timers, *this),
      backoff_(services.random),
      retry_timer_(services.timers, [this] { post_next(); }) {}

AcpRemote::~AcpRemote() = default;

// --- Messages of the client ---------------------------------------------------------------------

void AcpRemote::take(ClientMessage message) {
  if (is_over_) return;
  const bool is_response =
      message.kind == rpc::MessageKind::result || message.kind == rpc::MessageKind::error;
  if (is_response && !message.is_batch && asked_.erase(message.id) == 0) return;
  for (const std::string& id : message.requests) calls_[id] = {begins_session(message)};
  queue_.push(std::move(message), now() + kReconnectTime);
  post_next();
}

void AcpRemote::post_next() {
  if (posted_ || is_renewing_ || retry_timer_.armed() || is_over_) return;
  posted_ = queue_.pop();
  if (!posted_) return;
  const std::string session = session_in(rpc::member_or_empty(posted_->text, "params"));
  if (!session.empty() && !connection_.empty()) listen(session);
  WebRequest request = request_of(WebMethod::post, session);
  request.fields.emplace_back("Content-Type: application/json");
  request.body = posted_->text;
  request.time = posted_->is_greeting() ? kInitializeTime : kPostTime;
  post_.open(std::move(request));
}

WebRequest AcpRemote::request_of(WebMethod method, const std::string& session) const {
  WebRequest request{.method = method, .url = url_};
  if (method == WebMethod::get) request.fields.emplace_back("Accept: text/event-stream");
  if (!connection_.empty()) request.fields.push_back("Acp-Connection-Id: " + connection_);
  if (!session.empty()) request.fields.push_back("Acp-Session-Id: " + session);
  std::ranges::copy(services_.authorizer.fields(), std::back_inserter(request.fields));
  return request;
}

void AcpRemote::on_stream_end(const WebFailure* failure) {
  if (gone_ != nullptr) return std::exchange(gone_, nullptr)();
  if (is_over_ || !posted_) return;
  ClientMessage message = *std::exchange(posted_, std::nullopt);
  if (post_.head().status == 0) return end_unanswered(std::move(message), failure);
  if (!post_.head().is_success()) return end_refused(std::move(message));
  backoff_.reset();
  is_cut_off_ = has_new_credentials_ = false;
  if (connection_.empty() && !note_greeting()) return;
  std::string& body = post_.body();
  if (post_.head().has_type("application/json")) read({body.data(), body.size()});
  if (!is_over_) listen({});
  post_next();
}

void AcpRemote::end_unanswered(ClientMessage message, const WebFailure* failure) {
  const WebFailure cut{WebFailure::Kind::cut, "no response"};
  const WebFailure& why = failure == nullptr ? cut : *failure;
  const bool is_sent = why.may_be_sent;
  if (connection_.empty()) {
    const Problem problem = problem_of(why, url_);
    fail(message, problem);
    return leave(problem);
  }
  if (!is_sent && now() < message.due) return post_again(std::move(message));
  fail(message, is_sent ? lost_answer(url_, why.detail) : problem_of(why, url_));
  post_next();
}

void AcpRemote::post_again(ClientMessage message) {
  if (!std::exchange(is_cut_off_, true)) {
    services_.client.say(shown_url(url_) + " cannot be reached; connecting again");
  }
  queue_.put_back(std::move(message));
  retry_timer_.arm(now() + backoff_.next());
}

void AcpRemote::end_refused(ClientMessage message) {
  const int status = post_.head().status;
  if (status == 401 && !has_new_credentials_ && services_.authorizer.can_renew()) {
    has_new_credentials_ = true;
    queue_.put_back(std::move(message));
    return renew([this](const Renewed& renewed) {
      if (renewed) return post_next();
      leave({Exit::refused, rpc::Fault::unauthenticated, renewed.error()});
    });
  }
  const Problem problem = problem_of(post_.head(), post_.body(), url_, services_.authorizer.name());
  fail(message, problem);
  if (connection_.empty()) return leave(problem);
  if (status == 404) return on_connection_gone();
  post_next();
}

// Whether this is an error response.
bool AcpRemote::is_error(std::span<char> text) {
  const auto document = parser_.parse(text);
  return document && document->messages[0].ok() &&
         document->messages[0].envelope.kind == rpc::MessageKind::error;
}

// The answer to `initialize` has come, whatever it says. False: it names no connection.
bool AcpRemote::note_greeting() {
  connection_ = field_id(post_.head().find("acp-connection-id"));
  if (!connection_.empty()) return true;
  if (std::string text = post_.body(); is_error(text)) {
    leave(failed_beginning(post_.body(), url_));
    return false;
  }
  leave({Exit::no_server, rpc::Fault::child_failed,
         shown_url(url_) + " names no Acp-Connection-Id; is it an agent's URL?"});
  return false;
}

// --- What the agent says ------------------------------------------------------------------------

void AcpRemote::listen(const std::string& session) {
  if (channels_.size() > kMaxSessions || channels_.contains(session)) return;
  Channel& channel = *(channels_[session] = std::make_unique<Channel>(*this, session));
  if (is_paused_) channel.stream.pause();
  channel.stream.open();
}

void AcpRemote::read(std::span<char> text) {
  if (is_over_) return;
  read_server_text(parser_, text, url_, services_.client, [this](const rpc::Envelope& envelope) {
    forward(envelope);
    return !is_over_;
  });
}

void AcpRemote::forward(const rpc::Envelope& envelope) {
  const std::string id(envelope.id);
  if (envelope.kind == rpc::MessageKind::request) {
    // The agent sends an open request again to a client that comes back.
    if (asked_.size() >= kMaxAsked || !asked_.insert(id).second) return;
  } else if (envelope.kind != rpc::MessageKind::notification) {
    const auto call = calls_.find(id);
    if (call == calls_.end()) return;  // late, repeated or invented
    const bool is_new = call->second.begins_session;
    calls_.erase(call);
    const std::string session = is_new ? session_in(envelope.payload) : std::string();
    if (!session.empty()) listen(session);
  }
  services_.client.send(envelope.text);
}

// --- Ends ---------------------------------------------------------------------------------------

void AcpRemote::renew(std::function<void(const Renewed&)> done) {
  if (is_renewing_ || !services_.authorizer.can_renew()) return;
  is_renewing_ = true;
  services_.authorizer.renew([this, done = std::move(done)](const Renewed& renewed) {
    is_renewing_ = false;
    if (is_over_) return;
    done(renewed);
    post_next();
  });
}

void AcpRemote::on_connection_gone() {
  leave({Exit::lost, rpc::Fault::child_failed,
         shown_url(url_) + " does not know this connection any more; its agent has ended"});
}

void AcpRemote::fail(const ClientMessage& message, const Problem& problem) {
  for (const std::string& id : message.requests) {
    if (calls_.erase(id) > 0) services_.client.send(answer_of(problem, id));
  }
  if (!message.is_request()) services_.client.say(problem.message);
}

void AcpRemote::leave(const Problem& problem) {
  if (std::exchange(is_over_, true)) return;
  end_streams();
  for (const auto& [id, call] : std::exchange(calls_, {})) {
    services_.client.send(answer_of(problem, id));
  }
  for (const ClientMessage& message : queue_.take_all()) fail(message, problem);
  services_.client.say(problem.message);
  services_.client.leave(problem.exit);
}

void AcpRemote::end_streams() {
  retry_timer_.disarm();
  post_.close();
  posted_.reset();
  for (const auto& [session, channel] : channels_) channel->stream.close();
}

void AcpRemote::pause() {
  is_paused_ = true;
  post_.pause();
  for (const auto& [session, channel] : channels_) channel->stream.pause();
}

void AcpRemote::resume() {
  is_paused_ = false;
  post_.resume();
  for (const auto& [session, channel] : channels_) channel->stream.resume();
}

void AcpRemote::close(std::function<void()> done) {
  const bool was_over = std::exchange(is_over_, true);
  end_streams();
  if (was_over || connection_.empty()) return done();
  gone_ = std::move(done);
  WebRequest request = request_of(WebMethod::del, {});
  request.time = kFarewellTime;
  post_.resume();
  post_.open(std::move(request));
}

}  // namespace stdgate::remote
