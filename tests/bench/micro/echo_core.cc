#include "tests/bench/micro/echo_core.h"

#include <algorithm>
#include <cstdlib>

#include "gateway/pool/dialect.h"

namespace stdgate::bench {

// The process of a child. Keeps the id of the last line until the core has returned.
class EchoLink final : public pool::ChildLink {
 public:
  EchoLink(EchoCore& core, pool::ChildEvents& events) : core_(core), events_(events) {}
  ~EchoLink() override { std::erase(core_.links_, this); }

  void start() {
    if (!started_) events_.on_started(1);
    started_ = true;
  }
  void answer() {
    const size_t id = EchoCore::kRequestBegin.size();
    output_.assign(input_, 0, input_.find(',', id)).append(core_.answer_end_);
    input_.clear();
    events_.on_output(output_);
  }

  void write(std::span<const std::string_view> parts) override {
    for (const std::string_view part : parts) input_ += part;
    core_.asked_ = this;
  }
  [[nodiscard]] size_t unsent_bytes() const override { return 0; }
  void set_reading(bool /*reading*/) override {}
  void end(Duration /*grace*/) override {}

 private:
  EchoCore& core_;
  pool::ChildEvents& events_;
  bool started_ = false;
  std::string input_;
  std::string output_;
};

namespace {

backend::BackendOptions options_for(EchoCore::Caller caller) {
  backend::BackendOptions options;
  options.config.name = "echo";
  options.config.command = {"echo"};
  options.config.protocol = config::Protocol::jsonrpc;
  options.config.pool.min = 1;
  if (caller == EchoCore::Caller::session_with_own_child) {
    options.config.isolation = config::Isolation::session;
  }
  return options;
}

}  // namespace

EchoCore::EchoCore(Caller caller, std::string request, std::string_view params, Observer& observer)
    : request_(std::move(request)),
      answer_end_(R"(,"result":)" + std::string(params) + "}\n"),
      services_{*this, timers_, *this, observer, *this, random_, storages_},
      backend_(BackendId{0}, options_for(caller), std::make_unique<pool::JsonRpcDialect>(""),
               callers_, services_),
      parser_(backend_.envelope_limits()) {
  backend_.start();
  start_children();
  context_.caller = *callers_.add(*this);
  context_.arrived = now();
  if (caller == Caller::alone) return;
  context_.session = *backend_.open_session(context_.caller, *this, {});
  context_.transport = Transport::websocket;
  start_children();
}

EchoCore::~EchoCore() {
  if (!context_.session.is_none()) backend_.close_session(context_.session, {});
  callers_.remove(context_.caller);
}

void EchoCore::call() {
  const auto document = parser_.parse(request_);
  backend_.accept(document->messages[0], context_);
  if (asked_ == nullptr) std::abort();  // the core has not accepted the call
  std::exchange(asked_, nullptr)->answer();
}

std::unique_ptr<pool::ChildLink> EchoCore::launch(const pool::LaunchSpec& /*spec*/,
                                                  pool::ChildEvents& events) {
  auto link = std::make_unique<EchoLink>(*this, events);
  links_.push_back(link.get());
  return link;
}

void EchoCore::start_children() {
  for (EchoLink* link : links_) link->start();
}

}  // namespace stdgate::bench
