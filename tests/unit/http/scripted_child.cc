#include "tests/unit/http/scripted_child.h"

#include <algorithm>
#include <utility>

#include "gateway/rpc/json_member.h"

namespace stdgate::test {

namespace {

size_t number_in(std::string_view params, std::string_view name) {
  const auto member = find_member(params, name);
  return member ? std::stoul(std::string(*member)) : 0;
}

std::string result_line(std::string_view id, std::string_view result) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":)" + std::string(result) +
         '}';
}

}  // namespace

ScriptedChild::ScriptedChild(ScriptedLauncher& launcher, ChildEvents& events)
    : launcher_(launcher),
      events_(events),
      parser_(EnvelopeLimits()),
      timer_(launcher.loop().timers(), [this] { on_timer(); }) {
  launcher_.children.push_back(this);
  timer_.arm(launcher_.loop().now());
}

ScriptedChild::~ScriptedChild() { std::erase(launcher_.children, this); }

void ScriptedChild::write(std::span<const std::string_view> parts) {
  for (const std::string_view part : parts) input_ += part;
  for (size_t end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
    std::string line = input_.substr(0, end);
    input_.erase(0, end + 1);
    on_line(std::move(line));
  }
}

void ScriptedChild::on_line(std::string line) {
  const std::string original = line;
  const auto document = parser_.parse({line.data(), line.size()});
  const Envelope& message = document->messages[0].envelope;
  const std::string id(message.id);
  if (message.kind == MessageKind::notification) {
    notifications.push_back(original);
    return;
  }
  if (message.kind != MessageKind::request) {
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
  is_read_ = reading;
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
    events_.on_started(1);
  }
  if (!output_.empty() && is_read_) {
    std::string bytes;
    bytes.swap(output_);
    events_.on_output({bytes.data(), bytes.size()});
  }
  if (std::exchange(taken_, false)) events_.on_writable();
  if (ending_) {
    ending_ = false;
    events_.on_exit(exit_);
  }
}

std::unique_ptr<ChildLink> ScriptedLauncher::launch(const LaunchSpec& /*spec*/,
                                                    ChildEvents& events) {
  return std::make_unique<ScriptedChild>(*this, events);
}

}  // namespace stdgate::test
