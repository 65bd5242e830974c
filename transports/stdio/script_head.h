// The first line of a script, "#!/usr/bin/env python3", as the kernel reads it, and what is wrong
// with it. Reads a file; starts nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stdgate::stdio {

struct ScriptHead {
  std::string interpreter;    // the program that the kernel executes
  std::string searched;       // of env: the program that is searched in PATH; may be empty
  bool ends_with_cr = false;  // lines end as on Windows, and the names have a \r at their end

  // Nothing: the text begins with no such line.
  static std::optional<ScriptHead> parse(std::string_view text);
  // Of a file; nothing also where it cannot be read.
  static std::optional<ScriptHead> read(const std::string& path);
};

}  // namespace stdgate::stdio
