// The text of gateway.yaml: a backend as lines of it, and the file with backends added. Pure.
//
// A file is edited by lines, because no YAML library keeps comments. Everything else stays byte for
// byte. The result is parsed and compared with the former file. So a file that is written in an
// unexpected way is refused, and not damaged.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/app/command_line.h"
#include "gateway/config/config.h"

namespace stdgate::tools {

// A text in double quotes that the configuration reads back as it is: nothing in it expands.
std::string yaml_text(std::string_view text);
// The text as YAML, like yaml_text(), but references to variables expand.
std::string yaml_expanding(std::string_view text);
// A reference: "${NAME}".
std::string yaml_reference(std::string_view variable);

// A backend that is to be written to a configuration.
struct BackendLines {
  std::string name;
  std::vector<std::string> command{};
  std::map<std::string, std::string> env{};  // values as YAML, quotes included
  std::string cwd{};
  bool expands = false;               // command and cwd have references to variables
  std::vector<std::string> others{};  // whole lines: "protocol: lsp"
};

// One key of a backend: its place below the backend, as {"pool", "min"}, and its value as YAML.
struct BackendSetting {
  std::vector<std::string> path;
  std::string value;
};

// The changes that make `wanted` of `given`, as far as doctor changes a backend.
std::vector<BackendSetting> changes_between(const config::BackendConfig& given,
                                            const config::BackendConfig& wanted);

// "backends.NAME.pool.min: 1"
std::string setting_text(const std::string& backend, const BackendSetting& setting);

// "NAME:" and its members, `indent` deeper; each line behind `margin` spaces.
std::string backend_yaml(const BackendLines& backend, size_t margin, size_t indent);

// The backend of `-- COMMAND` with its options, and with `changes` to them. `warnings` gets what
// was not written.
BackendLines lines_of(const app::CommandLine& command_line, std::vector<std::string>& warnings,
                      const std::vector<BackendSetting>& changes = {});

// Parses `text`, the content of `file`, which may have no backends yet. Variables that the gateway
// will have may be missing here. The error has a line for each mistake, each behind a line break.
tl::expected<config::Config, std::string> parse_gateway_text(const std::string& text,
                                                             std::string_view file);

// The first mistake in this backend for which the gateway would refuse it, as "env.KEY: why";
// empty: none. Files that it names are not read.
std::string mistake_in(const BackendLines& backend);

// A configuration after an edit.
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
