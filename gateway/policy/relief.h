// Relief: gives up what nobody waits for, so that nobody is refused or cut for it.
#pragma once

namespace stdgate::policy {

class Relief {
 public:
  virtual ~Relief() = default;
  // As far as the accounts are near their bounds, at once. Not from inside of a call of the core.
  virtual void relieve_now() = 0;
};

}  // namespace stdgate::policy
