// What a reload changes: the part of a new configuration that a running gateway takes over.
//
// Job: say by the keys of the file what is taken over (who may call, and what: `auth`, `roles`,
// `admin.roles`, `allowed_origins`, `allowed_hosts`, `rpc_stream`, and of each backend `rules` and
// `methods`) and what needs a restart (the rest). Pure.
#pragma once

#include <string>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::config {

struct ConfigChanges {
  Config config;                     // the running one with what is taken over
  std::vector<std::string> taken;    // keys, "backends.files.rules"
  std::vector<std::string> restart;  // keys of what differs and is left as it was
};

ConfigChanges changes_between(const Config& running, const Config& wanted);

}  // namespace stdgate::config
