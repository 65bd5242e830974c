// Adding a backend to the text of gateway.yaml: everything else stays, byte for byte. Pure.
//
// The text is edited by lines, as no YAML library keeps comments; what came out is parsed and
// compared with what was there, so that a file which is written otherwise than expected is refused
// instead of spoilt.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/config/config_parser.h"
#include "gateway/tools/backend_yaml.h"

namespace stdgate::tools {

struct EditedConfig {
  std::string text;
  std::vector<std::string> warnings;
};

// `text` is the content of `file`; if it is empty, these backends are all of the file. The error is
// one line or several, and says what to do.
tl::expected<EditedConfig, std::string> add_backends(const std::string& text,
                                                     const std::vector<BackendLines>& backends,
                                                     std::string_view file);

}  // namespace stdgate::tools
