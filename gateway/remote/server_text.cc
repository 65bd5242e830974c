#include "gateway/remote/server_text.h"

namespace stdgate::remote {

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
