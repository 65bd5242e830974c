#include "gateway/servers/member_request.h"

#include <array>
#include <charconv>
#include <utility>

#include "gateway/servers/text_edits.h"
#include "gateway/servers/tool_look.h"

namespace stdgate::servers {

namespace {

void fill_in_arguments(const call::Request& request, const Route& route, TextEdits& edits) {
  const std::string_view arguments = request.intent.arguments;
  const std::string filled = arguments_for_member(arguments, route.tool, *route.tools);
  if (arguments.empty()) {
    edits.insert(request.message.params.data() + 1, "\"arguments\":" + filled + ",");
  } else {
    edits.replace(arguments, filled);
  }
}

// Makes views of the former text views of the edited one.
void move(mcp::McpParams& params, const TextEdits& edits, std::string_view edited) {
  mcp::McpMeta& meta = params.of_meta;
  for (rpc::Member* const member :
       {&params.meta, &params.name, &params.arguments, &params.uri, &params.task_id,
        &params.request_state, &params.input_responses, &meta.version, &meta.capabilities,
        &meta.client_info, &meta.log_level, &meta.progress_token, &meta.related_task}) {
    if (*member) *member = edits.moved(**member, edited);
  }
}

}  // namespace

MemberRequest::MemberRequest(const call::Request& request, const Route& route, session::Tag tag,
                             std::span<const call::Insertion> insertions)
    : envelope_(request.message) {
  const rpc::Envelope& former = request.message;
  TextEdits edits(former.text);
  std::array<char, 20> digits;
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), tag).ptr;
  edits.replace(former.id, {digits.data(), end});
  if (!route.name_place.empty() && route.own_name != route.name) {
    edits.replace(route.name_place, json_text(route.own_name));
  }
  if (route.tools != nullptr) fill_in_arguments(request, route, edits);
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
  // Members that have been added are read again.
  const auto* const known = static_cast<const mcp::McpParams*>(request.context.params);
  const bool has_more =
      route.tools != nullptr || (!insertions.empty() && known != nullptr && !known->meta);
  if (known != nullptr && !has_more) move(params_.emplace(*known), edits, text_);
}

MemberAnswer::MemberAnswer(const session::Reply& reply) : whole_(reply.whole) {
  if (whole_ != nullptr) return;
  text_.reserve(reply.size());
  text_.append(reply.head).append(reply.id).append(reply.tail);
  known_.emplace(text_);
}

}  // namespace stdgate::servers
