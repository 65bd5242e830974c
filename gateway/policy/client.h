// Client: who opens a session: where it comes from, and who that is.
//
// A value.
#pragma once

#include "gateway/base/client_address.h"
#include "gateway/policy/principal.h"

namespace stdgate::policy {

struct Client {
  ClientAddress address{};
  PrincipalRef principal{};  // null: nobody is known
};

}  // namespace stdgate::policy
