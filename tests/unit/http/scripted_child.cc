#include "tests/unit/http/scripted_child.h"

#include <algorithm>
#include <utility>

#include "gateway/rpc/json_reader.h"

namespace stdgate::test {

namespace {

size_t number_in(std::string_view params, std::string_view name) {
  const auto member = rpc::find_member(params, name);
  return member ? std::stoul(std::string(*member)) : 0;
}

std::string result_line(std::string_view id, std::string_view result) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":)" + std::string(result) +
         '}';
}

}  // namespace

ScriptedChild::ScriptedChild(ScriptedLauncher& launcher, pool::ChildEvents& events)
    : MemoryChild(events),
      launcher_(launcher),
      parser_(rpc::EnvelopeLimits()),
      timer_(launcher.loop().timers(), [this] { on_timer(); }) {
  launcher_.children.push_back(this);
  timer_.arm(launcher_.loop().now());
}

ScriptedChild::~ScriptedChild() { std::erase(launcher_.children, this); }

void ScriptedChild::write(std::span<const std::string_view> parts) {
  MemoryChild::write(parts);
  while (has_line()) on_line(take_input_line());
}

void ScriptedChild::on_line(std::string line) {
  const std::string original = line;
  const auto document = parser_.parse({line.data(), line.size()});
  const rpc::Envelope& message = document->messages[0].envelope;
  const std::string id(message.id);
  if (message.kind == rpc::MessageKind::notification) {
    notifications.push_back(original);
    return;
  }
  if (message.kind != rpc::MessageKind::request) {
    answers.push_back(original);
    return;
  }
  ++calls;
  if (message.method == "hold") {
    held.push_back(id);
  } else if (message.method == "events") {
    for (size_t i = 0; i < number_in(message.params, "n"); ++i) {
      say(R"({"jsonrpc":"2.0","method":"tick","params":[)" + std::to_string(i) + "]}");
    }
    say(result_line(id, "\"done\""));
  } else if (message.method == "fail") {
    say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":-1,"message":"no"}})");
  } else if (message.method == "big") {
    say(result_line(id, '"' + std::string(number_in(message.params, "size"), 'x') + '"'));
  } else {
    say(result_line(id, message.params.empty() ? "null" : message.params));
  }
}

void ScriptedChild::say(const std::string& line) {
  output_ += line + '\n';
  if (!timer_.armed()) timer_.arm(launcher_.loop().now());
}

void ScriptedChild::answer_held(const std::string& result) {
  say(result_line(held.front(), result));
  held.erase(held.begin());
}

void ScriptedChild::set_reading(bool reading) {
  MemoryChild::set_reading(reading);
  timer_.arm(launcher_.loop().now());
}

void ScriptedChild::exit(int code) {
  exit_.value = code;
  end({});
}

void ScriptedChild::set_unsent(size_t bytes) {
  taken_ = bytes < unsent_;
  unsent_ = bytes;
  timer_.arm(launcher_.loop().now());
}

void ScriptedChild::end(Duration /*grace*/) {
  ending_ = true;
  timer_.arm(launcher_.loop().now());
}

void ScriptedChild::on_timer() {
  if (!started_) {
    started_ = true;
    tell_started(1);
  }
  if (!output_.empty() && is_read()) {
    std::string bytes = std::exchange(output_, {});
    tell_output(bytes);
  }
  if (std::exchange(taken_, false)) tell_writable();
  if (ending_) {
    ending_ = false;
    tell_exit(exit_);
  }
}

std::unique_ptr<pool::ChildLink> ScriptedLauncher::launch(const pool::LaunchSpec& /*spec*/,
                                                          pool::ChildEvents& events) {
  return MemoryChild::link_to(std::make_shared<ScriptedChild>(*this, events));
}

}  // namespace stdgate::test
