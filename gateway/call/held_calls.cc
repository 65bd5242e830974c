#include "gateway/call/held_calls.h"

#include <algorithm>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::call {

namespace {

// Redirects views of one text to a copy of it. Other views stay, because they show constants.
class Moves {
 public:
  Moves(std::string_view from, std::string_view to) : from_(from), to_(to) {}

  void move(std::string_view& part) const {
    const std::less_equal<const char*> is_before;
    const bool is_of_text = is_before(from_.data(), part.data()) &&
                            is_before(part.data() + part.size(), from_.data() + from_.size());
    if (part.empty() || !is_of_text) return;
    part = to_.substr(static_cast<size_t>(part.data() - from_.data()), part.size());
  }

 private:
  const std::string_view from_;
  const std::string_view to_;
};

}  // namespace

KeptRequest::KeptRequest(const Request& request)
    : text_(request.message.text),
      method_(request.method),
      message_(request.message),
      intent_(request.intent),
      context_(request.context) {
  const Moves moves(request.message.text, text_);
  for (std::string_view* part :
       {&message_.text, &message_.id, &message_.method, &message_.params, &message_.payload,
        &intent_.cancelled_id, &intent_.progress_token, &intent_.tool, &intent_.arguments,
        &intent_.key, &intent_.memo_text, &intent_.replaced}) {
    moves.move(*part);
  }
  context_.params = nullptr;
  // A filter that judges the request later has to know its client.
  if (context_.principal != nullptr) {
    context_.principal = &principal_.emplace(*context_.principal);
  }
  if (context_.client != nullptr) context_.client = &client_.emplace(*context_.client);
  if (context_.trace != nullptr) context_.trace = &trace_.emplace(*context_.trace);
  if (context_.mirrored) {
    mirrored_ = *context_.mirrored;
    context_.mirrored = mirrored_;
  }
}

size_t KeptRequest::memory() const {
  size_t bytes = sizeof(KeptRequest) + text_.size() + method_.size() + mirrored_.size();
  if (trace_) bytes += trace_->state.size() + trace_->baggage.text().size();
  if (!principal_) return bytes;
  bytes += principal_->name.size() + principal_->issuer.size() + principal_->subject.size();
  for (const auto* const names : {&principal_->roles, &principal_->scopes}) {
    for (const std::string& name : *names) bytes += sizeof(std::string) + name.size();
  }
  return bytes;
}

HeldCalls::HeldCalls(const Services& services, std::function<void(Held)> on_due)
    : services_(services),
      on_due_(std::move(on_due)),
      timer_(services.timers, [this] { look_at_time(); }) {}

void HeldCalls::hold(CallPtr call, const Request& request, TimePoint until) {
  STDGATE_CHECK(has_room(request.message.text.size()));
  Held held{std::move(call), std::make_unique<KeptRequest>(request), until};
  held.memory = Share({request.context.account, services_.held}, Holding::calls);
  held.memory.set(sizeof(Call) + held.request->memory() + held.call->kept_bytes);
  hold(std::move(held), until);
}

void HeldCalls::hold(Held held, TimePoint until) {
  held.until = std::min(until, held.call->deadline);
  ++requests_;
  bytes_ += held.request->bytes();
  add(std::move(held));
}

// A call that a child has had may have a deadline, which counts again when it is sent again.
void HeldCalls::keep(CallPtr call, TimePoint until) {
  services_.calls.deadlines().remove(*call);
  add({std::move(call), nullptr, until});
}

void HeldCalls::add(Held held) {
  Call& call = *held.call;
  call.place = CallPlace::held;
  call.ticket = ++begun_;
  services_.calls.index().add(call);
  if (held.until != TimePoint::max()) {
    due_.emplace(held.until, begun_);
    timer_.arm_by(held.until);
  }
  held_.emplace(begun_, std::move(held));
}

const Call* HeldCalls::next_at(uint8_t place, uint64_t last) const {
  for (auto held = held_.upper_bound(last); held != held_.end(); ++held) {
    const Held& one = held->second;
    if (one.call->at == place && one.request != nullptr) return one.call.get();
  }
  return nullptr;
}

HeldCalls::Held HeldCalls::take_out(Table::iterator held) {
  Held taken = std::move(held_.extract(held).mapped());
  due_.erase({taken.until, taken.call->ticket});
  taken.call->place = CallPlace::nowhere;
  if (taken.request == nullptr) return taken;
  --requests_;
  bytes_ -= taken.request->bytes();
  return taken;
}

HeldCalls::Held HeldCalls::take(const Call& call) {
  const auto held = held_.find(call.ticket);
  STDGATE_CHECK(held != held_.end() && held->second.call.get() == &call);
  return take_out(held);
}

CallPtr HeldCalls::take(session::Caller caller, std::string_view id) {
  const Call* const call = services_.calls.index().find(caller, id);
  const bool is_held = call != nullptr && call->place == CallPlace::held;
  return is_held ? std::move(take(*call).call) : nullptr;
}

std::vector<CallPtr> HeldCalls::take_all(const std::function<bool(const Call&)>& matches) {
  std::vector<CallPtr> taken;
  for (auto next = held_.begin(); next != held_.end();) {
    const auto held = next++;
    if (matches(*held->second.call)) taken.push_back(std::move(take_out(held).call));
  }
  return taken;
}

// The end of a call may end others that are due too.
void HeldCalls::look_at_time() {
  const TimePoint now = services_.clock.now();
  std::vector<uint64_t> tickets;
  for (const auto& [until, ticket] : due_) {
    if (until > now) break;
    tickets.push_back(ticket);
  }
  for (const uint64_t ticket : tickets) {
    const auto held = held_.find(ticket);
    if (held != held_.end()) on_due_(take_out(held));
  }
  if (!due_.empty()) timer_.arm(due_.begin()->first);
}

}  // namespace stdgate::call
