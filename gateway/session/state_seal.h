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

  // The same for texts that clients show to load balancers too: they begin with the name of the
  // replica, as ids of sessions do, and are the same for the same text and context.
  virtual std::string seal_named(std::string_view plain, std::string_view context) {
    return seal(plain, context);
  }
  virtual std::optional<std::string> open_named(std::string_view sealed, std::string_view context) {
    return open(sealed, context);
  }
};

}  // namespace stdgate::session
