// Whether somebody whose credential was accepted would be known by it after a reload.
#pragma once

#include "gateway/config/config.h"
#include "gateway/policy/principal.h"

namespace stdgate::app {

// By what `after` says of the principal's kind and name: he is known as long as nothing of that has
// been taken away. Which of several keys of one name he has shown is not known, so all of them have
// to be there still, with the same roles.
bool is_still_known(const policy::Principal& principal, const config::AuthConfig& before,
                    const config::AuthConfig& after);

}  // namespace stdgate::app
