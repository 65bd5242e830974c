#include "gateway/remote/remote_post.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gateway/remote/client_message.h"
#include "gateway/remote/streamable_remote.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::remote {
namespace {

bool names_target(std::string_view method) {
  return method == "tools/call" || method == "prompts/get" || method == "resources/read" ||
         method.starts_with("tasks/");
}

}  // namespace

void MarkedTools::learn(const rpc::Envelope& answer) {
  auto page = mcp::read_tool_page(answer);
  if (!page) return;
  for (mcp::MarkedTool& tool : page->tools) {
    if (tool.arguments.empty()) {
      tools_.erase(tool.name);
    } else if (tools_.size() < kMaxTools || tools_.contains(tool.name)) {
      const std::string name = tool.name;
      tools_[name] = std::move(tool);
    }
  }
}

void MarkedTools::append_fields(std::string_view tool, std::string_view params,
                                std::vector<std::string>& fields) const {
  const auto found = tools_.find(tool);
  if (found == tools_.end()) return;
  const std::string_view arguments = rpc::member_or_empty(params, "arguments");
  for (const mcp::MarkedArgument& argument : found->second.arguments) {
    std::string_view value = arguments;
    for (const std::string& key : argument.path) value = rpc::member_or_empty(value, key);
    if (value.empty() || value == "null" || value.front() == '{' || value.front() == '[') continue;
    std::string scratch;
    const std::string_view text =
        value.front() == '"' ? rpc::decode_string(rpc::string_content(value), scratch) : value;
    fields.push_back("Mcp-Param-" + argument.field + ": " + field_value_of(text));
  }
}

WebRequest RequestFields::post(const ClientMessage& message, const SessionTag& session) {
  WebRequest request{
      .method = WebMethod::post,
      .url = url_,
      .fields = {"Content-Type: application/json", "Accept: application/json, text/event-stream"},
      .body = message.text};
  if (!message.is_request()) request.time = kNoticeTime;
  if (message.is_greeting()) request.time = kGreetingTime;
  if (message.is_modern()) {
    modern_version_ = message.version;
    add_modern(message, request);
  } else if (message.is_greeting()) {
    modern_version_.clear();
  } else {
    add_session(session, request);
  }
  add_credentials(request);
  return request;
}

void RequestFields::add_modern(const ClientMessage& message, WebRequest& request) const {
  request.fields.push_back("MCP-Protocol-Version: " + field_value_of(message.version));
  request.fields.push_back("Mcp-Method: " + field_value_of(message.method));
  if (!names_target(message.method)) return;
  request.fields.push_back("Mcp-Name: " + field_value_of(message.target));
  if (message.method == "tools/call" && tools_.knows(message.target)) {
    tools_.append_fields(message.target, rpc::member_or_empty(message.text, "params"),
                         request.fields);
  }
}

// Revisions before 2025-06-18 do not define the version field, but their servers accept it.
void RequestFields::add_session(const SessionTag& session, WebRequest& request) const {
  if (!session.id.empty()) request.fields.push_back("Mcp-Session-Id: " + session.id);
  const bool is_told = !session.revision.empty();
  const std::string& version = is_told || !session.id.empty() ? session.revision : modern_version_;
  if (version.empty()) return;
  request.fields.push_back("MCP-Protocol-Version: " + field_value_of(version));
}

void RequestFields::add_credentials(WebRequest& request) const {
  std::ranges::copy(authorizer_.fields(), std::back_inserter(request.fields));
}

WebRequest RequestFields::listen(const SessionTag& session, const std::string& last_id) const {
  WebRequest request{.url = url_, .fields = {"Accept: text/event-stream"}};
  if (!last_id.empty()) request.fields.push_back("Last-Event-ID: " + last_id);
  add_session(session, request);
  add_credentials(request);
  return request;
}

WebRequest RequestFields::end(const SessionTag& session) const {
  WebRequest request{.method = WebMethod::del, .url = url_, .time = Remote::kFarewellTime};
  add_session(session, request);
  add_credentials(request);
  return request;
}

std::string RequestFields::session_id_of(const WebHead& head) {
  const std::string_view id = head.find("mcp-session-id");
  const bool is_good = id.size() <= kMaxSessionId &&
                       std::ranges::all_of(id, [](char c) { return c >= '!' && c <= '~'; });
  return is_good ? std::string(id) : std::string();
}

void RemotePost::close() {
  is_closed_ = true;
  stream_.close();
  resume_timer_.disarm();
}

void RemotePost::on_stream_head(const WebHead& head) {
  if (!head.is_success()) return;
  backoff_.reset();
  resume_until_ = {};
  note_taken();
}

void RemotePost::note_taken() {
  if (!std::exchange(is_taken_, true)) owner_.on_post_taken(*this);
}

void RemotePost::on_stream_event(std::string_view name, std::span<char> data) {
  if (!is_closed_ && name == "message") owner_.on_post_text(*this, data);
}

void RemotePost::on_stream_end(const WebFailure* failure) {
  if (is_closed_) return;
  if (failure != nullptr) failure_ = *failure;
  const WebHead& head = stream_.head();
  if (is_resuming_ && !stream_.has_events()) return end_resumption(failure);
  if (head.status == 0) {
    if (failure != nullptr && !failure->may_be_sent) return owner_.on_post_end(*this, End::unsent);
    return lose(failure == nullptr ? "no response" : failure->detail);
  }
  if (!head.is_success()) return owner_.on_post_end(*this, End::refused);
  if (!stream_.has_events() && failure == nullptr) return end_document();
  if (unanswered_.empty()) return owner_.on_post_end(*this, End::done);
  if (failure != nullptr && failure->kind == WebFailure::Kind::too_large) {
    return lose(failure->detail);
  }
  go_on(failure == nullptr ? "the stream ended before it" : failure->detail);
}

void RemotePost::end_document() {
  std::string& body = stream_.body();
  const bool is_json = stream_.head().has_type("application/json");
  // Some servers say "null" to a notification.
  if (is_json && !body.empty() && message_.is_request())
    owner_.on_post_text(*this, {body.data(), body.size()});
  if (is_closed_) return;
  if (unanswered_.empty()) return owner_.on_post_end(*this, End::done);
  // The server speaks another protocol.
  if (!is_json && !body.empty()) return owner_.on_post_end(*this, End::refused);
  lose("the response has none");
}

// --- Resumption ---------------------------------------------------------------------------------

void RemotePost::go_on(std::string why) {
  if (stream_.events().last_id().empty() || message_.is_modern()) return lose(std::move(why));
  const TimePoint now = services_.clock.now();
  if (why_.empty()) why_ = std::move(why);
  if (resume_until_ == TimePoint{}) resume_until_ = now + kResumeTime;
  if (now >= resume_until_) return lose(why_);
  is_resuming_ = true;
  const auto asked = stream_.events().take_retry();
  resume_timer_.arm(now + (asked ? Duration(*asked) : backoff_.next()));
}

void RemotePost::resume_now() {
  stream_.open(owner_.resumption(*this, stream_.events().last_id()));
}

void RemotePost::end_resumption(const WebFailure* failure) {
  const WebHead& head = stream_.head();
  if (head.status == 401) owner_.on_unauthorized();
  if (head.status == 0 || head.status == 401 || head.status >= 500) {
    return go_on(failure == nullptr ? "no response" : failure->detail);
  }
  if (head.status == 404) return owner_.on_post_end(*this, End::gone);
  lose((why_.empty() ? "the stream ended before it" : why_) +
       "; going on behind the last event was answered with status " + std::to_string(head.status));
}

void RemotePost::lose(std::string why) {
  why_ = std::move(why);
  owner_.on_post_end(*this, End::lost);
}

}  // namespace stdgate::remote
