#include "gateway/servers/member_request.h"

#include <array>
#include <charconv>
#include <utility>

#include "gateway/rpc/json_member.h"
#include "gateway/servers/text_edits.h"
#include "gateway/servers/tool_look.h"

namespace stdgate::servers {

namespace {

std::string text_of(session::Tag tag) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), tag).ptr;
  return {digits.data(), end};
}

void fill_in_arguments(const rpc::Envelope& request, const Route& route, TextEdits& edits) {
  const auto arguments = rpc::find_member(request.params, "arguments");
  std::string filled =
      arguments_for_member(arguments.value_or(std::string_view()), route.tool, *route.tools);
  if (arguments) {
    edits.replace(*arguments, std::move(filled));
  } else {
    edits.insert(request.params.data() + 1, "\"arguments\":" + filled + ",");
  }
}

mcp::ModernParams moved(const mcp::ModernParams& params, const TextEdits& edits,
                        std::string_view edited) {
  mcp::ModernParams moved = params;
  mcp::ModernMeta& meta = moved.of_meta;
  for (rpc::Member* const member :
       {&moved.meta, &moved.name, &moved.uri, &moved.task_id, &moved.request_state,
        &moved.input_responses, &meta.version, &meta.capabilities, &meta.client_info,
        &meta.log_level, &meta.progress_token, &meta.related_task}) {
    if (*member) *member = edits.moved(**member, edited);
  }
  return moved;
}

}  // namespace

MemberRequest::MemberRequest(const call::Request& request, const Route& route, session::Tag tag,
                             std::span<const call::Insertion> insertions)
    : envelope_(request.message) {
  const rpc::Envelope& former = request.message;
  TextEdits edits(former.text);
  edits.replace(former.id, text_of(tag));
  if (!route.name_place.empty() && route.own_name != route.name) {
    edits.replace(route.name_place, json_text(route.own_name));
  }
  if (route.tools != nullptr) fill_in_arguments(former, route, edits);
  for (const call::Insertion& insertion : insertions) edits.insert(insertion);
  text_ = edits.apply();
  if (!insertions.empty() && former.params.empty()) {
    envelope_ = known_.emplace(text_).envelope();
    return;
  }
  for (std::string_view* const part :
       {&envelope_.text, &envelope_.id, &envelope_.method, &envelope_.params}) {
    *part = edits.moved(*part, text_);
  }
  const auto* const known = static_cast<const mcp::ModernParams*>(request.context.params);
  if (known != nullptr) params_ = moved(*known, edits, text_);
}

MemberAnswer::MemberAnswer(const session::Reply& reply) : whole_(reply.whole) {
  if (whole_ != nullptr) return;
  text_.reserve(reply.size());
  text_.append(reply.head).append(reply.id).append(reply.tail);
  known_.emplace(text_);
}

}  // namespace stdgate::servers
