#include "gateway/servers/member_request.h"

#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "gateway/base/text.h"
#include "gateway/servers/server_messages.h"
#include "gateway/servers/tool_search.h"

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

// A part of a text and what replaces it.
struct Exchange {
  std::string_view part;
  std::string_view with;
  [[nodiscard]] const char* end() const { return part.data() + part.size(); }
  // How much longer the text becomes.
  [[nodiscard]] ptrdiff_t growth() const {
    return static_cast<ptrdiff_t>(with.size()) - static_cast<ptrdiff_t>(part.size());
  }
};

// TextEdits of two places at most, for a fraction of the cost. Most requests need no more.
class Exchanges {
 public:
  // `other`: with an empty part, none.
  Exchanges(std::string_view text, const Exchange& one, const Exchange& other)
      : text_(text), first_(other), last_(one) {
    if (other.part.empty()) first_ = {text.substr(0, 0), {}};
    if (last_.part.data() < first_.part.data()) std::swap(first_, last_);
  }
  void write(std::string& to) const {
    to.clear();
    to.reserve(text_.size() + first_.with.size() + last_.with.size());
    append(to, text_.data(), first_.part.data());
    to.append(first_.with);
    append(to, first_.end(), last_.part.data());
    to.append(last_.with);
    append(to, last_.end(), text_.data() + text_.size());
  }
  [[nodiscard]] std::string_view moved(std::string_view part, std::string_view edited) const {
    if (part.empty()) return part;
    const char* const behind = part.data() + part.size();
    ptrdiff_t begin = part.data() - text_.data();
    ptrdiff_t end = behind - text_.data();
    const ptrdiff_t growth = first_.growth() + last_.growth();
    // Most parts stand behind both.
    if (last_.end() <= part.data()) return {edited.data() + begin + growth, part.size()};
    if (first_.end() <= part.data()) begin += first_.growth();
    if (first_.part.data() < behind) end += first_.growth();
    if (last_.part.data() < behind) end += last_.growth();
    return {edited.data() + begin, static_cast<size_t>(end - begin)};
  }

 private:
  static void append(std::string& to, const char* begin, const char* end) {
    to.append(begin, static_cast<size_t>(end - begin));
  }

  const std::string_view text_;
  Exchange first_;
  Exchange last_;
};

// Makes views of the former text views of the edited one.
template <class Edits>
void move(rpc::Envelope& envelope, const Edits& edits, std::string_view edited) {
  for (std::string_view* const part :
       {&envelope.text, &envelope.id, &envelope.method, &envelope.params}) {
    *part = edits.moved(*part, edited);
  }
}
template <class Edits>
void move(mcp::McpParams& params, const Edits& edits, std::string_view edited) {
  const auto move_all = [&](std::initializer_list<rpc::Member*> members) {
    for (rpc::Member* const member : members) {
      if (*member) *member = edits.moved(**member, edited);
    }
  };
  mcp::McpMeta& meta = params.of_meta;
  const bool has_meta = params.meta.has_value();
  move_all({&params.meta, &params.name, &params.arguments, &params.uri, &params.task_id,
            &params.request_state, &params.input_responses});
  if (!has_meta) return;
  move_all({&meta.version, &meta.capabilities, &meta.client_info, &meta.log_level,
            &meta.progress_token, &meta.related_task});
}

const mcp::McpParams* known_params(const call::Request& request) {
  return static_cast<const mcp::McpParams*>(request.context.params);
}

}  // namespace

MemberRequest::MemberRequest(const call::Request& request, const Route& route, session::Tag tag,
                             std::span<const call::Insertion> insertions, std::string storage)
    : text_(std::move(storage)), envelope_(request.message) {
  std::array<char, 20> digits;
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), tag).ptr;
  const std::string_view id(digits.data(), end);
  const bool is_renamed = !route.name_place.empty() && !same_text(route.own_name, route.name);
  const std::string own_name = is_renamed ? json_text(route.own_name) : std::string();
  if (route.tools != nullptr || !insertions.empty()) {
    edit(request, route, id, own_name, insertions);
    return;
  }
  const Exchange name{is_renamed ? route.name_place : std::string_view(), own_name};
  const Exchanges edits(request.message.text, {request.message.id, id}, name);
  edits.write(text_);
  move(envelope_, edits, text_);
  const mcp::McpParams* const known = known_params(request);
  if (known != nullptr) move(params_.emplace(*known), edits, text_);
}

void MemberRequest::edit(const call::Request& request, const Route& route, std::string_view id,
                         std::string_view own_name, std::span<const call::Insertion> insertions) {
  const rpc::Envelope& former = request.message;
  TextEdits edits(former.text);
  edits.replace(former.id, id);
  if (!own_name.empty()) edits.replace(route.name_place, own_name);
  if (route.tools != nullptr) fill_in_arguments(request, route, edits);
  for (const call::Insertion& insertion : insertions) edits.insert(insertion);
  text_ = edits.apply();
  if (!insertions.empty() && former.params.empty()) {
    envelope_ = known_.emplace(text_).envelope();
    return;
  }
  move(envelope_, edits, text_);
  // Members that have been added are read again.
  const mcp::McpParams* const known = known_params(request);
  const bool has_more =
      route.tools != nullptr || (!insertions.empty() && known != nullptr && !known->meta);
  if (known != nullptr && !has_more) move(params_.emplace(*known), edits, text_);
}

}  // namespace stdgate::servers
