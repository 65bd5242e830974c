#include "gateway/remote/http_remote.h"

#include <utility>

#include "gateway/remote/link_remote.h"
#include "gateway/remote/sse_link.h"

namespace stdgate::remote {

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
