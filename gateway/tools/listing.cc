#include "gateway/tools/listing.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "gateway/app/dialects.h"
#include "gateway/base/check.h"
#include "gateway/base/encodings.h"
#include "gateway/rpc/fault.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "gateway/tools/json_node.h"
#include "gateway/tools/peer.h"

namespace stdgate::tools {

std::string page_params(std::string_view cursor, std::string_view stamp) {
  std::string params = "{";
  if (!stamp.empty()) params.append(R"("_meta":{)").append(stamp).append("}");
  if (!cursor.empty()) {
    params.append(stamp.empty() ? "" : ",").append(R"("cursor":)");
    rpc::append_json_string(params, cursor);
  }
  return params + "}";
}

namespace {

// A reference stands for its last word.
std::string shown_params(const std::vector<JsonNode>& params) {
  std::vector<std::string> shown;
  for (const JsonNode& param : params) {
    const std::string reference = param.text_at("$ref");
    const std::string name =
        reference.empty() ? param.text_at("name") : reference.substr(reference.rfind('/') + 1);
    const bool is_required =
        param.find("required") == nullptr ? !reference.empty() : param.is_true("required");
    shown.push_back((name.empty() ? "?" : name) + (is_required ? "" : "?"));
  }
  return "(" + joined(shown, ", ") + ")";
}

}  // namespace

tl::expected<ListPage, std::string> read_page(std::string_view result, const ListKind& kind) {
  const auto object = read_json(result);
  if (!object || object->kind != JsonNode::Kind::object) {
    return tl::unexpected<std::string>("the result is no object");
  }
  const JsonNode* const elements = object->find(kind.kind);
  if (elements == nullptr || elements->kind != JsonNode::Kind::array) {
    return tl::unexpected("the result has no array \"" + std::string(kind.kind) + "\"");
  }
  ListPage page;
  for (const JsonNode& element : elements->items) {
    const JsonNode* const name = element.find(kind.name);
    if (name == nullptr || !name->text()) {
      return tl::unexpected("one of its " + std::string(kind.kind) + " has no \"" +
                            std::string(kind.name) + "\"");
    }
    ListEntry entry{*name->text(), element.text_at("description")};
    if (entry.description.empty()) entry.description = element.text_at("summary");
    const JsonNode* const params = element.find("params");
    if (params != nullptr && params->kind == JsonNode::Kind::array) {
      entry.params = shown_params(params->items);
    }
    page.entries.push_back(std::move(entry));
  }
  page.next_cursor = object->text_at("nextCursor");
  const JsonNode* const meta = object->find("_meta");
  if (meta == nullptr) return page;
  for (const JsonNode& member : meta->list_at("stdgate/missing")) {
    if (auto name = member.text()) page.missing.push_back(*std::move(name));
  }
  return page;
}

bool offers(std::string_view capabilities, const ListKind& kind) {
  return rpc::find_member(capabilities, kind.kind).has_value();
}

PrincipalView::PrincipalView(const config::Config& config, const config::BackendConfig& backend,
                             const policy::Principal* principal)
    : principal_(principal),
      dialect_(app::make_dialect(backend, {})),
      rules_(backend, config.roles, *dialect_),
      parser_({}) {}

bool PrincipalView::shows_list(std::string_view method) {
  if (!rules_.any()) return true;
  text_ = rpc::request_text(1, method, "{}");
  const auto request = parser_.parse(text_);
  STDGATE_CHECK(request && request->messages[0].ok());
  return rules_.judge(request->messages[0].envelope, method, principal_).verdict !=
         policy::Verdict::denied;
}

std::string_view PrincipalView::seen(std::string_view method, std::string response) {
  text_ = std::move(response);
  const auto parsed = parser_.parse(text_);
  if (!parsed || parsed->batch || !parsed->messages[0].ok()) return {};
  const rpc::Envelope& answer = parsed->messages[0].envelope;
  const call::ListShape* const list = dialect_->list_shape(method);
  if (list == nullptr || answer.kind != rpc::MessageKind::result) return answer.payload;
  return rules_.seen(rules_.cut_of(*list, principal_), answer.payload);
}

namespace {

constexpr size_t kMaxDescription = 60;

Trouble trouble_of(const std::string& backend, const std::string& what) {
  return {kFailed, backend + ": " + what};
}

// One page, out of the answer to a request for it.
tl::expected<ListPage, Trouble> read_answer(const std::string& backend, const ListKind& kind,
                                            PrincipalView* view, Peer::Result answer) {
  if (!answer) return tl::unexpected(answer.error());
  const auto response = read_response(*answer);
  if (!response) return tl::unexpected(response.error());
  if (response->is_error) {
    Trouble trouble = trouble_of(backend, error_text(response->payload));
    trouble.code = rpc::find_member(response->payload, "code").value_or("");
    return tl::unexpected(std::move(trouble));
  }
  auto page = read_page(
      view == nullptr ? response->payload : view->seen(kind.method, *std::move(answer)), kind);
  if (!page) return tl::unexpected(trouble_of(backend, page.error()));
  return *std::move(page);
}

}  // namespace

tl::expected<Response, Trouble> read_response(std::string_view text) {
  if (const auto result = rpc::find_member(text, "result")) return Response{false, *result};
  if (const auto error = rpc::find_member(text, "error")) return Response{true, *error};
  return tl::unexpected(Trouble{kFailed, "the answer has neither result nor error"});
}

bool is_unknown_method(std::string_view code) {
  return code == std::to_string(rpc::rpc_error_code(rpc::RpcError::method_not_found));
}

std::string error_text(std::string_view error) {
  std::string scratch;
  std::string text = "error " + std::string(rpc::find_member(error, "code").value_or("?"));
  const auto message = rpc::find_member(error, "message").value_or("");
  if (message.size() >= 2) {
    text.append(": ").append(rpc::decode_string(message.substr(1, message.size() - 2), scratch));
  }
  if (const auto data = rpc::find_member(error, "data")) text.append("\n  ").append(*data);
  return text;
}

std::vector<Listed> read_lists(Peer& peer, const std::vector<std::string>& backends,
                               const ListKind& kind, PrincipalView* view, MissingMembers* missing) {
  std::vector<Listed> lists(backends.size());
  std::vector<size_t> open(backends.size());
  std::iota(open.begin(), open.end(), size_t{0});
  std::vector<std::string> cursors(backends.size());
  for (size_t pages = 0; pages < kMaxPages && !open.empty(); ++pages) {
    std::vector<PeerCall> calls;
    calls.reserve(open.size());
    for (const size_t at : open) {
      calls.push_back({backends[at], std::string(kind.method), page_params(cursors[at])});
    }
    std::vector<Peer::Result> answers = peer.call_all(calls);
    std::vector<size_t> next;
    for (size_t i = 0; i < open.size(); ++i) {
      const size_t at = open[i];
      auto page = read_answer(backends[at], kind, view, std::move(answers[i]));
      if (!page) {
        lists[at] = tl::unexpected(page.error());
        continue;
      }
      if (missing != nullptr && !page->missing.empty()) {
        (*missing)[backends[at]].insert(page->missing.begin(), page->missing.end());
      }
      std::move(page->entries.begin(), page->entries.end(), std::back_inserter(*lists[at]));
      cursors[at] = page->next_cursor;
      if (!page->next_cursor.empty()) next.push_back(at);
    }
    open = std::move(next);
  }
  return lists;
}

Listed read_list(Peer& peer, const std::string& backend, const ListKind& kind,
                 PrincipalView* view) {
  return std::move(read_lists(peer, {backend}, kind, view).front());
}

void write_texts(rpc::JsonWriter& json, std::string_view key,
                 const std::vector<std::string>& texts) {
  json.begin_array(key);
  for (const std::string& text : texts) json.text({}, text);
  json.end_array();
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width) + 2, ' ');
  return text;
}

std::string first_line(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const std::string_view cut = cut_utf8(text, kMaxDescription);
  return visible(cut, VisibleText::line) + (cut.size() < text.size() ? "…" : "");
}

std::string laid_out(std::string_view json) {
  constexpr size_t kIndent = 2;
  std::string out;
  size_t depth = 0;
  char last = '\0';
  const char* const end = json.data() + json.size();
  for (const char* at = rpc::skip_json_space(json.data(), end); at != end;) {
    const char c = *at;
    const char* const behind = c == '"' ? rpc::skip_json_string(at, end) : at + 1;
    const bool opened = last == '{' || last == '[';
    const bool closes = c == '}' || c == ']';
    if (closes) --depth;
    if (last == ',' || opened != closes) out.append(1, '\n').append(kIndent * depth, ' ');
    append_visible(out, {at, static_cast<size_t>(behind - at)}, VisibleText::line);
    if (c == ':') out += ' ';
    if (c == '{' || c == '[') ++depth;
    last = c;
    at = rpc::skip_json_space(behind, end);
  }
  return out;
}

}  // namespace stdgate::tools
