#include "gateway/servers/server_messages.h"

#include <utility>

#include "gateway/base/text.h"
#include "gateway/call/insertion.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "gateway/servers/tool_search.h"

namespace stdgate::servers {

namespace {

constexpr std::string_view kMemberKey = "stdgate/member";

// An object as a member of `object`: as it is there, or a new one.
std::string object_within(std::string_view object, std::string_view key) {
  const std::string_view value = rpc::member_or_empty(object, key);
  return value.starts_with('{') ? std::string(value) : "{}";
}

}  // namespace

std::string greeting_of_gateway(const std::string& version) {
  return R"({"protocolVersion":")" + std::string(mcp::kMcpRevisions.front()) +
         R"(","capabilities":{},"clientInfo":{"name":"stdgate","version":)" + json_text(version) +
         "}}";
}

rpc::FaultReport report_of(const session::Reply& reply, std::string_view error) {
  std::string scratch;
  rpc::FaultReport report;
  report.fault = *reply.fault;
  report.message =
      rpc::decode_string(rpc::string_content(rpc::member_or_empty(error, "message")), scratch);
  report.retry_after = reply.retry_after;
  report.scope = reply.scope;
  return report;
}

std::string cancel_notice(session::Tag tag) {
  return rpc::notification_text("notifications/cancelled",
                                R"({"requestId":)" + std::to_string(tag) + "}");
}

std::string level_request(std::string_view level) {
  return rpc::request_text(R"("stdgate-level")", "logging/setLevel",
                           R"({"level":)" + json_text(level) + "}");
}

std::string subscribe_request(std::string_view uri) {
  return rpc::request_text(json_text("stdgate " + std::string(uri)), "resources/subscribe",
                           R"({"uri":)" + json_text(uri) + "}");
}

std::string with_logger(const rpc::Envelope& notification, std::string_view member) {
  if (!rpc::json_string_equals(notification.method, "notifications/message")) {
    return std::string(notification.text);
  }
  TextEdits edits(notification.text);
  const auto logger = rpc::find_member(notification.params, "logger");
  if (logger && logger->starts_with('"')) {
    std::string scratch;
    std::string named(member);
    named.append("/").append(rpc::decode_string(rpc::string_content(*logger), scratch));
    edits.replace(*logger, json_text(named));
    return edits.apply();
  }
  const std::string own = R"("logger":)" + json_text(member);
  const auto insertion = call::insertion_at(call::InsertionPlace::params, notification, own);
  if (insertion && rpc::is_absent(logger)) edits.insert(*insertion);
  return edits.apply();
}

std::string question_for_client(const rpc::Envelope& question, uint64_t id,
                                std::string_view member) {
  TextEdits edits(question.text);
  edits.replace(question.id, std::to_string(id));
  std::string own = "\"" + std::string(kMemberKey) + "\":";
  own += json_text(member);
  if (const auto insertion = call::insertion_at(call::InsertionPlace::meta, question, own)) {
    edits.insert(*insertion);
  }
  return edits.apply();
}

std::string with_asking_member(const rpc::Envelope& answer, std::string_view member) {
  // A search stops at each occurrence of the first letter, and '_' is rare.
  if (answer.kind != rpc::MessageKind::result ||
      answer.payload.find("_required") == std::string_view::npos ||
      rpc::member_or_empty(answer.payload, "resultType") != R"("input_required")") {
    return {};
  }
  TextEdits edits(answer.text);
  rpc::for_each_member(rpc::member_or_empty(answer.payload, "inputRequests"),
                       [&](std::string_view, std::string_view question) {
                         if (!question.starts_with('{')) return;
                         const std::string params = object_within(question, "params");
                         const std::string meta = with_member(object_within(params, "_meta"),
                                                              kMemberKey, json_text(member));
                         const std::string own = with_member(params, "_meta", meta);
                         edits.replace(question, with_member(question, "params", own));
                       });
  return edits.apply();
}

std::string with_name_of_client(const rpc::Envelope& answer, std::string_view name) {
  const std::string_view message = rpc::member_or_empty(answer.payload, "message");
  std::string scratch;
  const std::string_view text = rpc::decode_string(rpc::string_content(message), scratch);
  for (const std::string_view what : {"Unknown tool: ", "Unknown prompt: "}) {
    if (!text.starts_with(what)) continue;
    TextEdits edits(answer.text);
    edits.replace(message, json_text(std::string(what).append(name)));
    return edits.apply();
  }
  return {};
}

std::string with_id(const rpc::Envelope& message, std::string_view id) {
  TextEdits edits(message.text);
  edits.replace(message.id, id);
  return edits.apply();
}

std::optional<std::string> request_within(const rpc::Envelope& request) {
  if (!rpc::json_string_equals(request.method, "tools/call")) return std::nullopt;
  const auto name = rpc::find_clear_member(request.params, "name");
  const auto arguments = rpc::find_clear_member(request.params, "arguments");
  if (!name || !arguments || !rpc::json_string_equals(rpc::string_content(*name), kCallTool)) {
    return std::nullopt;
  }
  const auto inner = rpc::find_clear_member(*arguments, "name");
  const auto inner_arguments = rpc::find_clear_member(*arguments, "arguments");
  const bool is_clear = inner_arguments || rpc::is_absent(inner_arguments);
  if (!inner || !inner->starts_with('"') || !is_clear) return std::nullopt;
  TextEdits edits(request.text);
  edits.replace(*name, *inner);
  edits.replace(*arguments, inner_arguments.value_or("{}"));
  return edits.apply();
}

std::string error_text(std::string_view error) {
  std::string scratch;
  return std::string(
      rpc::decode_string(rpc::string_content(rpc::member_or_empty(error, "message")), scratch));
}

bool is_subscription(std::string_view method) {
  return same_text(method, "resources/subscribe") || same_text(method, "resources/unsubscribe");
}

void TextEdits::insert(const char* before, std::string_view what) {
  add({static_cast<size_t>(before - text_.data()), 0}, what);
}

void TextEdits::insert(const call::Insertion& insertion) {
  std::string what(insertion.head);
  what.append(insertion.members).append(insertion.tail);
  add({insertion.offset, insertion.replaced}, what);
}

// Edits of the same place keep their order.
void TextEdits::add(TextPlace place, std::string_view with) {
  Edit edit{place, {added_.size(), with.size()}};
  added_.append(with);
  edits_.push_back(edit);
  for (size_t i = edits_.size() - 1; i > 0 && place.offset < edits_[i - 1].place.offset; --i) {
    std::swap(edits_[i], edits_[i - 1]);
  }
}

std::string TextEdits::apply() const {
  std::string out;
  out.reserve(text_.size() + added_.size());
  const std::string_view all_added = added_;
  size_t at = 0;
  for (const auto& [place, added] : edits_) {
    out.append(text_.substr(at, place.offset - at));
    out.append(all_added.substr(added.offset, added.length));
    at = place.offset + place.length;
  }
  return out.append(text_.substr(at));
}

std::string_view TextEdits::moved(std::string_view part, std::string_view edited) const {
  if (part.empty()) return part;
  const TextPlace place = place_of(part, text_);
  size_t begin = place.offset;
  size_t end = begin + place.length;
  for (const Edit& edit : edits_) {
    if (edit.place.offset >= place.offset + place.length) break;
    end += edit.growth();
    if (edit.place.offset + edit.place.length <= place.offset) begin += edit.growth();
  }
  return edited.substr(begin, end - begin);
}

void for_each_element(std::string_view array,
                      const std::function<void(std::string_view value)>& visit) {
  rpc::JsonCursor cursor(array);
  if (!cursor.take('[') || cursor.take(']')) return;
  do {
    visit(cursor.take_value());
  } while (cursor.take(','));
}

std::string without_members(std::string_view object,
                            const std::function<bool(std::string_view key)>& goes) {
  std::string out = "{";
  rpc::JsonCursor cursor(object);
  if (!cursor.take('{') || cursor.take('}')) return std::string(object);
  std::string scratch;
  do {
    const char* const begin = cursor.position();
    const std::string_view quoted = cursor.take_string();
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    if (goes(rpc::decode_string(quoted.substr(1, quoted.size() - 2), scratch))) continue;
    if (out.size() > 1) out += ',';
    out.append(begin, value.data() + value.size());
  } while (cursor.take(','));
  return out + "}";
}

std::string without_texts(std::string_view array,
                          const std::function<bool(std::string_view text)>& goes) {
  std::string out = "[";
  std::string scratch;
  for_each_element(array, [&](std::string_view value) {
    if (value.starts_with('"') && goes(rpc::decode_string(rpc::string_content(value), scratch))) {
      return;
    }
    if (out.size() > 1) out += ',';
    out.append(value);
  });
  return out + "]";
}

std::string with_member(std::string_view object, std::string_view key, std::string_view value) {
  if (const auto former = rpc::find_member(object, key)) {
    TextEdits edits(object);
    edits.replace(*former, value);
    return edits.apply();
  }
  std::string out(object.substr(0, object.find_last_of('}')));
  const bool is_empty = object.find_first_not_of(" \t\r\n", 1) == object.find_last_of('}');
  if (!is_empty) out += ',';
  rpc::append_json_string(out, key);
  return out.append(":").append(value).append("}");
}

std::string json_text(std::string_view text) {
  std::string out;
  rpc::append_json_string(out, text);
  return out;
}

}  // namespace stdgate::servers
