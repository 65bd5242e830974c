// The words that may come first on the command line, for --help, completion and the manual, and for
// hints about mistyped words.
#pragma once

#include <array>
#include <string_view>

namespace stdgate::app {

struct CommandWord {
  std::string_view word;
  std::string_view arguments;  // arguments behind the word, for --help
  std::string_view about;
};

// In the order of --help.
inline constexpr std::array kCommandWords{
    CommandWord{"check", "[options] [...]", "validate a configuration, and print it"},
    CommandWord{"doctor", "-- COMMAND", "try a server, and say what is wrong"},
    CommandWord{"ls", "", "list the backends of a running gateway"},
    CommandWord{"tools", "[BACKEND]", "list the tools of MCP servers"},
    CommandWord{"call", "BACKEND METHOD [PARAMS]", "call a method of a backend"},
    CommandWord{"connect", "[BACKEND|URL]", "reach a remote server by stdin, stdout"},
    CommandWord{"snippet", "CLIENT", "print a client's settings, to paste"},
    CommandWord{"add", "NAME -- COMMAND", "add a backend to FILE, or a client's"},
    CommandWord{"adopt", "CLIENT", "put a client's servers behind a gateway"},
    CommandWord{"pin", "[SERVER...]", "pin tools, and show what has changed"},
    CommandWord{"config", "schema", "print the JSON Schema of FILE"},
    CommandWord{"config", "reference", "print what the keys of FILE mean"},
    CommandWord{"hash-key", "", "make an API key, or hash one on stdin"},
    CommandWord{"audit", "verify FILE...", "check that nobody has changed an audit"},
    CommandWord{"demo-server", "", "run a small JSON-RPC server, for trials"},
    CommandWord{"completion", "bash|zsh|fish", "print a completion script for a shell"},
    CommandWord{"man", "", "print the manual page"},
    CommandWord{"install", "--user", "run this user's gateway as a service"},
    CommandWord{"install-to", "DIR", "copy stdgate and its guard to DIR"},
    CommandWord{"version", "", "print the version"},
    CommandWord{"help", "", "print this"},
};

// The text of `--help` behind a word of the command line that is no tool.

// At most 80 columns wide; empty: the word is a tool, or unknown.
std::string_view word_help(std::string_view word);

}  // namespace stdgate::app
