// StateSeal: makes texts that clients keep for the gateway, and that nobody else can make or
// change.
//
// Implemented by the worker (SealedStates), as the core knows no cryptography.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stdgate::session {

class StateSeal {
 public:
  virtual ~StateSeal() = default;
  // `context` is authenticated with the text, and not part of it.
  virtual std::string seal(std::string_view plain, std::string_view context) = 0;
  // Nothing: it was not sealed here, or in another context, or has been changed.
  virtual std::optional<std::string> open(std::string_view sealed, std::string_view context) = 0;
};

}  // namespace stdgate::session
