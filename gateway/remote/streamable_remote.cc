#include "gateway/remote/streamable_remote.h"

#include <algorithm>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/remote/remote.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::remote {

namespace {

constexpr std::string_view kListening = "subscriptions/listen";
constexpr std::string_view kAcknowledged = "notifications/subscriptions/acknowledged";

}  // namespace

// Ends the session by DELETE when the client has gone.
class StreamableRemote::Farewell final : private RemoteStream::Owner {
 public:
  Farewell(const RemoteServices& services, std::function<void()> done)
      : stream_(services.web, services.clock, services.timers, *this), done_(std::move(done)) {}
  void send(WebRequest request) { stream_.open(std::move(request)); }

 private:
  void on_stream_head(const WebHead& /*head*/) override { finish(); }
  void on_stream_event(std::string_view /*name*/, std::span<char> /*data*/) override {}
  void on_stream_end(const WebFailure* /*failure*/) override { finish(); }
  void finish() {
    if (const auto done = std::exchange(done_, nullptr)) done();
  }

  RemoteStream stream_;
  std::function<void()> done_;
};

StreamableRemote::StreamableRemote(std::string url, const RemoteServices& services,
                                   FallBack fall_back)
    : url_(std::move(url)),
      services_(services),
      fall_back_(std::move(fall_back)),
      parser_(rpc::EnvelopeLimits{}),
      queue_([this] { services_.client.on_room(); }),
      fields_(url_, services.authorizer),
      backoff_(services.random),
      wake_timer_(services.timers, [this] { wake(); }),
      expiry_timer_(services.timers, [this] { expire(); }),
      late_timer_(services.timers,
                  [this] { services_.client.say("waiting for " + shown_url(url_)); }),
      retire_timer_(services.timers, [this] {
        retired_.clear();
        retired_listens_.clear();
      }) {}

StreamableRemote::~StreamableRemote() = default;

// --- Sending ------------------------------------------------------------------------------------

void StreamableRemote::take(ClientMessage message) {
  if (phase_ == Phase::over) return;
  if (!message.cancelled.empty() && take_cancel(message)) return;
  const bool is_response =
      message.kind == rpc::MessageKind::result || message.kind == rpc::MessageKind::error;
  // The response is not needed any more: the session that asked has gone.
  if (is_response && !message.is_batch && asked_.erase(message.id) == 0) return;
  queue_.push(std::move(message), now() + kReconnectTime);
  pump();
}

// Ends the stream of the request: many servers never answer what was cancelled, and leave its
// stream open. Whether the cancel need not be sent: its request has not been sent, or ends with its
// stream (MCP 2026-07-28, cancellation).
bool StreamableRemote::take_cancel(const ClientMessage& message) {
  if (queue_.remove_request(message.cancelled)) return true;
  const auto found = calls_.find(message.cancelled);
  if (found == calls_.end()) return fields_.is_modern();
  RemotePost& post = *found->second;
  if (post.message().is_batch || post.message().is_greeting()) return false;
  take_out(post);
  if (!post.message().is_modern()) return false;
  pump();
  return true;
}

void StreamableRemote::pump() {
  while (phase_ == Phase::open) {
    auto message = next_message();
    if (!message) break;
    send(*std::move(message), RemotePost::Origin::client);
  }
  arm_expiry();
}

// Requests wait for a free place. Messages that the server waits for pass them.
std::optional<ClientMessage> StreamableRemote::next_message() {
  const bool is_held =
      std::ranges::any_of(posts_, [](const auto& entry) { return entry.second->holds_others(); });
  if (is_held) return std::nullopt;
  return queue_.pop(posts_.size() >= kMaxPosts);
}

void StreamableRemote::send(ClientMessage message, RemotePost::Origin origin) {
  const bool is_client = origin == RemotePost::Origin::client;
  if (is_client && message.is_greeting() && message.refusals == 0) {
    close_listen();
    session_ = {};
    memory_.forget();
    if (!is_known_) late_timer_.arm(now() + kLateTime);
  }
  WebRequest request = fields_.post(message, session_);
  const bool is_modern = message.is_modern();
  auto post = std::make_unique<RemotePost>(std::move(message), origin, services_, *this);
  if (!is_modern) post->session = session_;
  if (is_paused_) post->pause();
  for (const std::string& id : post->unanswered()) {
    if (is_client) calls_[id] = post.get();
    if (post->message().method == "tools/list") listings_.insert(id);
  }
  RemotePost& sent = *post;
  posts_.emplace(post.get(), std::move(post));
  sent.start(std::move(request));
}

RemotePost& StreamableRemote::take_out(RemotePost& post) {
  post.close();
  for (const std::string& id : post.message().requests) {
    const auto found = calls_.find(id);
    if (found != calls_.end() && found->second == &post) calls_.erase(found);
    listings_.erase(id);
  }
  retired_.push_back(std::move(posts_.extract(&post).mapped()));
  retire_timer_.arm(now());
  return post;
}

void StreamableRemote::expire() {
  const Problem problem{Exit::unreachable, rpc::Fault::timeout,
                        shown_url(url_) + " could not be reached again in time"};
  while (phase_ != Phase::open) {
    const auto late = queue_.pop_due(now());
    if (!late) break;
    fail(*late, problem);
  }
  arm_expiry();
}

void StreamableRemote::arm_expiry() {
  if (phase_ == Phase::open || expiry_timer_.armed()) return;
  if (const auto due = queue_.next_due()) expiry_timer_.arm(*due);
}

// --- Received messages --------------------------------------------------------------------------

void StreamableRemote::on_post_taken(RemotePost& post) {
  is_known_ = true;
  backoff_.reset();
  const ClientMessage& message = post.message();
  if (post.origin() != RemotePost::Origin::client) return;
  if (message.is_greeting()) {
    late_timer_.disarm();
    session_ = {RequestFields::session_id_of(post.head()), {}};
    post.session = session_;
  }
  if (!message.is_modern()) memory_.learn(message);
  if (message.method == "notifications/initialized" && !message.is_modern()) {
    open_listen();
  }
  pump();
}

void StreamableRemote::on_post_text(RemotePost& post, std::span<char> text) {
  take_text(text, &post);
}

void StreamableRemote::on_listen_text(std::span<char> text) { take_text(text, nullptr); }

void StreamableRemote::take_text(std::span<char> text, RemotePost* post) {
  read_server_text(parser_, text, url_, services_.client, [&](const rpc::Envelope& envelope) {
    forward(envelope, post);
    return phase_ != Phase::over;
  });
}

void StreamableRemote::forward(const rpc::Envelope& envelope, RemotePost* post) {
  switch (envelope.kind) {
    case rpc::MessageKind::result:
    case rpc::MessageKind::error:
      return take_answer(envelope, post);
    case rpc::MessageKind::request:
      if (asked_.size() >= kMaxAsked) return;
      asked_.emplace(envelope.id);
      break;
    case rpc::MessageKind::notification:
      // The client knows it already: the call listens again.
      if (post != nullptr && post->message().is_repeated && envelope.method == kAcknowledged)
        return;
      break;
  }
  services_.client.send(envelope.text);
}

void StreamableRemote::take_answer(const rpc::Envelope& envelope, RemotePost* post) {
  const std::string id(envelope.id);
  if (post != nullptr && post->origin() != RemotePost::Origin::client) {
    const bool is_awaited = std::ranges::find(post->unanswered(), id) != post->unanswered().end();
    post->answered(id);
    if (is_awaited && post->message().is_greeting()) note_greeting(envelope, *post);
    return;
  }
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;  // late, repeated or invented
  RemotePost& asking = *found->second;
  if (listings_.erase(id) > 0) fields_.tools().learn(envelope);
  asking.answered(id);
  calls_.erase(found);
  services_.client.send(envelope.text);
  if (asking.message().is_greeting()) note_greeting(envelope, asking);
}

void StreamableRemote::note_greeting(const rpc::Envelope& envelope, RemotePost& post) {
  const bool is_first = post.origin() == RemotePost::Origin::client;
  if (envelope.kind == rpc::MessageKind::result) {
    if (memory_.note_greeting(envelope)) {
      session_ = {RequestFields::session_id_of(post.head()), memory_.revision()};
      post.session = session_;
      return;
    }
    return leave({Exit::lost, rpc::Fault::child_failed,
                  shown_url(url_) + " speaks another revision of MCP than before; start again"});
  }
  session_ = {};
  if (!is_first) return;
  memory_.forget();
  if (is_failed_beginning(envelope)) leave(failed_beginning(envelope.text, url_));
}

// --- The end of a message -----------------------------------------------------------------------

void StreamableRemote::on_post_end(RemotePost& post, RemotePost::End end) {
  if (phase_ == Phase::over) return;
  if (post.message().is_greeting()) late_timer_.disarm();
  take_out(post);
  // The request was answered on another stream, so its end is not reported.
  const bool is_settled = post.message().is_request() && post.unanswered().empty();
  if (post.origin() != RemotePost::Origin::client) {
    end_renewal(post, end);
  } else if (is_settled) {
    const bool is_refused =
        end == RemotePost::End::refused && names_lost_session(post.head(), post.body());
    if (is_refused && !session_.id.empty() && post.session == session_) session_gone();
  } else if (end == RemotePost::End::unsent) {
    end_unsent(post);
  } else if (end == RemotePost::End::refused) {
    end_refused(post);
  } else if (end != RemotePost::End::done) {
    end_lost(post);
    if (end == RemotePost::End::gone && post.session == session_) session_gone();
  }
  pump();
}

void StreamableRemote::end_unsent(RemotePost& post) {
  const Problem problem = problem_of(post.failure(), url_);
  ClientMessage& message = post.message();
  if (!is_known_) {
    fail(message, problem);
    return leave(problem);
  }
  if (now() >= message.due) return fail(message, problem);
  if (phase_ == Phase::open) services_.client.say(problem.message + "; trying again");
  queue_.put_back(std::move(message));
  wait();
}

void StreamableRemote::end_refused(RemotePost& post) {
  if (retry_refused(post)) return;
  ClientMessage& message = post.message();
  const Problem problem = problem_of(post.head(), post.body(), url_, services_.authorizer.name());
  const int status = post.head().status;
  const bool is_early = !message.is_modern() && !message.is_greeting() && !memory_.has_greeting();
  if (is_early && status != 404 && names_lost_session(post.head(), post.body())) {
    is_known_ = true;
    return fail(message, missing_greeting(post.body(), url_));
  }
  const bool is_first = message.is_greeting() && memory_.revision().empty();
  const bool is_absent = status == 404 || status == 405;
  if (problem.exit != Exit::refused && !(is_first && is_absent) && pass_error_on(post)) {
    is_known_ = true;
    return;
  }
  if (is_first && (is_absent || status == 400) && fall_back_) {
    phase_ = Phase::over;
    std::deque<ClientMessage> messages = queue_.take_all();
    messages.push_front(std::move(message));
    return fall_back_(std::move(messages), problem);
  }
  if (message.is_request()) {
    fail(message, problem);
  } else {
    services_.client.say(problem.message);
  }
  if (is_first || (!is_known_ && problem.exit == Exit::refused)) leave(problem);
}

// Sends a message again that was refused before it was looked at: with another credential, or in
// another session.
bool StreamableRemote::retry_refused(RemotePost& post) {
  ClientMessage& message = post.message();
  const int status = post.head().status;
  if (status == 401 && message.refusals == 0 && services_.authorizer.can_renew()) {
    ++message.refusals;
    queue_.put_back(std::move(message));
    ask_authorizer();
    return true;
  }
  if (!names_lost_session(post.head(), post.body()) || post.session.id.empty() ||
      message.refusals >= kMaxRefusals) {
    return false;
  }
  ++message.refusals;
  queue_.put_back(std::move(message));
  if (post.session == session_) session_gone();
  return true;
}

// Treats an error body as the response to the request, whatever its id: some servers do not know
// the id when they refuse.
bool StreamableRemote::pass_error_on(RemotePost& post) {
  const ClientMessage& message = post.message();
  std::string& body = post.body();
  if (message.is_batch || !message.is_request()) return false;
  const auto document = parser_.parse({body.data(), body.size()});
  if (!document || document->batch || !document->messages[0].ok()) return false;
  const rpc::Envelope& answer = document->messages[0].envelope;
  if (answer.kind != rpc::MessageKind::error) return false;
  services_.client.send(rpc::error_text(message.id, answer.payload));
  return true;
}

void StreamableRemote::end_lost(RemotePost& post) {
  ClientMessage& message = post.message();
  const bool is_first = message.is_greeting() && memory_.revision().empty();
  const Problem problem =
      is_first ? Problem{Exit::unreachable, rpc::Fault::child_failed,
                         shown_url(url_) + " does not answer initialize: " + post.why()}
               : lost_answer(url_, post.why());
  // Listening changes nothing at the server, so it may be sent again.
  if (message.is_modern() && message.method == kListening && !post.unanswered().empty()) {
    message.is_repeated = true;
    message.due = TimePoint::max();
    queue_.put_back(std::move(message));
    return wait();
  }
  for (const std::string& id : post.unanswered()) services_.client.send(answer_of(problem, id));
  if (!message.is_request()) services_.client.say(problem.message);
  if (is_first) leave(problem);
}

void StreamableRemote::fail(const ClientMessage& message, const Problem& problem) {
  for (const std::string& id : message.requests) services_.client.send(answer_of(problem, id));
  if (!message.is_request()) services_.client.say(problem.message);
}

void StreamableRemote::fail_queued(const Problem& problem) {
  for (const ClientMessage& message : queue_.take_all()) fail(message, problem);
}

void StreamableRemote::leave(const Problem& problem) {
  if (phase_ == Phase::over) return;
  fail_queued(problem);
  for (const auto& [key, post] : posts_) {
    post->close();
    if (post->origin() != RemotePost::Origin::client) continue;
    for (const std::string& id : post->unanswered()) services_.client.send(answer_of(problem, id));
  }
  close_listen();
  phase_ = Phase::over;
  services_.client.say(problem.message);
  services_.client.leave(problem.exit);
}

// --- The session --------------------------------------------------------------------------------

void StreamableRemote::session_gone() {
  if (phase_ == Phase::over || phase_ == Phase::renewing || has_lost_session_) return;
  services_.client.say("the session at " + shown_url(url_) + " has gone; beginning another one");
  close_listen();
  session_ = {};
  asked_.clear();
  has_lost_session_ = true;
  if (phase_ != Phase::asking) renew();
}

void StreamableRemote::renew() {
  phase_ = Phase::renewing;
  send(memory_.greeting(), RemotePost::Origin::greeting);
}

void StreamableRemote::end_renewal(RemotePost& post, RemotePost::End end) {
  if (post.origin() == RemotePost::Origin::greeting) return end_renewed_greeting(post, end);
  send_wishes();
}

void StreamableRemote::end_renewed_greeting(RemotePost& post, RemotePost::End end) {
  if (end == RemotePost::End::done) {
    wishes_ = memory_.wishes();
    return send_wishes();
  }
  if (end == RemotePost::End::refused) {
    const int status = post.head().status;
    const bool has_new = status == 401 && services_.authorizer.can_renew();
    if (has_new) return ask_authorizer();
    if (status < 500)
      fail_queued(problem_of(post.head(), post.body(), url_, services_.authorizer.name()));
  }
  wake_timer_.arm(now() + backoff_.next());
}

void StreamableRemote::send_wishes() {
  if (!wishes_.empty()) {
    ClientMessage wish = std::move(wishes_.front());
    wishes_.erase(wishes_.begin());
    return send(std::move(wish), RemotePost::Origin::wish);
  }
  has_lost_session_ = false;
  phase_ = Phase::open;
  for (const std::string& notice : memory_.notices()) services_.client.send(notice);
  if (memory_.has_greeted()) open_listen();
}

void StreamableRemote::open_listen() {
  close_listen();
  listen_ = std::make_unique<ListenStream>(services_, static_cast<ListenStream::Owner&>(*this));
  if (is_paused_) listen_->pause();
  listen_->open();
}

void StreamableRemote::close_listen() {
  if (listen_ == nullptr) return;
  listen_->close();
  retired_listens_.push_back(std::move(listen_));
  retire_timer_.arm(now());
}

void StreamableRemote::wait() {
  if (phase_ != Phase::open) return;
  phase_ = Phase::waiting;
  wake_timer_.arm(now() + backoff_.next());
}

void StreamableRemote::wake() {
  if (has_lost_session_) return renew();
  phase_ = Phase::open;
  pump();
}

void StreamableRemote::ask_authorizer() {
  if (phase_ == Phase::over || phase_ == Phase::asking || !services_.authorizer.can_renew()) return;
  phase_ = Phase::asking;
  wake_timer_.disarm();
  services_.authorizer.renew([this](const tl::expected<void, std::string>& renewed) {
    if (phase_ != Phase::asking) return;
    if (!renewed) {
      const Problem problem{Exit::refused, rpc::Fault::unauthenticated, renewed.error()};
      if (!is_known_) return leave(problem);
      fail_queued(problem);
    }
    phase_ = Phase::open;
    wake();
  });
}

// --- The client ---------------------------------------------------------------------------------

void StreamableRemote::pause() {
  is_paused_ = true;
  for (const auto& [key, post] : posts_) post->pause();
  if (listen_ != nullptr) listen_->pause();
}

void StreamableRemote::resume() {
  is_paused_ = false;
  for (const auto& [key, post] : posts_) post->resume();
  if (listen_ != nullptr) listen_->resume();
}

void StreamableRemote::close(std::function<void()> done) {
  phase_ = Phase::over;
  for (const auto& [key, post] : posts_) post->close();
  close_listen();
  for (Timer* timer : {&wake_timer_, &expiry_timer_, &late_timer_}) timer->disarm();
  if (session_.id.empty()) return done();
  farewell_ = std::make_unique<Farewell>(services_, std::move(done));
  farewell_->send(fields_.end(session_));
}

}  // namespace stdgate::remote
