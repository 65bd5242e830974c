// Client: who opens a session: where it comes from, who that is, and who pays for what it holds.
//
// A value.
#pragma once

#include "gateway/base/account.h"
#include "gateway/base/client_address.h"
#include "gateway/policy/principal.h"

namespace stdgate::policy {

struct Client {
  ClientAddress address{};
  PrincipalRef principal{};  // null: nobody is known
  AccountRef account{};      // none: nothing is charged
};

}  // namespace stdgate::policy
