#include "gateway/mcp/era_bridge.h"

#include <algorithm>
#include <array>
#include <span>

#include "gateway/base/text.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {

namespace {

using Error = rpc::RpcError;

// Cacheable results of legacy children get a lifetime of zero for modern clients.
bool is_cacheable(std::string_view method) {
  return method == "resources/read" || find_listing(method) != nullptr;
}
constexpr std::string_view kUncached = R"("ttlMs":0,"cacheScope":"private")";

// Capabilities of a server that mean the same in both eras.
constexpr std::array<std::string_view, 6> kCommonCapabilities = {
    "tools", "prompts", "completions", "logging", "experimental", "extensions"};

// Appends a member to an object; the first member needs no comma.
void append_member(std::string& out, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  if (out.back() != '{') out += ',';
  out.append("\"").append(key).append("\":").append(value);
}

void append_capabilities(std::string& out, std::string_view capabilities) {
  out += '{';
  for (const std::string_view key : kCommonCapabilities) {
    append_member(out, key, rpc::member_or_empty(capabilities, key));
  }
  if (const std::string_view resources = rpc::member_or_empty(capabilities, "resources");
      !resources.empty()) {
    std::string kept = "{";
    append_member(kept, "subscribe", rpc::member_or_empty(resources, "subscribe"));
    append_member(kept, "listChanged", rpc::member_or_empty(resources, "listChanged"));
    append_member(out, "resources", kept + "}");
  }
  out += '}';
}

// Empty for no texts.
template <class Texts>
std::string array_of(const Texts& texts) {
  std::string array;
  for (const std::string& text : texts) {
    array += array.empty() ? '[' : ',';
    rpc::append_json_string(array, text);
  }
  if (!array.empty()) array += ']';
  return array;
}

// The capabilities that a legacy client may rely on at a modern child. The gateway listens for
// changes and updates, and sends the log level with each request.
std::string plain_capabilities(std::string_view capabilities) {
  std::string plain = "{";
  for (const std::string_view key : {"tools", "prompts", "resources", "completions", "logging"}) {
    const std::string_view offered = rpc::member_or_empty(capabilities, key);
    if (offered.empty()) continue;
    std::string kept = "{";
    if (key == "resources")
      append_member(kept, "subscribe", rpc::member_or_empty(offered, "subscribe"));
    append_member(kept, "listChanged", rpc::member_or_empty(offered, "listChanged"));
    append_member(plain, key, kept + "}");
  }
  return plain + "}";
}

// Appends the error with the code `to`, if its code is `from`.
bool append_error_with(std::string& out, std::string_view error, Error from, Error to) {
  const std::string_view code = rpc::member_or_empty(error, "code");
  if (code != std::to_string(rpc::rpc_error_code(from))) return false;
  const TextPlace place = place_of(code, error);
  out.append(R"("error":)")
      .append(error.substr(0, place.offset))
      .append(std::to_string(rpc::rpc_error_code(to)));
  out.append(error.substr(place.offset + place.length));
  return true;
}

void append_discovery(std::string& out, std::string_view greeting) {
  std::string capabilities;
  append_capabilities(capabilities, rpc::member_or_empty(greeting, "capabilities"));
  out.append(R"("result":{"resultType":"complete","supportedVersions":[")");
  out.append(kModernRevision).append("\"]");
  append_member(out, "capabilities", capabilities);
  append_member(out, "instructions", rpc::member_or_empty(greeting, "instructions"));
  out.append(",").append(kUncached);
  if (const std::string_view server = rpc::member_or_empty(greeting, "serverInfo");
      !server.empty()) {
    out.append(R"(,"_meta":{")").append(kServerInfoKey).append("\":").append(server).append("}");
  }
  out += '}';
}

}  // namespace

bool bridge_to_modern(const rpc::Envelope& answer, std::string_view method, std::string& out) {
  const std::string_view payload = answer.payload;
  if (answer.kind == rpc::MessageKind::error) {
    return append_error_with(out, payload, Error::resource_not_found, Error::invalid_params);
  }
  if (method == "server/discover") {
    append_discovery(out, payload);
    return true;
  }
  if (payload.empty() || payload.front() != '{') return false;
  out.append(R"("result":{)");
  if (rpc::member_or_empty(payload, "resultType").empty())
    append_member(out, "resultType", R"("complete")");
  if (is_cacheable(method) && rpc::member_or_empty(payload, "ttlMs").empty() &&
      rpc::member_or_empty(payload, "cacheScope").empty()) {
    if (out.back() != '{') out += ',';
    out += kUncached;
  }
  const std::string_view rest = payload.substr(1);
  const size_t first = rest.find_first_not_of(" \t\r\n");
  if (rest[first] != '}' && out.back() != '{') out += ',';
  out.append(rest);
  return true;
}

bool bridge_to_legacy(const rpc::Envelope& answer, std::string_view method,
                      std::string_view greeting, std::string& out) {
  const std::string_view payload = answer.payload;
  if (answer.kind == rpc::MessageKind::error) {
    // These errors are about members that the gateway has written, which the client does not know.
    for (const Error of_gateway :
         {Error::header_mismatch, Error::missing_capability, Error::unsupported_version}) {
      if (append_error_with(out, payload, of_gateway, Error::internal_error)) return true;
    }
    return method == "resources/read" &&
           append_error_with(out, payload, Error::invalid_params, Error::resource_not_found);
  }
  if (method != "initialize") return false;
  // The client's own revision, if it is known: a client may end a session in another one.
  out.append(R"("result":{"protocolVersion":")").append(agreed_mcp_revision(greeting)).append("\"");
  append_member(out, "capabilities",
                plain_capabilities(rpc::member_or_empty(payload, "capabilities")));
  const std::string_view server =
      rpc::member_or_empty(rpc::member_or_empty(payload, "_meta"), kServerInfoKey);
  append_member(out, "serverInfo",
                server.empty() ? R"({"name":"unnamed","version":"unknown"})" : server);
  append_member(out, "instructions", rpc::member_or_empty(payload, "instructions"));
  out += '}';
  return true;
}

uint8_t listened_lists(const rpc::Envelope& request) {
  const std::string_view wishes = rpc::member_or_empty(request.params, "notifications");
  uint8_t lists = 0;
  for (const McpList& list : kMcpLists) {
    if (rpc::member_or_empty(wishes, list.wish) == "true")
      lists = static_cast<uint8_t>(lists | list.bit);
  }
  return lists;
}

std::string list_request(std::string_view method, std::string_view cursor, std::string_view stamp) {
  std::string params = "{";
  if (!cursor.empty()) params.append(R"("cursor":)").append(cursor).append(",");
  params.append(R"("_meta":{)").append(stamp).append("}}");
  return rpc::request_text(0, method, params);
}

std::string listen_request(std::string_view stamp, bool lists,
                           const std::set<std::string, std::less<>>& uris) {
  std::string wishes = "{";
  for (const McpList& list : kMcpLists) {
    if (lists) append_member(wishes, list.wish, "true");
  }
  append_member(wishes, kUpdatesWish, array_of(uris));
  std::string params = R"({"_meta":{)" + std::string(stamp) + R"(},"notifications":)";
  params.append(wishes).append("}}");
  return rpc::request_text(R"("listen")", "subscriptions/listen", params);
}

std::string subscription_tag(std::string_view id) {
  std::string tag = "\"" + std::string(kSubscriptionKey) + "\":";
  return tag.append(id);
}

std::string listening_end(std::string_view id) {
  return R"("result":{"resultType":"complete","_meta":{)" + subscription_tag(id) + "}}";
}

std::string listening_acknowledgement(std::string_view id, uint8_t lists,
                                      std::span<const std::string> uris,
                                      std::span<const std::string> tasks) {
  std::string honored = "{";
  for (const McpList& list : kMcpLists) {
    if ((lists & list.bit) != 0) append_member(honored, list.wish, "true");
  }
  append_member(honored, kUpdatesWish, array_of(uris));
  append_member(honored, kTasksWish, array_of(tasks));
  return rpc::notification_text(
      "notifications/subscriptions/acknowledged",
      R"({"_meta":{)" + subscription_tag(id) + R"(},"notifications":)" + honored + "}}");
}

call::Absence unsupported_version(std::string_view requested, bool is_modern) {
  std::string data = R"({"supported":[)";
  const auto add = [&data](std::string_view revision) {
    data.append(data.back() == '[' ? "\"" : ",\"").append(revision).append("\"");
  };
  if (is_modern) {
    add(kModernRevision);
  } else {
    for (const std::string_view revision : kMcpRevisions) add(revision);
  }
  data.append(R"(],"requested":)");
  rpc::append_json_string(data, requested);
  data += '}';
  return {rpc::RpcError::unsupported_version,
          is_modern ? "unsupported protocol version"
                    : "unsupported protocol version: this server needs a session",
          std::move(data)};
}

namespace {

constexpr std::array<std::string_view, 4> kModernKeys = {kVersionKey, kClientInfoKey,
                                                         kClientCapabilitiesKey, kLogLevelKey};
constexpr std::array<std::string_view, 1> kTag = {kSubscriptionKey};

// Collects runs of members that are left out, each with one of its commas.
class Runs {
 public:
  Runs(std::string_view text, std::span<const std::string_view> gone) : text_(text), gone_(gone) {}

  void add(std::string_view quoted, std::string_view value) {
    const char* const end = value.data() + value.size();
    const std::string_view key = quoted.substr(1, quoted.size() - 2);
    const bool goes = std::ranges::any_of(
        gone_, [&](std::string_view gone) { return rpc::json_string_equals(key, gone); });
    if (goes) {
      if (begin_ == nullptr) begin_ = kept_end_ == nullptr ? quoted.data() : kept_end_;
      end_ = end;
      return;
    }
    // Before the first member that stays, the comma behind the run is left out.
    if (begin_ != nullptr) close(kept_end_ == nullptr ? quoted.data() : end_);
    kept_end_ = end;
  }
  call::PeerChanges finish() {
    if (begin_ != nullptr) close(end_);
    if (kept_end_ == nullptr && found_.count > 0) found_.list[0].empties = true;
    return found_;
  }

 private:
  void close(const char* end) {
    const std::string_view gone(begin_, static_cast<size_t>(end - begin_));
    begin_ = nullptr;
    if (found_.count == found_.list.size()) return;  // keys occur twice, which is refused before
    const TextPlace place = place_of(gone, text_);
    call::Insertion& omission = found_.list[found_.count++];
    omission.offset = place.offset;
    omission.replaced = place.length;
    omission.only_for = PeerKind::stateful;
  }

  const std::string_view text_;
  const std::span<const std::string_view> gone_;
  call::PeerChanges found_;
  const char* begin_ = nullptr;  // of the run; null: no run
  const char* end_ = nullptr;
  const char* kept_end_ = nullptr;  // of the last member that stays; null: none yet
};

// `meta`, an object, without these members.
call::PeerChanges without(std::string_view meta, std::span<const std::string_view> keys) {
  rpc::JsonCursor cursor(meta);
  if (!cursor.take('{') || cursor.take('}')) return {};
  Runs runs(meta, keys);
  do {
    const std::string_view key = cursor.take_string();
    cursor.take(':');
    runs.add(key, cursor.take_value());
  } while (cursor.take(','));
  return runs.finish();
}

}  // namespace

call::PeerChanges modern_members(const rpc::Envelope& request, MetaMemory& memory) {
  const std::string_view meta = first_meta(request.params, memory);
  call::PeerChanges changes;
  if (meta.empty()) return changes;
  if (meta != memory.text()) memory.read(meta);  // the next one may be equal
  if (meta != memory.text()) {
    changes = without(meta, kModernKeys);
  } else {
    if (!memory.omissions) memory.omissions = without(meta, kModernKeys);
    changes = *memory.omissions;
  }
  const size_t begin = place_of(meta, request.text).offset;
  for (size_t i = 0; i < changes.count; ++i) changes.list[i].offset += begin;
  return changes;
}

std::string untagged(const rpc::Envelope& notification) {
  if (rpc::json_string_equals(notification.method, "notifications/subscriptions/acknowledged")) {
    return {};
  }
  std::string text;
  size_t at = 0;
  const auto meta = rpc::find_member(notification.params, "_meta");
  if (!meta) return std::string(notification.text);
  const size_t begin = place_of(*meta, notification.text).offset;
  const call::PeerChanges tag = without(*meta, kTag);
  for (const call::Insertion& gone : tag.view()) {
    text.append(notification.text.substr(at, begin + gone.offset - at));
    at = begin + gone.offset + gone.replaced;
  }
  return text.append(notification.text.substr(at));
}

std::string stamp_of_gateway(std::string_view name, std::string_view version) {
  std::string text = "\"" + std::string(kVersionKey) + "\":\"" + std::string(kModernRevision);
  text.append("\",\"").append(kClientInfoKey).append(R"(":{"name":")").append(name);
  text.append(R"(","version":)");
  rpc::append_json_string(text, version);
  text.append("},\"").append(kClientCapabilitiesKey).append("\":{}");
  return text;
}

// Neither changes of roots nor tasks are declared: the gateway could not report the changes, and
// the modern era has another form of tasks.
std::string modern_stamp(std::string_view greeting) {
  const auto member = [](std::string_view object, std::string_view key) {
    const auto value = rpc::find_member(object, key).value_or(std::string_view());
    return value.starts_with('{') ? value : std::string_view();
  };
  const std::string_view info = member(greeting, "clientInfo");
  std::string text = "\"" + std::string(kVersionKey) + "\":\"" + std::string(kModernRevision);
  text.append("\",\"").append(kClientInfoKey).append("\":");
  text.append(info.empty() ? R"({"name":"unnamed","version":"unknown"})" : info);
  text.append(",\"").append(kClientCapabilitiesKey).append("\":{");
  for (const std::string_view key : {"sampling", "elicitation", "roots"}) {
    const std::string_view declared = member(member(greeting, "capabilities"), key);
    if (declared.empty()) continue;
    if (text.back() != '{') text += ',';
    text.append("\"").append(key).append("\":").append(key == "roots" ? "{}" : declared);
  }
  return text + "}";
}

}  // namespace stdgate::mcp
