#include "tests/sim/sim_member.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/message_text.h"
#include "tests/support/memory_child.h"

namespace stdgate::sim {

namespace {

constexpr std::chrono::milliseconds kSoon{50};

std::string_view member_of(const rpc::Envelope& message, std::string_view key) {
  return rpc::member_or_empty(message.params, key);
}

}  // namespace

class SimMembers::Child final : public test::MemoryChild,
                                public std::enable_shared_from_this<Child> {
 public:
  Child(SimWorld& world, const MemberTemper& temper, bool is_modern, pool::ChildEvents& events,
        int pid)
      : MemoryChild(events), world_(world), temper_(temper), is_modern_(is_modern), pid_(pid) {}

  void launch() {
    if (world_.chance(temper_.never_starts)) return;
    if (world_.chance(temper_.fails_to_start)) {
      return exit_after(kSoon, {pool::ExitStatus::Kind::not_started, 2, "exec: no such file"});
    }
    later(world_.pick_duration(Duration{1}, kSoon),
          [](Child& self) { self.tell_started(self.pid_); });
  }

 private:
  void write(std::span<const std::string_view> parts) override {
    if (is_closed_) return;
    MemoryChild::write(parts);
    later(world_.pick_duration(Duration{1}, std::chrono::milliseconds(5)),
          [](Child& self) { self.read(); });
  }

  void end(Duration grace) override {
    is_closed_ = true;
    exit_after(grace == Duration{0} ? Duration{1} : world_.pick_duration(Duration{1}, 2 * grace),
               {pool::ExitStatus::Kind::exited, 0, {}});
  }

  void later(Duration delay, std::function<void(Child&)> event) {
    world_.after(delay, [weak = weak_from_this(), event = std::move(event)] {
      const auto self = weak.lock();
      if (self && self->running()) event(*self);
    });
  }

  void exit_after(Duration delay, pool::ExitStatus status) {
    later(delay, [status = std::move(status)](Child& self) {
      if (std::exchange(self.has_exited_, true)) return;
      self.tell_exit(status);
    });
  }

  void read() {
    while (running() && has_line()) {
      const rpc::KnownMessage known(take_input_line());
      const rpc::Envelope& message = known.envelope();
      if (world_.chance(temper_.dies)) {
        return exit_after(Duration{1}, {pool::ExitStatus::Kind::exited, 3, {}});
      }
      if (world_.chance(temper_.talks_nonsense)) say("Listening on port 3000", Duration{1});
      if (message.kind == rpc::MessageKind::request) {
        answer(message);
      } else if (message.method == "notifications/cancelled") {
        listening_ = listening_ == member_of(message, "requestId") ? std::string() : listening_;
      }
    }
  }

  // --- Requests

  void answer(const rpc::Envelope& request) {
    if (world_.chance(temper_.ignores)) return;
    const bool is_long = world_.chance(temper_.takes_long);
    const Duration delay =
        world_.pick_duration(Duration{1}, is_long ? temper_.longest_work : temper_.slowest_answer);
    const std::string method(request.method);
    if (method == "server/discover" || method == "initialize") return greet(request);
    if (method == "subscriptions/listen" && is_modern_) return listen(request);
    if (world_.chance(temper_.refuses)) {
      return reply(request, R"("error":{"code":-32602,"message":"no"})", delay);
    }
    if (method == "tools/call") return call(request, delay);
    reply(request, result_of(method, request), delay);
    if (world_.chance(temper_.changes)) change();
  }

  std::string result_of(const std::string& method, const rpc::Envelope& request) {
    if (method == "tools/list") return list_of("tools", [](size_t i) { return tool(i); });
    if (method == "resources/list") {
      return list_of("resources", [](size_t i) {
        return R"({"name":"r","uri":"r:)" + std::to_string(i) + "\"}";
      });
    }
    if (method == "resources/templates/list") {
      return done(R"("resourceTemplates":[{"name":"y","uriTemplate":"y:{id}"}])");
    }
    if (method == "resources/read") {
      return done(R"("contents":[{"uri":)" + std::string(member_of(request, "uri")) +
                  R"(,"text":"x"}])");
    }
    if (method == "prompts/list") return done(R"("prompts":[])");
    if (method.starts_with("tasks/")) {
      return done(R"("taskId":)" + std::string(member_of(request, "taskId")) +
                  R"(,"status":"working")");
    }
    return done("");
  }

  static std::string tool(size_t i) {
    return R"({"name":"t)" + std::to_string(i) + R"(","inputSchema":{"type":"object"}})";
  }

  std::string list_of(const std::string& key, const std::function<std::string(size_t)>& element) {
    std::string out = "\"" + key + "\":[";
    for (size_t i = 0; i < offered_; ++i) out += (i == 0 ? "" : ",") + element(i);
    if (world_.chance(temper_.lies)) out += R"(,null,7,{"name":"bad"},{"name":[]},)" + element(0);
    out += ']';
    if (world_.chance(temper_.lies)) out += R"(,"nextCursor":"again")";
    return done(out);
  }

  [[nodiscard]] std::string done(const std::string& members) const {
    if (!is_modern_) return R"("result":{)" + members + "}";
    return R"("result":{"resultType":"complete")" + (members.empty() ? "" : "," + members) + "}";
  }

  void call(const rpc::Envelope& request, Duration delay) {
    const std::string nonce(rpc::member_or_empty(member_of(request, "arguments"), "nonce"));
    if (!is_modern_ && world_.chance(temper_.asks)) {
      say(R"({"jsonrpc":"2.0","id":"ask-)" + std::to_string(++asked_) +
              R"(","method":"roots/list"})",
          delay / 2);
    }
    if (world_.chance(temper_.speaks)) {
      say(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}})",
          delay / 2);
    }
    std::string members =
        R"("content":[{"type":"resource_link","name":"l","uri":"z:1"}],"nonce":)" +
        (nonce.empty() ? "0" : nonce);
    if (world_.chance(0.2))
      members += R"(,"task":{"taskId":")" + std::to_string(world_.pick(1, 3)) + "\"}";
    reply(request, done(members), delay);
  }

  void greet(const rpc::Envelope& request) {
    const Duration delay = world_.pick_duration(Duration{1}, kSoon);
    constexpr const char* kCan =
        R"("capabilities":{"tools":{"listChanged":true},"logging":{},)"
        R"("resources":{"subscribe":true,"listChanged":true}},"serverInfo":{"name":"m","version":"1"})";
    const bool discovers = request.method == "server/discover";
    if (discovers && is_modern_) {
      return reply(request,
                   R"("result":{"resultType":"complete","supportedVersions":["2026-07-28"],)" +
                       std::string(kCan) + "}",
                   delay);
    }
    if (!discovers && !is_modern_) {
      return reply(request,
                   R"("result":{"protocolVersion":"2025-11-25",)" + std::string(kCan) + "}", delay);
    }
    reply(request,
          discovers ? R"("error":{"code":-32601,"message":"Method not found"})"
                    : R"("error":{"code":-32022,"message":"no"})",
          delay);
  }

  void listen(const rpc::Envelope& request) {
    listening_ = request.id;
    tell_listener("notifications/subscriptions/acknowledged",
                  R"(,"notifications":)" + std::string(member_of(request, "notifications")));
  }

  void change() {
    offered_ = world_.pick(0, 4);
    const char* const method = world_.chance(0.5) ? "notifications/tools/list_changed"
                                                  : "notifications/resources/list_changed";
    if (is_modern_) return tell_listener(method, {});
    say(R"({"jsonrpc":"2.0","method":")" + std::string(method) + "\"}", Duration{1});
  }

  void tell_listener(const std::string& method, const std::string& members) {
    if (listening_.empty()) return;
    say(R"({"jsonrpc":"2.0","method":")" + method +
            R"(","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":)" + listening_ + "}" +
            members + "}}",
        Duration{1});
  }

  // --- Output

  void reply(const rpc::Envelope& request, const std::string& member, Duration delay) {
    const std::string text =
        R"({"jsonrpc":"2.0","id":)" + std::string(request.id) + "," + member + "}";
    say(text, delay);
    if (world_.chance(temper_.answers_twice)) say(text, delay + Duration{1});
  }

  void say(std::string text, Duration delay) {
    later(delay, [text = std::move(text)](Child& self) mutable {
      if (!self.is_read()) return self.say(std::move(text), kSoon);
      text += '\n';
      self.tell_output(text);
    });
  }

  SimWorld& world_;
  const MemberTemper& temper_;
  const bool is_modern_;
  const int pid_;
  size_t offered_ = 2;  // number of elements in each list
  size_t asked_ = 0;
  std::string listening_;  // the id of the listening request; empty: no such request
  bool is_closed_ = false;
  bool has_exited_ = false;
};

std::unique_ptr<pool::ChildLink> SimMembers::launch(const pool::LaunchSpec& spec,
                                                    pool::ChildEvents& events) {
  auto child = std::make_shared<Child>(world_, temper_, spec.backend.starts_with("fresh"), events,
                                       next_pid_++);
  children_.push_back(child);
  child->launch();
  return test::MemoryChild::link_to(std::move(child));
}

size_t SimMembers::running() const {
  return static_cast<size_t>(std::ranges::count_if(children_, [](const auto& weak) {
    const auto child = weak.lock();
    return child && child->running();
  }));
}

}  // namespace stdgate::sim
