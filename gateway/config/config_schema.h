// The configuration as a JSON Schema, for editors (yaml-language-server) and other tools.
#pragma once

#include <string>

namespace stdgate::config {

// JSON Schema 2020-12. It accepts every file that parse_config() accepts; rules across keys, and
// what a ${NAME} expands to, only parse_config() can judge. What is written unlike its type (a
// quoted number) is accepted as parse_config() does.
std::string config_schema();

}  // namespace stdgate::config
