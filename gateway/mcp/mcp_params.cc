#include "gateway/mcp/mcp_params.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::mcp {

namespace {

struct NamedMember {
  std::string_view key;
  rpc::Member* member;
};

// False: the key is not wanted.
bool note(std::span<const NamedMember> wanted, std::string_view quoted, std::string_view value) {
  const std::string_view raw = quoted.substr(1, quoted.size() - 2);
  const bool is_plain = !rpc::has_escapes(raw);
  for (const auto& [key, member] : wanted) {
    if (is_plain ? raw != key : !rpc::json_string_equals(raw, key)) continue;
    *member =
        rpc::is_absent(*member) ? rpc::Member(value) : tl::unexpected(rpc::MemberError::duplicate);
    return true;
  }
  return false;
}

McpMeta read_meta(std::string_view meta) {
  McpMeta read;
  const std::array<NamedMember, 6> wanted = {{{kVersionKey, &read.version},
                                              {kClientCapabilitiesKey, &read.capabilities},
                                              {kClientInfoKey, &read.client_info},
                                              {kLogLevelKey, &read.log_level},
                                              {"progressToken", &read.progress_token},
                                              {kRelatedTaskKey, &read.related_task}}};
  rpc::JsonCursor cursor(meta);
  if (!cursor.take('{') || cursor.take('}')) return read;
  do {
    const std::string_view key = cursor.take_string();
    cursor.take(':');
    if (note(wanted, key, cursor.take_value())) continue;
    const std::string_view raw = key.substr(1, key.size() - 2);
    if (rpc::json_string_resembles(raw, kRelatedTaskKey)) read.has_similar_keys = true;
  } while (cursor.take(','));
  return read;
}

// Reads one member of params after the other.
class ParamReader {
 public:
  explicit ParamReader(McpParams& read) : read_(read) {}

  void note(std::string_view raw, std::string_view value) {
    const Key& key = key_of(raw.size());
    const bool is_of_size = key.bit != kNoParam;
    if (is_of_size && std::memcmp(raw.data(), key.name.data(), raw.size()) == 0) {
      return keep(key, value);
    }
    // Nothing of another size, without escapes and in ASCII, is or resembles one of the keys.
    const bool is_plain = std::ranges::none_of(
        raw, [](char c) { return c == '\\' || static_cast<unsigned char>(c) >= 0x80; });
    if (is_plain && !is_of_size) return;
    for (const Key& other : kKeys) {
      if (rpc::json_string_equals(raw, other.name)) return keep(other, value);
      if (rpc::json_string_resembles(raw, other.name)) read_.similar |= other.bit;
    }
  }

 private:
  struct Key {
    std::string_view name;
    rpc::Member McpParams::*member;
    ParamKey bit;
  };
  static constexpr std::array<Key, 7> kKeys = {
      {{kMetaKey, &McpParams::meta, kMetaParam},
       {"name", &McpParams::name, kNameParam},
       {"arguments", &McpParams::arguments, kArgumentsParam},
       {"uri", &McpParams::uri, kUriParam},
       {"taskId", &McpParams::task_id, kTaskIdParam},
       {"requestState", &McpParams::request_state, kStateParam},
       {"inputResponses", &McpParams::input_responses, kResponsesParam}}};
  static constexpr size_t kLongest = 14;
  // Each key at the size of its name; no two have the same size.
  static constexpr std::array<Key, kLongest + 1> kBySize = [] {
    std::array<Key, kLongest + 1> keys{};
    for (const Key& key : kKeys) keys[key.name.size()] = key;
    return keys;
  }();
  // kNoParam: no key has this size.
  static const Key& key_of(size_t size) { return kBySize[size > kLongest ? 0 : size]; }

  void keep(const Key& key, std::string_view value) {
    rpc::Member& member = read_.*key.member;
    member =
        rpc::is_absent(member) ? rpc::Member(value) : tl::unexpected(rpc::MemberError::duplicate);
  }

  McpParams& read_;
};

// `meta`: one that is known, and not scanned.
McpParams read_members(std::string_view params, std::string_view meta) {
  McpParams read;
  ParamReader reader(read);
  rpc::JsonCursor cursor(params);
  if (!cursor.take('{') || cursor.take('}')) return read;
  do {
    const std::string_view key = rpc::string_content(cursor.take_string());
    cursor.take(':');
    const std::string_view known = cursor.take_object(meta);
    reader.note(key, known.empty() ? cursor.take_value() : known);
  } while (cursor.take(','));
  return read;
}

}  // namespace

McpMeta MetaMemory::read(std::string_view meta) {
  if (meta != text_) {
    if (meta.size() > kMaxText || !meta.starts_with('{')) return read_meta(meta);
    text_ = meta;
    read_ = read_meta(text_);
    omissions.reset();
  }
  McpMeta moved = read_;
  for (rpc::Member* const member : {&moved.version, &moved.capabilities, &moved.client_info,
                                    &moved.log_level, &moved.progress_token, &moved.related_task}) {
    if (*member) *member = meta.substr(member->value().data() - text_.data(), (*member)->size());
  }
  return moved;
}

McpParams read_params(std::string_view params, MetaMemory& memory) {
  McpParams read = read_members(params, memory.text());
  if (read.meta) read.of_meta = memory.read(*read.meta);
  return read;
}

McpParams read_params(std::string_view params) {
  McpParams read = read_members(params, {});
  if (read.meta) read.of_meta = read_meta(*read.meta);
  return read;
}

McpParams read_params(std::string_view params, std::span<const rpc::RawMember> noted,
                      MetaMemory* memory) {
  if (noted.empty()) {
    return memory == nullptr ? read_params(params) : read_params(params, *memory);
  }
  McpParams read;
  ParamReader reader(read);
  for (const auto& [key, value] : noted) reader.note(key, value);
  if (!read.meta) return read;
  read.of_meta = memory == nullptr ? read_meta(*read.meta) : memory->read(*read.meta);
  return read;
}

std::string_view first_meta(std::string_view params, const MetaMemory& memory) {
  rpc::JsonCursor cursor(params);
  if (!cursor.take('{') || cursor.take('}')) return {};
  do {
    const std::string_view key = cursor.take_string();
    cursor.take(':');
    const std::string_view known = cursor.take_object(memory.text());
    const std::string_view value = known.empty() ? cursor.take_value() : known;
    if (rpc::json_string_equals(key.substr(1, key.size() - 2), kMetaKey)) return value;
  } while (cursor.take(','));
  return {};
}

}  // namespace stdgate::mcp
