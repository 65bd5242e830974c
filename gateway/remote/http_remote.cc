#include "gateway/remote/http_remote.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gateway/remote/link_remote.h"

namespace stdgate::remote {
namespace {

std::string_view origin_of(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  return url.substr(0, std::min(url.find_first_of("/?#", scheme + 3), url.size()));
}

bool is_url_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; });
}

}  // namespace

std::string same_origin_url(std::string_view base, std::string_view reference) {
  const std::string_view origin = origin_of(base);
  if (reference.empty() || !is_url_text(reference)) return {};
  if (reference.find("://") != std::string_view::npos &&
      reference.find("://") < reference.find_first_of("/?#")) {
    return origin_of(reference) == origin ? std::string(reference) : std::string();
  }
  if (reference.starts_with("//")) return {};
  if (reference.front() == '/') return std::string(origin).append(reference);
  std::string_view path = base.substr(0, base.find_first_of("?#"));
  if (reference.front() == '?') return std::string(path).append(reference);
  // The reference has a scheme without authority, as in "javascript:".
  if (reference.find(':') < reference.find_first_of("/?#")) return {};
  const size_t slash = path.rfind('/');
  path = slash < origin.size() ? origin : path.substr(0, slash);
  return std::string(path).append("/").append(reference);
}

// The POST under way. There is one at most.
class SseLink::Post final : public RemoteStream::Owner {
 public:
  explicit Post(SseLink& link)
      : stream(link.services_.web, link.services_.clock, link.services_.timers, *this,
               RemoteStream::kMaxRefusal),
        link_(link) {}

  RemoteStream stream;
  bool is_at_work = false;

 private:
  void on_stream_head(const WebHead& /*head*/) override {}
  void on_stream_event(std::string_view /*name*/, std::span<char> /*data*/) override {}
  void on_stream_end(const WebFailure* failure) override {
    is_at_work = false;
    link_.end_post(failure);
  }

  SseLink& link_;
};

SseLink::SseLink(std::string url, const RemoteServices& services)
    : url_(std::move(url)),
      services_(services),
      stream_(services.web, services.clock, services.timers, *this),
      post_(std::make_unique<Post>(*this)),
      endpoint_timer_(services.timers, [this] {
        end({{Exit::no_server, rpc::Fault::child_failed,
              shown_url(url_) + " is not an MCP server: its event stream names no endpoint"}});
      }) {}

SseLink::~SseLink() = default;

void SseLink::open(LinkRemote& owner, bool /*is_mcp*/) {
  owner_ = &owner;
  endpoint_.clear();
  WebRequest request{.url = url_, .fields = {"Accept: text/event-stream"}};
  std::ranges::copy(services_.authorizer.fields(), std::back_inserter(request.fields));
  endpoint_timer_.arm(services_.clock.now() + kEndpointTime);
  stream_.open(std::move(request));
}

void SseLink::close() {
  owner_ = nullptr;
  stream_.close();
  post_->stream.close();
  post_->is_at_work = false;
  endpoint_timer_.disarm();
  waiting_.clear();
  waiting_bytes_ = 0;
}

void SseLink::on_stream_event(std::string_view name, std::span<char> data) {
  if (name == "endpoint" && endpoint_.empty()) {
    take_endpoint({data.data(), data.size()});
  } else if (name == "message" && !endpoint_.empty()) {
    owner_->on_link_text(data);
  }
}

void SseLink::take_endpoint(std::string_view text) {
  endpoint_ = same_origin_url(url_, text);
  if (endpoint_.empty()) {
    return end({{Exit::no_server, rpc::Fault::child_failed,
                 shown_url(url_) + " names an endpoint of another server: " + shown_url(text)}});
  }
  endpoint_timer_.disarm();
  owner_->on_link_open();
}

void SseLink::on_stream_end(const WebFailure* failure) {
  const WebHead& head = stream_.head();
  if (head.status != 0 && !stream_.has_events()) {
    return end({problem_of(head, stream_.body(), url_, services_.authorizer.name()), head.status});
  }
  const WebFailure closed{WebFailure::Kind::cut, "the server has closed it"};
  end({problem_of(failure == nullptr ? closed : *failure, url_)});
}

void SseLink::end(const LinkEnd& end) {
  if (owner_ == nullptr) return;
  LinkRemote& owner = *owner_;
  close();
  owner.on_link_end(end);
}

// --- Messages -----------------------------------------------------------------------------------

void SseLink::send(const ClientMessage& message) {
  waiting_.push_back(message);
  waiting_bytes_ += message.text.size();
  post_next();
}

void SseLink::post_next() {
  if (post_->is_at_work || waiting_.empty()) return;
  WebRequest request{.method = WebMethod::post,
                     .url = endpoint_,
                     .fields = {"Content-Type: application/json"},
                     .body = waiting_.front().text,
                     .time = kPostTime};
  std::ranges::copy(services_.authorizer.fields(), std::back_inserter(request.fields));
  post_->is_at_work = true;
  post_->stream.open(std::move(request));
}

void SseLink::end_post(const WebFailure* failure) {
  if (owner_ == nullptr || waiting_.empty()) return;
  const ClientMessage message = std::move(waiting_.front());
  waiting_.pop_front();
  const bool was_full = is_full();
  waiting_bytes_ -= message.text.size();
  if (was_full && !is_full()) owner_->on_link_room();
  const WebHead& head = post_->stream.head();
  if (failure != nullptr && head.status == 0) {
    owner_->on_link_lost(message, failure->may_be_sent ? lost_answer(endpoint_, failure->detail)
                                                       : problem_of(*failure, endpoint_));
  } else if (!head.is_success()) {
    const Problem problem =
        problem_of(head, post_->stream.body(), endpoint_, services_.authorizer.name());
    owner_->on_link_lost(message, problem);
    // The session has gone.
    if (head.status == 401 || head.status == 404) return end({problem, head.status});
  }
  if (owner_ != nullptr) post_next();
}

HttpRemote::HttpRemote(std::string url, const RemoteServices& services)
    : url_(std::move(url)),
      services_(services),
      streamable_(std::make_unique<StreamableRemote>(
          url_, services, [this](std::deque<ClientMessage> messages, const Problem& problem) {
            fall_back(std::move(messages), problem);
          })) {}

// Called from within `streamable_`, which is not used any more.
void HttpRemote::fall_back(std::deque<ClientMessage> messages, const Problem& problem) {
  old_ = std::make_unique<LinkRemote>(url_, std::make_unique<SseLink>(url_, services_), services_,
                                      problem);
  if (is_paused_) old_->pause();
  for (ClientMessage& message : messages) old_->take(std::move(message));
}

void HttpRemote::pause() {
  is_paused_ = true;
  current().pause();
}

void HttpRemote::resume() {
  is_paused_ = false;
  current().resume();
}

}  // namespace stdgate::remote
