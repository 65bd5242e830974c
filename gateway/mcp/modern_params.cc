#include "gateway/mcp/modern_params.h"

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_cursor.h"
#include "gateway/rpc/json_string.h"

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

bool is_similar(std::string_view quoted) {
  const std::string_view raw = quoted.substr(1, quoted.size() - 2);
  return rpc::json_string_resembles(raw, kMetaKey) ||
         rpc::json_string_resembles(raw, "requestState") ||
         rpc::json_string_resembles(raw, "inputResponses");
}

ModernMeta read_meta(std::string_view meta) {
  ModernMeta read;
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

}  // namespace

ModernMeta MetaMemory::read(std::string_view meta) {
  if (meta != text_) {
    if (meta.size() > kMaxText || !meta.starts_with('{')) return read_meta(meta);
    text_ = meta;
    read_ = read_meta(text_);
    omissions.reset();
  }
  ModernMeta moved = read_;
  for (rpc::Member* const member : {&moved.version, &moved.capabilities, &moved.client_info,
                                    &moved.log_level, &moved.progress_token, &moved.related_task}) {
    if (*member) *member = meta.substr(member->value().data() - text_.data(), (*member)->size());
  }
  return moved;
}

ModernParams read_modern_params(std::string_view params, MetaMemory& memory) {
  ModernParams read;
  const std::array<NamedMember, 6> wanted = {{{kMetaKey, &read.meta},
                                              {"name", &read.name},
                                              {"uri", &read.uri},
                                              {"taskId", &read.task_id},
                                              {"requestState", &read.request_state},
                                              {"inputResponses", &read.input_responses}}};
  rpc::JsonCursor cursor(params);
  if (!cursor.take('{') || cursor.take('}')) return read;
  do {
    const std::string_view key = cursor.take_string();
    cursor.take(':');
    const std::string_view known = cursor.take_object(memory.text());
    const bool is_known = note(wanted, key, known.empty() ? cursor.take_value() : known);
    if (!is_known && is_similar(key)) read.has_similar_keys = true;
  } while (cursor.take(','));
  if (read.meta) read.of_meta = memory.read(*read.meta);
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
