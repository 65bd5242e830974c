// Identity: who sends a request, as its credential says, and until when.
//
// A value; nobody is known without a principal. The expiry is one of the core's clock, so that
// streams and connections can wait for it.
#pragma once

#include "gateway/base/time.h"
#include "gateway/policy/principal.h"

namespace stdgate::auth {

struct Identity {
  policy::PrincipalRef principal{};      // null: nobody is known
  TimePoint expires = TimePoint::max();  // max(): never
  bool is_for_once = false;              // by a ticket: of no other request
};

}  // namespace stdgate::auth
