#include "transports/websocket/socket_link.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "gateway/base/addresses.h"
#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/remote/web_client.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate::websocket {

namespace {

// The opening handshake (RFC 6455 section 4.1), client's side.
struct ClientHandshake {
  std::string_view authority;
  std::string_view target;                 // path and query
  std::string_view key;                    // 16 bytes of chance in base64
  std::string_view protocol;               // that is offered; empty: none
  const std::vector<std::string>& fields;  // further ones, "Name: value"
};

std::string handshake_request(const ClientHandshake& handshake) {
  std::string text = "GET ";
  text.append(handshake.target.empty() ? std::string_view("/") : handshake.target);
  text.append(" HTTP/1.1\r\nHost: ").append(handshake.authority);
  text.append("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13");
  text.append("\r\nSec-WebSocket-Key: ").append(handshake.key);
  if (!handshake.protocol.empty()) {
    text.append("\r\nSec-WebSocket-Protocol: ").append(handshake.protocol);
  }
  for (const std::string& field : handshake.fields) text.append("\r\n").append(field);
  return text.append("\r\n\r\n");
}

// A response's head, from its status line to the empty line behind it. Nothing: it is none.
std::optional<remote::WebHead> parse_response_head(std::string_view text) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  remote::WebHead head;
  if (!text.starts_with(kVersion)) return std::nullopt;
  const char* const digits = text.data() + kVersion.size();
  const auto [end, error] = std::from_chars(digits, text.data() + text.size(), head.status);
  if (error != std::errc() || end != digits + 3) return std::nullopt;
  text.remove_prefix(std::min(text.find("\r\n"), text.size()));
  while (text.starts_with("\r\n") && text.size() > 2) {
    text.remove_prefix(2);
    const std::string_view line = text.substr(0, text.find("\r\n"));
    text.remove_prefix(line.size());
    if (line.empty()) continue;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return std::nullopt;
    head.fields.emplace_back(to_lower_ascii(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  return head;
}

// Why a response with 101 opens no WebSocket; nothing: it does. A constant phrase.
const char* handshake_problem(const remote::WebHead& head, std::string_view key,
                              std::string_view offered_protocol) {
  if (!equals_ignoring_case(head.find("upgrade"), "websocket"))
    return "it upgrades to another protocol";
  if (head.find("sec-websocket-accept") != accept_value(key))
    return "Sec-WebSocket-Accept is wrong";
  if (!head.find("sec-websocket-extensions").empty())
    return "it has extensions that nobody offered";
  const std::string_view protocol = head.find("sec-websocket-protocol");
  if (!protocol.empty() && protocol != offered_protocol)
    return "it speaks a subprotocol that nobody offered";
  return nullptr;
}

constexpr std::string_view kHeadEnd = "\r\n\r\n";

// Section 4.1: 16 bytes.
std::string random_key(Random& random) {
  std::array<uint64_t, 2> bytes{random(), random()};
  std::string key = encode_base64url({reinterpret_cast<const char*>(bytes.data()), sizeof(bytes)});
  std::ranges::replace(key, '-', '+');
  std::ranges::replace(key, '_', '/');
  return key + "==";
}

}  // namespace

SocketLink::SocketLink(std::string url, const remote::RemoteServices& services,
                       fetch::CurlWebClient& web, net::Loop& loop)
    : url_(std::move(url)),
      web_url_("http" + url_.substr(2)),
      services_(services),
      web_(web),
      loop_(loop),
      timer_(services.timers, [this] { watch_pulse(); }) {}

SocketLink::~SocketLink() { close(); }

void SocketLink::open(remote::LinkRemote& owner, bool is_mcp) {
  owner_ = &owner;
  protocol_ = is_mcp ? "mcp" : "";
  head_.clear();
  is_open_ = false;
  is_asked_ = false;
  timer_.arm(services_.clock.now() + kHandshakeTime);
  connection_ = std::make_unique<fetch::CurlConnection>(
      web_url_, web_, loop_, static_cast<fetch::CurlConnection::Events&>(*this));
}

void SocketLink::close() {
  owner_ = nullptr;
  timer_.disarm();
  if (reader_ != nullptr) loop_.retire(std::move(reader_));
  if (connection_ == nullptr) return;
  connection_->stop();
  loop_.retire(std::move(connection_));
}

void SocketLink::send(const remote::ClientMessage& message) {
  if (is_open_) write(Opcode::text, message.text);
}

bool SocketLink::is_full() const {
  return connection_ != nullptr && connection_->unsent() >= kMaxUnsent;
}

void SocketLink::pause() {
  is_paused_ = true;
  if (connection_ != nullptr) connection_->pause();
}

void SocketLink::resume() {
  is_paused_ = false;
  if (connection_ != nullptr) connection_->resume();
}

void SocketLink::write(Opcode opcode, std::string_view payload) {
  const auto mask = static_cast<uint32_t>(services_.random());
  if (connection_ != nullptr) connection_->write(masked_frame(opcode, payload, mask));
}

// --- What comes ---------------------------------------------------------------------------------

void SocketLink::on_connected() {
  if (owner_ == nullptr) return;
  const auto url = WebUrl::parse(web_url_);
  if (!url) return fail("its URL is not one");
  const std::string target = std::string(url->path).append(url->query);
  key_ = random_key(services_.random);
  const std::vector<std::string> fields = services_.authorizer.fields();
  connection_->write(handshake_request({url->authority, target, key_, protocol_, fields}));
}

void SocketLink::on_bytes(std::span<char> bytes) {
  if (owner_ == nullptr) return;
  if (!is_open_) return take_head(bytes);
  is_asked_ = false;
  timer_.arm(services_.clock.now() + kPulse);
  read_messages(bytes);
}

void SocketLink::take_head(std::span<char> bytes) {
  const size_t before = head_.size();
  head_.append(bytes.data(), bytes.size());
  const size_t end_of_head = head_.find(kHeadEnd, before < 3 ? 0 : before - 3);
  if (end_of_head == std::string::npos) {
    if (head_.size() > kMaxHead) fail("its answer to the handshake is too long");
    return;
  }
  const auto head =
      parse_response_head(std::string_view(head_).substr(0, end_of_head + kHeadEnd.size()));
  if (!head) return fail("it does not answer in HTTP/1.1");
  std::string rest = head_.substr(end_of_head + kHeadEnd.size());
  if (head->is_success()) {
    return fail("it answers in HTTP (" + std::to_string(head->status) +
                "), so no WebSocket is served there");
  }
  if (head->status != 101) {
    return end({remote::problem_of(*head, rest, url_), head->status});
  }
  if (const char* const problem = handshake_problem(*head, key_, protocol_)) return fail(problem);
  is_open_ = true;
  reader_ =
      std::make_unique<MessageReader>(loop_.storages(), kMaxMessage, MessageReader::Peer::server);
  timer_.arm(services_.clock.now() + kPulse);
  if (is_paused_) connection_->pause();
  owner_->on_link_open();
  if (owner_ != nullptr && !rest.empty()) read_messages({rest.data(), rest.size()});
}

void SocketLink::read_messages(std::span<char> bytes) {
  const auto taken = reader_->feed(bytes, *this);
  if (!taken && owner_ != nullptr)
    fail(std::string("it sends bad frames: ") + taken.error().reason);
}

bool SocketLink::on_message(std::span<char> text) {
  owner_->on_link_text(text);
  return owner_ != nullptr;
}

bool SocketLink::on_ping(std::string_view payload) {
  // A server that sends pings and reads nothing is not answered without end.
  if (!is_full()) write(Opcode::pong, payload);
  return true;
}

void SocketLink::on_close(CloseCode code, std::string_view reason) {
  std::string why = "the server has closed the WebSocket";
  if (code != CloseCode::no_status) why += " (" + std::to_string(static_cast<int>(code)) + ")";
  if (!reason.empty()) why.append(": ").append(reason);
  fail(why, code == CloseCode::normal);
}

// --- Ends ---------------------------------------------------------------------------------------

void SocketLink::on_closed(const remote::WebFailure& failure) {
  end({remote::problem_of(failure, url_)});
}

void SocketLink::fail(const std::string& why, bool is_finished) {
  const bool was_open = is_open_;
  end({.problem = {was_open ? remote::Exit::lost : remote::Exit::no_server,
                   rpc::Fault::child_failed, remote::shown_url(url_) + ": " + why},
       .is_finished = is_finished});
}

void SocketLink::end(const remote::LinkEnd& end) {
  if (owner_ == nullptr) return;
  remote::LinkRemote& owner = *owner_;
  close();
  owner.on_link_end(end);
}

void SocketLink::watch_pulse() {
  if (!is_open_) return fail("no answer to the handshake");
  if (is_paused_) {
    is_asked_ = false;
  } else if (std::exchange(is_asked_, true)) {
    return fail("it gives no sign of life");
  } else {
    write(Opcode::ping, {});
  }
  timer_.arm(services_.clock.now() + kPulse);
}

}  // namespace stdgate::websocket
