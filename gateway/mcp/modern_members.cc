#include "gateway/mcp/modern_members.h"

#include <algorithm>
#include <array>
#include <span>

#include "gateway/base/text.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::mcp {

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
