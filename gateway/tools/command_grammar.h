// The command line as a whole: every word with its options and operands, and the manual made of
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stdgate::tools {

// The command line as a whole: every word with its options and operands, from the tables that also
// parse them. For completion and the manual.
struct GrammarOption {
  std::string name;                // "--config"
  std::string placeholder;         // empty: it takes no value
  std::string help;                // one sentence
  std::string group;               // of --help; empty for options of a tool
  std::vector<std::string> words;  // that may stand for the value; empty: anything

  [[nodiscard]] bool takes_file() const { return placeholder == "FILE" || placeholder == "DIR"; }
  [[nodiscard]] bool takes_backend() const { return name == "--backend"; }
};

// A word of the command line, with what may follow it.
struct GrammarWord {
  std::string word;
  std::string about;
  std::vector<GrammarOption> options;
  std::vector<std::string> operands;  // that may stand behind it; empty: anything, or nothing
  bool takes_files = false;           // behind an operand
  bool takes_backend = false;         // the operand is one of the configuration
};

// All that may stand on the command line.
struct Grammar {
  std::vector<GrammarOption> options;  // without a word
  std::vector<GrammarWord> words;      // each once
};

Grammar command_grammar();

}  // namespace stdgate::tools
