// PackageFetch: what a command downloads before its server runs, and what to say of it.
#pragma once

#include <optional>
#include <string>

#include "gateway/config/config.h"

namespace stdgate::tools {

struct PackageFetch {
  std::string runner;   // "npx"
  std::string package;  // as "its package", if it is not known
  std::string by_hand;  // the command, as a shell takes it

  // "npx fetches some-server before it starts it"
  [[nodiscard]] std::string text() const;
  // What to do when it does not answer in time.
  [[nodiscard]] std::string advice() const;
};

// Nothing: the command of `backend` fetches nothing, or its package is installed in the folder
// where it runs, or above.
std::optional<PackageFetch> package_fetch_of(const config::BackendConfig& backend);

}  // namespace stdgate::tools
