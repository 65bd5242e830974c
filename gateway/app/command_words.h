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
    CommandWord{"check", "[options] [...]", "validate, print the whole configuration"},
    CommandWord{"doctor", "-- COMMAND", "try a server, say what is wrong with it"},
    CommandWord{"ls", "", "list the backends of a running gateway"},
    CommandWord{"tools", "[BACKEND]", "list the tools of its MCP servers"},
    CommandWord{"call", "BACKEND METHOD [PARAMS]", "call a method of one"},
    CommandWord{"connect", "[BACKEND|URL]", "a remote server as a program on stdin"},
    CommandWord{"snippet", "CLIENT", "what to paste into a client"},
    CommandWord{"add", "NAME -- COMMAND", "add a backend to FILE, or import"},
    CommandWord{"adopt", "CLIENT", "its servers once, behind a gateway"},
    CommandWord{"pin", "[SERVER...]", "pins tools, and shows what has changed"},
    CommandWord{"config", "schema", "print FILE's JSON Schema, for editors"},
    CommandWord{"config", "reference", "print what FILE's keys mean"},
    CommandWord{"hash-key", "", "make an API key, or hash one on stdin"},
    CommandWord{"audit", "verify FILE...", "whether an audit is as it was written"},
    CommandWord{"demo-server", "", "a JSON-RPC server on stdin, to try with"},
    CommandWord{"completion", "bash|zsh|fish", "what a shell completes these words with"},
    CommandWord{"man", "", "the manual page"},
    CommandWord{"install", "--user", "the gateway of this user as a service"},
    CommandWord{"install-to", "DIR", "copy stdgate and its guard there"},
    CommandWord{"version", "", "print the version"},
    CommandWord{"help", "", "print this"},
};

// The text of `--help` behind a word of the command line that is no tool.

// At most 80 columns wide; empty: the word is a tool, or unknown.
std::string_view word_help(std::string_view word);

}  // namespace stdgate::app
