// Relief: gives up memory that no client waits for, before clients are refused or cut.
#pragma once

namespace stdgate::policy {

class Relief {
 public:
  virtual ~Relief() = default;
  // Acts at once, as far as accounts are near their bounds. Not to be called from inside a call of
  // the core.
  virtual void relieve_now() = 0;
};

}  // namespace stdgate::policy
