// The configuration as a JSON Schema, for editors (yaml-language-server) and other tools.
#pragma once

#include <string>

namespace stdgate::config {

// JSON Schema 2020-12. The schema accepts every file that parse_config() accepts. Rules across
// keys, and the value of a ${NAME}, only parse_config() can judge. A value that is not written as
// its type (a quoted number) is accepted, as by parse_config().
std::string config_schema();

}  // namespace stdgate::config
