// The effect of a reload: the part of a new configuration that a running gateway takes over.
//
// Job: say by the keys of the file what is taken over (who may call, and what; backends; listeners
// of clients; limits, timeouts and the log) and what needs a restart (the rest). Pure.
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

// For people, with the last newline.
std::string changes_text(const ConfigChanges& changes);

// Whether a backend that runs so serves `wanted` too, once it has been told its rules and whether
// it is the default one, or required. A virtual server takes over more: see VirtualServer::take().
// Else it is replaced.
bool serves_as(const BackendConfig& running, const BackendConfig& wanted);
bool serves_as(const ServerConfig& running, const ServerConfig& wanted);

}  // namespace stdgate::config
