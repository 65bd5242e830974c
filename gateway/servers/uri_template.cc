#include "gateway/servers/uri_template.h"

#include <cstddef>
#include <string>
#include <vector>

namespace stdgate::servers {

namespace {

// A template as literal bytes and wildcards.
struct Piece {
  char literal = 0;
  bool is_wild = false;
  bool crosses = false;  // it may stand for slashes too
};

std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t end = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    if (end == std::string_view::npos || end == at + 1) {
      pieces.push_back({text[at]});
      continue;
    }
    const std::string_view expression = text.substr(at + 1, end - at - 1);
    const bool crosses =
        std::string_view("+#./;?&").find(expression.front()) != std::string_view::npos ||
        expression.back() == '*';
    pieces.push_back({0, true, crosses});
    at = end;
  }
  return pieces;
}

bool may_stand(const Piece& wild, char c) {
  return wild.crosses || std::string_view("/?#").find(c) == std::string_view::npos;
}

}  // namespace

// The places of the pattern that the text so far leads to, as bits of a row.
bool matches_template(std::string_view uri_template, std::string_view uri) {
  const std::vector<Piece> pieces = pieces_of(uri_template);
  std::vector<bool> here(pieces.size() + 1);
  const auto pass_wild = [&pieces](std::vector<bool>& row) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (row[i] && pieces[i].is_wild) row[i + 1] = true;
    }
  };
  here[0] = true;
  pass_wild(here);
  for (const char c : uri) {
    std::vector<bool> next(pieces.size() + 1);
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (!here[i]) continue;
      if (pieces[i].is_wild) {
        if (may_stand(pieces[i], c)) next[i] = true;
      } else if (pieces[i].literal == c) {
        next[i + 1] = true;
      }
    }
    pass_wild(next);
    here.swap(next);
  }
  return here[pieces.size()];
}

}  // namespace stdgate::servers
