// docs/configuration.md: every key of the configuration.
#pragma once

#include <string>

namespace stdgate::config {

// Markdown. A test compares it with the committed page.
std::string config_reference();

}  // namespace stdgate::config
