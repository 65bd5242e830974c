#include "gateway/remote/remote.h"

#include <algorithm>

namespace stdgate::remote {

Duration Backoff::next() {
  const Duration whole = next_;
  next_ = std::min(2 * next_, kLongest);
  std::uniform_int_distribution<Duration::rep> part(0, (whole / 2).count());
  return whole / 2 + Duration(part(random_));
}

void read_server_text(rpc::EnvelopeParser& parser, std::span<char> text, const std::string& url,
                      LocalClient& client, const std::function<bool(const rpc::Envelope&)>& each) {
  const auto refuse = [&url, &client](const std::string& reason) {
    client.say(shown_url(url) + " has sent what is no JSON-RPC: " + reason);
  };
  const auto document = parser.parse(text);
  if (!document) return refuse(std::string(document.error().reason));
  for (const rpc::ParsedMessage& message : document->messages) {
    if (!message.ok()) {
      refuse(std::string(message.rejection));
    } else if (!each(message.envelope)) {
      return;
    }
  }
}

}  // namespace stdgate::remote
