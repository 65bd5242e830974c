#include "gateway/tools/text_span.h"

#include <algorithm>

namespace stdgate::tools {

std::string changed_text(std::string_view text, std::vector<TextChange> changes) {
  std::ranges::sort(changes, {}, [](const TextChange& change) { return change.span.begin; });
  std::string out;
  size_t at = 0;
  for (const TextChange& change : changes) {
    out.append(text.substr(at, change.span.begin - at)).append(change.text);
    at = change.span.end;
  }
  return out.append(text.substr(at));
}

}  // namespace stdgate::tools
