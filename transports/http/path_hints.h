// Which of the served paths a client probably meant that asked for another one. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stdgate::http {

struct PathHints {
  std::string_view meant;               // the one that was probably meant; empty: none is near
  std::vector<std::string_view> paths;  // all, the nearest first, else in their order
  std::string why;                      // there is nothing at `wanted`, a clause; empty: not known
};

// A path is near to `wanted` if it belongs to the same backend, or to one whose name is near, or if
// it is the end of `wanted`: behind a version, or where there is but one backend. Case does not
// matter. Costs up to 64 * 64 steps for each name of a backend.
PathHints path_hints(std::string_view wanted, std::vector<std::string_view> paths);

}  // namespace stdgate::http
