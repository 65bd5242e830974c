#include "gateway/tools/peer_listing.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "gateway/base/utf8.h"
#include "gateway/base/visible_text.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::tools {

namespace {

constexpr size_t kMaxDescription = 60;

Trouble trouble_of(const std::string& backend, const std::string& what) {
  return {kFailed, backend + ": " + what};
}

std::string params_of_page(const std::string& cursor) {
  if (cursor.empty()) return "{}";
  std::string params = R"({"cursor":)";
  rpc::append_json_string(params, cursor);
  return params + "}";
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

tl::expected<std::vector<ListEntry>, Trouble> read_list(Peer& peer, const std::string& backend,
                                                        const ListKind& kind, PrincipalView* view) {
  std::vector<ListEntry> entries;
  std::string cursor;
  for (size_t pages = 0; pages < kMaxPages; ++pages) {
    auto page = read_answer(backend, kind, view,
                            peer.call(backend, std::string(kind.method), params_of_page(cursor)));
    if (!page) return tl::unexpected(page.error());
    std::move(page->entries.begin(), page->entries.end(), std::back_inserter(entries));
    if (page->next_cursor.empty()) return entries;
    cursor = page->next_cursor;
  }
  return entries;
}

std::vector<tl::expected<std::vector<ListEntry>, Trouble>> read_lists(
    Peer& peer, const std::vector<std::string>& backends, const ListKind& kind) {
  std::vector<tl::expected<std::vector<ListEntry>, Trouble>> lists(backends.size());
  std::vector<size_t> open(backends.size());
  std::iota(open.begin(), open.end(), size_t{0});
  std::vector<std::string> cursors(backends.size());
  for (size_t pages = 0; pages < kMaxPages && !open.empty(); ++pages) {
    std::vector<PeerCall> calls;
    calls.reserve(open.size());
    for (const size_t at : open) {
      calls.push_back({backends[at], std::string(kind.method), params_of_page(cursors[at])});
    }
    std::vector<Peer::Result> answers = peer.call_all(calls);
    std::vector<size_t> next;
    for (size_t i = 0; i < open.size(); ++i) {
      const size_t at = open[i];
      auto page = read_answer(backends[at], kind, nullptr, std::move(answers[i]));
      if (!page) {
        lists[at] = tl::unexpected(page.error());
        continue;
      }
      std::move(page->entries.begin(), page->entries.end(), std::back_inserter(*lists[at]));
      cursors[at] = page->next_cursor;
      if (!page->next_cursor.empty()) next.push_back(at);
    }
    open = std::move(next);
  }
  return lists;
}

ToolOutput failure(const Trouble& trouble) {
  return tool_error(trouble.exit_code, trouble.message);
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

}  // namespace stdgate::tools
