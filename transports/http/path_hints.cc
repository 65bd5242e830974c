#include "transports/http/path_hints.h"

#include <algorithm>

#include "gateway/config/nearest_word.h"

namespace stdgate::http {

namespace {

// "/files/rpc/stream": "files" and "/rpc/stream".
struct Parts {
  std::string_view name;
  std::string_view rest;
};

Parts parts_of(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  const size_t end = std::min(path.find('/'), path.size());
  return {path.substr(0, end), path.substr(end)};
}

// With the name that `asked` probably stands for; the name is empty if none is near.
Parts meant_by(Parts asked, const std::vector<std::string_view>& names,
               const std::vector<std::string_view>& paths) {
  const auto is_known = [&names](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (is_known(asked.name)) return asked;
  // A backend's name behind a prefix, or with the parts swapped; "rpc" is none.
  const auto is_path = [&paths](std::string_view name) {
    return std::ranges::any_of(paths,
                               [name](std::string_view path) { return path.substr(1) == name; });
  };
  for (Parts next = parts_of(asked.rest); !next.name.empty(); next = parts_of(next.rest)) {
    if (is_known(next.name) && !is_path(next.name))
      return {next.name, next.rest.empty() ? asked.rest : next.rest};
  }
  return {config::nearest_word(asked.name, names).value_or(std::string_view()), asked.rest};
}

}  // namespace

PathHints path_hints(std::string_view asked, std::vector<std::string_view> paths) {
  PathHints hints{{}, std::move(paths)};
  std::vector<std::string_view> names;
  for (const std::string_view path : hints.paths) {
    const std::string_view name = parts_of(path).name;
    if (!name.empty() && (names.empty() || names.back() != name)) names.push_back(name);
  }
  const Parts meant = meant_by(parts_of(asked), names, hints.paths);
  if (meant.name.empty()) return hints;
  std::vector<std::string_view> rests;
  for (const std::string_view path : hints.paths) {
    if (const Parts parts = parts_of(path); parts.name == meant.name) rests.push_back(parts.rest);
  }
  const auto rest = config::nearest_word(meant.rest, rests);
  const auto rank = [&](std::string_view path) {
    const Parts parts = parts_of(path);
    if (parts.name != meant.name) return 2;
    return rest && parts.rest == *rest ? 0 : 1;
  };
  std::ranges::stable_sort(hints.paths, {}, rank);
  hints.meant = hints.paths.front();
  return hints;
}

}  // namespace stdgate::http
