// Client: the client that opens a session: its address, its principal, and the account of its
// memory.
//
// A value.
#pragma once

#include "gateway/base/account.h"
#include "gateway/base/client_address.h"
#include "gateway/policy/principal.h"

namespace stdgate::policy {

struct Client {
  ClientAddress address{};
  PrincipalRef principal{};  // null: anonymous
  AccountRef account{};      // none: nothing is charged
};

}  // namespace stdgate::policy
