#include "gateway/remote/client_message.h"

#include <algorithm>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::remote {
namespace {

std::string decoded(std::string_view value) {
  std::string scratch;
  return std::string(rpc::decode_string(rpc::string_content(value), scratch));
}

// The member of params whose value the Mcp-Name field repeats.
std::string_view target_key(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  if (method.starts_with("resources/")) return "uri";
  return method.starts_with("tasks/") ? "taskId" : std::string_view();
}

void read_request(const rpc::Envelope& envelope, ClientMessage& message) {
  std::string scratch;
  message.method = envelope.decoded_method(scratch);
  const std::string_view version = mcp::modern_version(envelope);
  message.version = decoded(version);
  if (const std::string_view key = target_key(message.method); !key.empty()) {
    message.target = decoded(rpc::member_or_empty(envelope.params, key));
  }
  if (message.method == "notifications/cancelled") {
    message.cancelled = rpc::member_or_empty(envelope.params, "requestId");
  }
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }) &&
         !text.starts_with(' ') && !text.ends_with(' ') && !text.starts_with("=?base64?");
}

}  // namespace

ClientMessage read_client_message(const rpc::Document& document, std::string_view text) {
  ClientMessage message;
  message.text = text;
  message.is_batch = document.batch;
  for (const rpc::ParsedMessage& one : document.messages) {
    if (!one.ok() || one.envelope.kind != rpc::MessageKind::request) continue;
    message.requests.emplace_back(one.envelope.id);
  }
  const rpc::Envelope& first = document.messages[0].envelope;
  message.kind = first.kind;
  if (document.batch) return message;
  message.id = first.id;
  if (!first.method.empty()) read_request(first, message);
  return message;
}

std::string field_value_of(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string encoded = encode_base64url(text);
  std::ranges::replace(encoded, '-', '+');
  std::ranges::replace(encoded, '_', '/');
  encoded.append((4 - encoded.size() % 4) % 4, '=');
  return "=?base64?" + encoded + "?=";
}

void MessageQueue::push(ClientMessage message, TimePoint due) {
  message.number = ++last_number_;
  message.due = due;
  bytes_ += message.text.size();
  messages_.push_back(std::move(message));
}

void MessageQueue::put_back(ClientMessage message) {
  bytes_ += message.text.size();
  const auto place =
      std::ranges::upper_bound(messages_, message.number, {}, &ClientMessage::number);
  messages_.insert(place, std::move(message));
}

bool MessageQueue::is_full() const {
  return messages_.size() >= kMaxMessages || bytes_ >= kMaxBytes;
}

std::optional<ClientMessage> MessageQueue::take_out(const Place& place) {
  if (place == messages_.end()) return std::nullopt;
  const bool was_full = is_full();
  ClientMessage message = std::move(*place);
  messages_.erase(place);
  bytes_ -= message.text.size();
  if (was_full && !is_full()) on_room_();
  return message;
}

std::optional<ClientMessage> MessageQueue::pop(bool only_notices) {
  return take_out(std::ranges::find_if(messages_, [only_notices](const ClientMessage& message) {
    return !only_notices || !message.is_request();
  }));
}

bool MessageQueue::remove_request(std::string_view id) {
  return take_out(std::ranges::find_if(messages_,
                                       [id](const ClientMessage& message) {
                                         return !message.is_batch && message.is_request() &&
                                                message.id == id;
                                       }))
      .has_value();
}

std::optional<ClientMessage> MessageQueue::pop_due(TimePoint now) {
  return take_out(std::ranges::find_if(
      messages_, [now](const ClientMessage& message) { return message.due <= now; }));
}

std::optional<TimePoint> MessageQueue::next_due() const {
  if (messages_.empty()) return std::nullopt;
  const TimePoint due = std::ranges::min_element(messages_, {}, &ClientMessage::due)->due;
  return due == TimePoint::max() ? std::nullopt : std::optional(due);
}

std::deque<ClientMessage> MessageQueue::take_all() {
  const bool was_full = is_full();
  bytes_ = 0;
  std::deque<ClientMessage> all = std::exchange(messages_, {});
  if (was_full) on_room_();
  return all;
}

void SessionMemory::learn(const ClientMessage& message) {
  if (message.is_batch) return;
  if (message.method == "initialize") {
    forget();
    greeting_ = message;
    return;
  }
  if (message.method == "notifications/initialized") {
    greeted_ = message;
    has_greeted_ = true;
    return;
  }
  has_served_ = has_served_ || (message.is_request() && message.method != "ping");
  if (message.method == "logging/setLevel") level_ = message;
  const bool begins = message.method == "resources/subscribe";
  if (!begins && message.method != "resources/unsubscribe") return;
  std::erase_if(wishes_, [&](const ClientMessage& wish) { return wish.target == message.target; });
  if (!begins) return;
  if (wishes_.size() == kMaxWishes) wishes_.erase(wishes_.begin());
  wishes_.push_back(message);
}

bool SessionMemory::note_greeting(const rpc::Envelope& answer) {
  std::string terms;
  for (const std::string_view key : {"serverInfo", "instructions"}) {
    terms.append(rpc::member_or_empty(answer.payload, key)).append("\n");
  }
  const std::string_view offered = rpc::member_or_empty(answer.payload, "capabilities");
  const std::string_view revision =
      rpc::string_content(rpc::member_or_empty(answer.payload, "protocolVersion"));
  const bool is_first = revision_.empty();
  has_changed_ = !is_first && (terms != terms_ || offered != capabilities_);
  if (!is_first && revision != revision_) return false;
  terms_ = std::move(terms);
  capabilities_ = offered;
  revision_ = revision;
  return true;
}

std::vector<ClientMessage> SessionMemory::wishes() const {
  std::vector<ClientMessage> all;
  if (greeted_) all.push_back(*greeted_);
  if (level_) all.push_back(*level_);
  all.insert(all.end(), wishes_.begin(), wishes_.end());
  return all;
}

std::vector<std::string> SessionMemory::notices() const {
  std::vector<std::string> notices;
  if (has_served_) notices.emplace_back(mcp::kRestartNotice);
  if (!has_changed_) return notices;
  for (const mcp::McpList& list : mcp::kMcpLists) {
    if (!rpc::find_member(capabilities_, list.capability)) continue;
    notices.push_back(rpc::notification_text(list.changed));
  }
  return notices;
}

}  // namespace stdgate::remote
