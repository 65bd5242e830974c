// puppet_child: a stdio JSON-RPC child that does what each call tells it, for tests of the gateway.
//
// puppet_child [mcp | mcp-refusing | mcp-library] [anything: a mark that lets a test find the
// process]
//   mcp            an MCP server: answers initialize, and ends with code 3 at any other request
//                  before notifications/initialized
//   mcp-refusing   an MCP server that answers initialize with an error
//   mcp-library    an MCP server with several tools, resources and prompts
// Methods; params are an object, which may contain "_meta":
//   pid, cwd, env          report the process's own values
//   history                is answered with the lines read so far, an array of texts
//   hang                   is never answered
//   exit {code}, signal {number}   ends the process without an answer
//   say {line, instead}    writes the line, in which @ID@ stands for the call's id; with `instead`
//                          the line is the answer, otherwise the answer true follows
//   complain {bytes}       writes these bytes to stderr
//   blob {size}            is answered with a text of `size` bytes
//   leak {size}            allocates `size` bytes and never frees them
//   push {count, size}     writes `count` notifications "push", numbered "n" from 0, each with a
//                          "fill" of `size` bytes; is answered after them
//   ask {method, params}   asks the client; is answered with the whole text of the client's answer
//   deaf                   is answered; then the child reads nothing any more
//   doze                   is answered; then the child reads nothing until SIGUSR1
//   meet {notes}           waits for a second such call; then both calls receive progress in turns,
//                          each with its own token, and then their answers
//   tools/list, tools/call   with mcp: the list has one tool, "fail", whose result says isError;
//                            the unlisted tool "elicit" asks the client, whose answer is the
//                            result; with mcp-library: read_file, delete_file (spelled with an
//                            escape) and write_file
//   resources/list, resources/templates/list, prompts/list   two elements in each list
#include <simdjson.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/rpc/json_text.h"

namespace {

using simdjson::dom::element;

constexpr int kOutOfOrder = 3;
constexpr std::string_view kNoProgress = "null";

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count <= 0) std::_Exit(1);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

std::string as_json(std::string_view text) {
  std::string out;
  stdgate::rpc::append_json_string(out, text);
  return out;
}

template <class Items>
std::string array_of_texts(const Items& items) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += as_json(item);
  }
  return out + "]";
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

class Puppet {
 public:
  explicit Puppet(std::string_view mode)
      : is_mcp_(mode.starts_with("mcp")),
        refuses_(mode == "mcp-refusing"),
        is_library_(mode == "mcp-library") {}

  void serve() {
    for (std::string line; std::getline(std::cin, line);) {
      history_.push_back(line);
      element message;
      if (parser_.parse(line).get(message) == simdjson::SUCCESS) handle(message);
    }
  }

 private:
  struct Call {
    std::string id;     // raw
    std::string token;  // raw
    std::optional<element> params;
  };
  using Act = void (Puppet::*)(const Call&);

  void handle(element message) {
    std::string_view method;
    element id;
    if (message["method"].get(method) != simdjson::SUCCESS) return take_answer(message);
    if (method == "notifications/initialized") greeted_ = true;
    if (message["id"].get(id) != simdjson::SUCCESS) return;
    Call call;
    call.id = simdjson::minify(id);
    call.token = kNoProgress;
    element params;
    if (message["params"].get(params) == simdjson::SUCCESS) {
      call.params = params;
      element token;
      if (params.at_pointer("/_meta/progressToken").get(token) == simdjson::SUCCESS) {
        call.token = simdjson::minify(token);
      }
    }
    if (is_mcp_ && !greeted_ && method != "initialize") std::_Exit(kOutOfOrder);
    const auto found = kActs.find(method);
    if (found != kActs.end()) {
      (this->*found->second)(call);
    } else {
      fail(call, R"({"code":-32601,"message":"no such method"})");
    }
  }

  static void write_line(const std::string& line) { write_all(STDOUT_FILENO, line + "\n"); }
  static void answer(const Call& call, std::string_view result) {
    write_line(R"({"jsonrpc":"2.0","id":)" + call.id + R"(,"result":)" + std::string(result) + "}");
  }
  static void fail(const Call& call, std::string_view error) {
    write_line(R"({"jsonrpc":"2.0","id":)" + call.id + R"(,"error":)" + std::string(error) + "}");
  }
  // The value of a parameter; `fallback` if it is missing or of another type.
  template <class Value>
  static Value param(const Call& call, std::string_view name, Value fallback) {
    Value value = fallback;
    if (!call.params || (*call.params)[name].get(value) != simdjson::SUCCESS) return fallback;
    return value;
  }
  static int64_t number(const Call& call, std::string_view name) {
    return param<int64_t>(call, name, 0);
  }

  void pid(const Call& call) { answer(call, std::to_string(::getpid())); }
  void cwd(const Call& call) { answer(call, as_json(std::filesystem::current_path().string())); }
  void env(const Call& call) {
    std::vector<std::string_view> entries;
    for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
    answer(call, array_of_texts(entries));
  }
  void history(const Call& call) { answer(call, array_of_texts(history_)); }
  void hang(const Call& /*call*/) {}
  void exit(const Call& call) { std::_Exit(static_cast<int>(number(call, "code"))); }
  void signal(const Call& call) { ::kill(::getpid(), static_cast<int>(number(call, "number"))); }
  void say(const Call& call) {
    const std::string line(param<std::string_view>(call, "line", ""));
    write_line(replaced(line, "@ID@", call.id));
    if (!param(call, "instead", false)) answer(call, "true");
  }
  void complain(const Call& call) {
    std::string bytes;
    for (const element byte : param(call, "bytes", simdjson::dom::array())) {
      bytes += static_cast<char>(int64_t{byte});
    }
    write_all(STDERR_FILENO, bytes);
    answer(call, "true");
  }
  void blob(const Call& call) {
    answer(call, '"' + std::string(static_cast<size_t>(number(call, "size")), 'x') + '"');
  }
  void leak(const Call& call) {
    leaked_.emplace_back(static_cast<size_t>(number(call, "size")), 'x');
    answer(call, std::to_string(leaked_.size()));
  }
  void deaf(const Call& call) {
    answer(call, "true");
    for (;;) ::pause();
  }
  void doze(const Call& call) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
    answer(call, "true");
    int received = 0;
    ::sigwait(&wanted, &received);
  }
  void push(const Call& call) {
    const std::string fill(static_cast<size_t>(number(call, "size")), 'x');
    const int64_t count = number(call, "count");
    for (int64_t n = 0; n < count; ++n) {
      write_line(R"({"jsonrpc":"2.0","method":"push","params":{"n":)" + std::to_string(n) +
                 R"(,"fill":")" + fill + "\"}}");
    }
    answer(call, std::to_string(count));
  }
  void ask(const Call& call) {
    const std::string id = "\"ask-" + std::to_string(++asked_) + '"';
    std::string params = "[]";
    element given;
    if (call.params && (*call.params)["params"].get(given) == simdjson::SUCCESS) {
      params = simdjson::minify(given);
    }
    asks_[id] = call.id;
    write_line(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":)" +
               as_json(param<std::string_view>(call, "method", "")) + R"(,"params":)" + params +
               "}");
  }
  void take_answer(element message) {
    element id;
    if (message["id"].get(id) != simdjson::SUCCESS) return;
    const auto asked = asks_.extract(simdjson::minify(id));
    if (asked.empty()) return;
    Call call;
    call.id = asked.mapped();
    answer(call, history_.back());
  }
  void meet(const Call& call) {
    if (waiting_.id.empty()) {
      waiting_ = call;
      return;
    }
    const Call first = std::exchange(waiting_, Call());
    for (int64_t note = 1; note <= number(call, "notes"); ++note) {
      for (const Call* each : {&first, &call}) progress(*each, note);
    }
    answer(first, "\"first\"");
    answer(call, "\"second\"");
  }
  static void progress(const Call& call, int64_t note) {
    write_line(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" +
               call.token + R"(,"progress":)" + std::to_string(note) + "}}");
  }

  void initialize(const Call& call) {
    const auto revision = param<std::string_view>(call, "protocolVersion", "");
    if (refuses_ || revision.empty()) {
      return fail(call, R"({"code":-32602,"message":"the puppet refuses"})");
    }
    answer(call,
           R"({"protocolVersion":)" + as_json(revision) +
               R"(,"capabilities":{"tools":{}},"serverInfo":{"name":"puppet","version":"1"}})");
  }
  void list_tools(const Call& call) {
    answer(call,
           is_library_
               ? R"({"tools":[ {"name":"read_file","title":"\u00e4"}, {"name":"\u0064elete_file"},)"
                 R"({"name":"write_file","x":[{"name":"read_file"}]} ],"nextCursor":"2"})"
               : R"({"tools":[{"name":"fail","inputSchema":{"type":"object"}}]})");
  }
  void list_resources(const Call& call) {
    answer(call, R"({"resources":[{"uri":"file:///open/a","name":"a"},{"uri":"file:///b"}]})");
  }
  void list_templates(const Call& call) {
    answer(call, R"({"resourceTemplates":[{"uriTemplate":"file:///open/{x}"},)"
                 R"({"uriTemplate":"file:///{x}"}]})");
  }
  void list_prompts(const Call& call) {
    answer(call, R"({"prompts":[{"name":"greet"},{"name":"secret"}]})");
  }
  void call_tool(const Call& call) {
    if (param<std::string_view>(call, "name", "") != "elicit") {
      return answer(call, R"({"content":[],"isError":true})");
    }
    const std::string id = "\"ask-" + std::to_string(++asked_) + '"';
    asks_[id] = call.id;
    write_line(R"({"jsonrpc":"2.0","id":)" + id +
               R"(,"method":"elicitation/create","params":{"message":"who?",)"
               R"("requestedSchema":{"type":"object","properties":{}}}})");
  }

  static const std::map<std::string_view, Act> kActs;

  const bool is_mcp_;
  const bool refuses_;
  const bool is_library_;
  bool greeted_ = false;
  simdjson::dom::parser parser_;
  std::vector<std::string> history_;
  Call waiting_;
  int64_t asked_ = 0;
  std::map<std::string, std::string> asks_;  // id of the request -> raw id of the call
  std::vector<std::string> leaked_;
};

const std::map<std::string_view, Puppet::Act> Puppet::kActs = {
    {"pid", &Puppet::pid},
    {"cwd", &Puppet::cwd},
    {"env", &Puppet::env},
    {"history", &Puppet::history},
    {"hang", &Puppet::hang},
    {"exit", &Puppet::exit},
    {"signal", &Puppet::signal},
    {"say", &Puppet::say},
    {"complain", &Puppet::complain},
    {"blob", &Puppet::blob},
    {"leak", &Puppet::leak},
    {"deaf", &Puppet::deaf},
    {"meet", &Puppet::meet},
    {"push", &Puppet::push},
    {"ask", &Puppet::ask},
    {"doze", &Puppet::doze},
    {"initialize", &Puppet::initialize},
    {"tools/list", &Puppet::list_tools},
    {"tools/call", &Puppet::call_tool},
    {"resources/list", &Puppet::list_resources},
    {"resources/templates/list", &Puppet::list_templates},
    {"prompts/list", &Puppet::list_prompts}};

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  Puppet(argc > 1 ? argv[1] : "").serve();
  return 0;
}
