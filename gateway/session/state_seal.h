// StateSeal: makes texts that clients keep for the gateway, and that clients can neither make nor
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
  // `context` is authenticated with the text, but is not part of it.
  virtual std::string seal(std::string_view plain, std::string_view context) = 0;
  // Nothing: the text was not sealed here or in this context, or has been changed.
  virtual std::optional<std::string> open(std::string_view sealed, std::string_view context) = 0;

  // As seal(), for texts that load balancers read too: they begin with the name of the replica, as
  // session ids do, and are equal for equal text and context.
  virtual std::string seal_named(std::string_view plain, std::string_view context) {
    return seal(plain, context);
  }
  virtual std::optional<std::string> open_named(std::string_view sealed, std::string_view context) {
    return open(sealed, context);
  }
};

}  // namespace stdgate::session
