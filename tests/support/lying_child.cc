// lying_child: a stdio JSON-RPC child whose answers are its arguments, for tests of servers that
// lie.
//
// lying_child [METHOD=TEXT …] [anything without '=': a mark that lets a test find the process]
//   The child answers a request or notification of METHOD with TEXT. The METHOD "*" stands for
//   all methods without a rule of their own. Several rules of a method are used in turn, and the
//   last rule is repeated. In TEXT these words are replaced:
//     @NL@          an end of line; another one always follows TEXT
//     @ID@          the raw id of the request
//     @ID:METHOD@   the raw id of the last request of METHOD
//     @COUNT@       the number of requests of the method so far
//     @FILL:N@      N letters
//     @NEST:N@      N nested arrays
//     @MANY:N:X@    X, N times, separated by commas; '#' in X is replaced by 0, 1, 2, …
//   These TEXTs are special: "" writes nothing; "!exit" exits; "!kill" sends itself SIGKILL;
//   "!cut X" exits in the middle of the line X.
//   Without a rule, the method "history" is answered with the lines read so far.
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/rpc/json_text.h"

namespace {

using simdjson::dom::element;

constexpr std::string_view kAny = "*";

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count <= 0) std::_Exit(1);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

std::string many(size_t count, std::string_view each) {
  std::string out;
  for (size_t number = 0; number < count; ++number) {
    if (number > 0) out += ',';
    for (const char c : each) {
      out += c == '#' ? std::to_string(number) : std::string(1, c);
    }
  }
  return out;
}

class Liar {
 public:
  void add(std::string_view rule) {
    const size_t equals = rule.find('=');
    if (equals == std::string_view::npos) return;
    rules_[std::string(rule.substr(0, equals))].texts.emplace_back(rule.substr(equals + 1));
  }

  void serve() {
    for (std::string line; std::getline(std::cin, line);) {
      history_.push_back(line);
      element message;
      std::string_view method;
      if (parser_.parse(line).get(message) != simdjson::SUCCESS) continue;
      if (message["method"].get(method) == simdjson::SUCCESS) meet(message, method);
    }
  }

 private:
  struct Rule {
    std::vector<std::string> texts;
    size_t served = 0;
  };

  void meet(element message, std::string_view method) {
    element id;
    const bool is_request = message["id"].get(id) == simdjson::SUCCESS;
    if (is_request) ids_[std::string(method)] = simdjson::minify(id);
    auto rule = rules_.find(std::string(method));
    if (rule == rules_.end() && method == "history") return tell_history();
    if (rule == rules_.end() && is_request) rule = rules_.find(std::string(kAny));
    if (rule == rules_.end()) return;
    const std::vector<std::string>& texts = rule->second.texts;
    const size_t turn = rule->second.served++;
    act(texts[std::min(turn, texts.size() - 1)], std::string(method), turn + 1);
  }

  void act(std::string_view text, const std::string& method, size_t count) {
    constexpr std::string_view kCut = "!cut ";
    if (text.empty()) return;
    if (text == "!exit") std::_Exit(0);
    if (text == "!kill") ::raise(SIGKILL);
    const bool is_cut = text.starts_with(kCut);
    if (is_cut) text.remove_prefix(kCut.size());
    write_all(expanded(text, method, count) + (is_cut ? "" : "\n"));
    if (is_cut) std::_Exit(0);
  }

  // A word between two '@' that is not known stays as it is.
  std::string expanded(std::string_view text, const std::string& method, size_t count) {
    std::string out;
    while (!text.empty()) {
      const size_t begin = text.find('@');
      const size_t end = begin == std::string_view::npos ? begin : text.find('@', begin + 1);
      if (end == std::string_view::npos) return out.append(text);
      out.append(text.substr(0, begin));
      out.append(value_of(text.substr(begin + 1, end - begin - 1), method, count));
      text.remove_prefix(end + 1);
    }
    return out;
  }

  std::string value_of(std::string_view word, const std::string& method, size_t count) {
    const size_t colon = word.find(':');
    const std::string_view name = word.substr(0, colon);
    const std::string argument(colon == std::string_view::npos ? "" : word.substr(colon + 1));
    const size_t number = std::strtoul(argument.c_str(), nullptr, 10);
    if (name == "ID") return ids_[argument.empty() ? method : argument];
    if (name == "NL") return "\n";
    if (name == "COUNT") return std::to_string(count);
    if (name == "FILL") return std::string(number, 'x');
    if (name == "NEST") return std::string(number, '[') + std::string(number, ']');
    if (name == "MANY") return many(number, argument.substr(argument.find(':') + 1));
    return '@' + std::string(word) + '@';
  }

  void tell_history() {
    std::string lines;
    for (const std::string& line : history_) {
      if (!lines.empty()) lines += ',';
      stdgate::rpc::append_json_string(lines, line);
    }
    write_all(R"({"jsonrpc":"2.0","id":)" + ids_["history"] + R"(,"result":{"lines":[)" + lines +
              "]}}\n");
  }

  std::map<std::string, Rule> rules_;
  std::map<std::string, std::string> ids_;  // of the last request of each method, raw
  simdjson::dom::parser parser_;
  std::vector<std::string> history_;
};

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  Liar liar;
  for (int i = 1; i < argc; ++i) liar.add(argv[i]);
  liar.serve();
  return 0;
}
