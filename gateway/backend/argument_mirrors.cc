#include "gateway/backend/argument_mirrors.h"

#include <algorithm>
#include <utility>

#include "gateway/call/call_clock.h"
#include "gateway/rpc/known_message.h"

namespace stdgate::backend {

namespace {

// Of what is kept of a tool.
size_t bytes_of(const pool::MarkedTool& tool) {
  size_t bytes = 2 * tool.name.size();
  for (const pool::MarkedArgument& argument : tool.arguments) {
    bytes += argument.field.size();
    for (const std::string& key : argument.path) bytes += key.size() + sizeof(std::string);
  }
  return bytes;
}

}  // namespace

ArgumentMirrors::ArgumentMirrors(const pool::PoolServices& services, pool::Pool& pool,
                                 pool::PoolEvents& events, MirrorOwner& owner)
    : services_(services),
      pool_(pool),
      events_(events),
      owner_(owner),
      held_(services.config.pool, services.payer.held),
      timer_(services.core.timers, [this] { look_at_time(); }) {}

// --- Calls ----------------------------------------------------------------------------------

bool ArgumentMirrors::is_unsettled(std::string_view tool) {
  if (tool.empty() || tools_.find(tool) != tools_.end()) return false;
  return is_asked_ || (now() >= not_before_ && !pool_.is_draining());
}

void ArgumentMirrors::take(call::CallPtr call, const call::Outgoing& message,
                           const rpc::Envelope& request, std::string_view fields) {
  // In the usual case the request is not read again.
  if (is_known_ || !is_unsettled(dialect().called_tool(request, tool_))) {
    return judge(std::move(call), message, request, fields);
  }
  if (!held_.has_room(message.bytes())) {
    const auto report = rpc::faults::overloaded("too many calls wait for the list of tools");
    return events_.on_fault(std::move(call), report);
  }
  call->mirrored = fields;
  if (!timer_.armed()) until_ = now() + kMaxWait;
  const TimePoint due = std::min(until_, call->deadline);
  held_.push(std::move(call), message);
  if (!timer_.armed() || due < timer_.due()) timer_.arm(due);
  if (is_asked_) return;
  is_asked_ = true;
  has_changed_ = false;
  pages_ = 0;
  ask({}, 0);
}

void ArgumentMirrors::judge(call::CallPtr call, const call::Outgoing& message,
                            const rpc::Envelope& request, std::string_view fields) {
  const auto tool =
      tools_.empty() ? tools_.end() : tools_.find(dialect().called_tool(request, tool_));
  if (tool != tools_.end()) {
    if (const auto why = dialect().mismatch(tool->second, request, fields)) {
      return owner_.refuse_mirrored(std::move(call), *why);
    }
  }
  owner_.pass_on(std::move(call), message);
}

// Whose own time is up does not wait any longer, nor does anybody when the list takes too long.
void ArgumentMirrors::look_at_time() {
  TimePoint next = until_;
  std::vector<call::CallPtr> late = held_.take_all([&](const call::Call& call) {
    if (call.deadline <= now()) return true;
    next = std::min(next, call.deadline);
    return false;
  });
  if (next > now() && !held_.empty()) timer_.arm(next);
  const bool is_over = until_ <= now();
  for (call::CallPtr& call : late) {
    const rpc::FaultReport report =
        call::gave_up(*call, call::CallPlace::waiting, call->arrived, services_.config);
    events_.on_fault(std::move(call), report);
  }
  if (is_over) release();
}

void ArgumentMirrors::release() {
  timer_.disarm();
  // Those only that wait now: what is answered here can make clients send others.
  for (size_t left = held_.size(); left > 0 && !held_.empty(); --left) {
    call::WaitingMessage waiting = held_.pop();
    const call::Outgoing message = waiting.outgoing();
    std::string text(message.text);
    const rpc::KnownMessage known(text);
    const std::string fields = std::exchange(waiting.call->mirrored, {});
    judge(std::move(waiting.call), message, known.envelope(), fields);
    held_.reuse(std::move(waiting));
  }
}

std::vector<call::CallPtr> ArgumentMirrors::withdraw(session::Caller caller) {
  return held_.take_all([caller](const call::Call& call) { return call.caller == caller; });
}

// --- The list -------------------------------------------------------------------------------

void ArgumentMirrors::ask(std::string_view cursor, uint64_t child) {
  ++pages_;
  std::string text = dialect().list_request(cursor);
  const rpc::KnownMessage known(text);
  const rpc::Envelope& request = known.envelope();
  call::CallPtr call = services_.calls.take();
  call->id = request.id;
  call->method_name = dialect().list_method();
  call->caller = session::Callers::kGateway;
  call->client_era = Era::modern;
  call->transport = Transport::mcp;
  call->arrived = now();
  call::start_clock(*call, services_.config.timeout, services_.config);
  call::Outgoing message;
  message.text = request.text;
  message.id = place_of(request.id, request.text);
  // A legacy child gets it without its stamp.
  const call::EraChanges changes = services_.dialect.omissions(request);
  message.inserted = changes.view();
  message.child = services_.config.pool.sticky ? child : 0;
  message.is_bound = message.child != 0;
  if (!pool_.submit(call, message)) end_asking(false);
}

bool ArgumentMirrors::take_answer(const call::Call& call, const rpc::Envelope& answer) {
  if (!is_own(call)) return false;
  const auto page = dialect().read_page(answer);
  if (page) keep(*page);
  if (!page || page->cursor.empty() || pages_ == kMaxPages) {
    end_asking(page.has_value());
  } else {
    ask(page->cursor, call.child);
  }
  return true;
}

bool ArgumentMirrors::take_fault(const call::Call& call) {
  if (!is_own(call)) return false;
  end_asking(false);
  return true;
}

void ArgumentMirrors::end_asking(bool is_known) {
  is_asked_ = false;
  is_known_ = is_known && !has_changed_;
  if (!is_known) not_before_ = now() + kAskAgain;
  release();
}

void ArgumentMirrors::learn(const call::Call& call, std::string_view method,
                            const rpc::Envelope& answer) {
  if (method != dialect().list_method()) return;
  const bool is_private = call.alone || (!call.session.is_none() &&
                                         services_.config.isolation == config::Isolation::session);
  if (is_private || (tools_.empty() && !dialect().may_mark(answer))) return;
  if (const auto page = dialect().read_page(answer)) keep(*page);
}

void ArgumentMirrors::note_change(uint8_t lists) {
  if ((lists & dialect().list()) == 0) return;
  is_known_ = false;
  has_changed_ = true;
  not_before_ = {};
  tools_.clear();
  text_bytes_ = 0;
}

void ArgumentMirrors::keep(const pool::ToolPage& page) {
  for (const pool::MarkedTool& tool : page.tools) {
    remove(tool.name);
    const size_t bytes = bytes_of(tool);
    const bool fits = tools_.size() < kMaxTools && text_bytes_ + bytes <= kMaxTextBytes;
    if (tool.arguments.empty() || !fits) continue;
    tools_.emplace(tool.name, tool);
    text_bytes_ += bytes;
  }
}

void ArgumentMirrors::remove(std::string_view name) {
  const auto known = tools_.find(name);
  if (known == tools_.end()) return;
  text_bytes_ -= bytes_of(known->second);
  tools_.erase(known);
}

}  // namespace stdgate::backend
