#include "gateway/app/command_words.h"

#include <algorithm>
#include <array>

namespace stdgate::app {
namespace {

constexpr std::string_view kCheckHelp =
    "Validates a configuration and prints it with every default; serves nothing.\n"
    "\n"
    "Usage:\n"
    "  stdgate check [options] [--config FILE]      the file (gateway.yaml)\n"
    "  stdgate check [options] -- COMMAND [ARG...]  the flags of one command\n"
    "  stdgate check --as NAME[,ROLE...]            what somebody may do by the rules\n"
    "                [--backend NAME] [--json]      (anonymous: without an identity)\n"
    "  stdgate check --against FILE                 what a reload would change of a\n"
    "                                               gateway that runs with FILE\n"
    "\n"
    "All errors are told at once on stderr, each with its place. What is printed on\n"
    "stdout is a configuration again; secrets in it are ***hidden***. Files of\n"
    "variables are read, commands are not started, and addresses are not opened.\n"
    "\n"
    "Exit code: 0 valid, 2 not. The options are those of stdgate --help.\n";

constexpr std::string_view kDemoServerHelp =
    "A JSON-RPC server on stdin and stdout, one message a line, to try stdgate with.\n"
    "\n"
    "Usage:\n"
    "  stdgate demo-server\n"
    "\n"
    "It takes no options, and ends at the end of its input. The method `methods`\n"
    "lists what it can do:\n"
    "  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"methods\"}' | stdgate demo-server\n"
    "Behind stdgate:\n"
    "  stdgate --protocol jsonrpc -- stdgate demo-server\n";

constexpr std::string_view kHashKeyHelp =
    "Makes an API key and its hash for `auth.api_keys`, or hashes the key on stdin.\n"
    "\n"
    "Usage:\n"
    "  stdgate hash-key              on a terminal: makes a key\n"
    "  stdgate hash-key --new        the same anywhere\n"
    "  stdgate hash-key < FILE       prints the hash of the key in FILE\n"
    "\n"
    "A key has 16 to 256 visible characters. Who holds it may call; the hash is worth\n"
    "nothing to others.\n";

constexpr std::string_view kConfigHelp =
    "Prints what a configuration may say; reads none, and serves nothing.\n"
    "\n"
    "Usage:\n"
    "  stdgate config schema       its JSON Schema, for editors\n"
    "  stdgate config reference    every key, its default and its range, as Markdown\n"
    "\n"
    "stdgate check says whether a configuration is valid, and what it comes to.\n";

constexpr std::string_view kAuditHelp =
    "Says whether an audit is as it was written: no line changed, taken out, moved or\n"
    "invented.\n"
    "\n"
    "Usage:\n"
    "  stdgate audit verify FILE...    the oldest file first\n"
    "\n"
    "Compressed files are given as they were: audit verify <(zcat OLD.gz) FILE.\n"
    "Lines taken from the very end do not show: compare the number and the digest of\n"
    "the last line, which are printed, with those that are kept elsewhere.\n"
    "\n"
    "Exit code: 0 as it was written, 1 not, 2 usage, or a file that cannot be read.\n";

constexpr std::string_view kVersionHelp =
    "Prints the version.\n"
    "\n"
    "Usage:\n"
    "  stdgate version\n";

constexpr std::string_view kHelpHelp =
    "Prints what stdgate can do. Behind a word, --help explains it.\n"
    "\n"
    "Usage:\n"
    "  stdgate help\n"
    "  stdgate WORD --help\n";

struct WordHelp {
  std::string_view word;
  std::string_view text;
};

constexpr std::array kHelps{
    WordHelp{"check", kCheckHelp},
    WordHelp{"config", kConfigHelp},
    WordHelp{"hash-key", kHashKeyHelp},
    WordHelp{"audit", kAuditHelp},
    WordHelp{"demo-server", kDemoServerHelp},
    WordHelp{"version", kVersionHelp},
    WordHelp{"help", kHelpHelp},
};

}  // namespace

std::string_view word_help(std::string_view word) {
  const auto found = std::ranges::find(kHelps, word, &WordHelp::word);
  return found == kHelps.end() ? std::string_view() : found->text;
}

}  // namespace stdgate::app
