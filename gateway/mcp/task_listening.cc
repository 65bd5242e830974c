#include "gateway/mcp/task_listening.h"

#include <algorithm>
#include <utility>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/pool/pool.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {

namespace {

constexpr std::string_view kListenedWishes = "notifications";

// The text between the brackets of an array; empty for any other value.
std::string_view elements_of(std::string_view array) {
  if (!array.starts_with('[')) return {};
  array = array.substr(1, array.size() - 2);
  const size_t first = array.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : array;
}

// Whether anything except tasks is wanted.
bool wants_more(std::string_view wishes) {
  rpc::JsonCursor cursor(wishes);
  if (!cursor.take('{') || cursor.take('}')) return false;
  do {
    const std::string_view key = cursor.take_string();
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    const bool is_wish = value == "true" || !elements_of(value).empty();
    if (is_wish && !rpc::json_string_equals(rpc::string_content(key), kTasksWish)) return true;
  } while (cursor.take(','));
  return false;
}

// The acknowledgement, with these tasks added.
std::string with_agreed(const rpc::Envelope& acknowledgement, const std::string& agreed) {
  const std::string_view wishes = rpc::member_or_empty(acknowledgement.params, kListenedWishes);
  if (agreed.empty() || !wishes.starts_with('{')) return std::string(acknowledgement.text);
  const std::string_view tasks = rpc::member_or_empty(wishes, kTasksWish);
  if (tasks.starts_with('[')) {
    const std::string_view own = elements_of(tasks);
    const std::string all = "[" + std::string(own) + (own.empty() ? "" : ",") + agreed + "]";
    const TextEdit edit{tasks, all};
    return with_edits(acknowledgement.text, {&edit, 1});
  }
  const bool is_empty = wishes.find_first_not_of(" \t\r\n", 1) == wishes.size() - 1;
  const TextEdit edit{wishes.substr(0, 1), R"({"taskIds":[)" + agreed + (is_empty ? "]" : "],")};
  return with_edits(acknowledgement.text, {&edit, 1});
}

bool names_related_task(const rpc::Envelope& request) {
  return std::ranges::any_of(
      claims_of_request(request.params, kListenMethod),
      [](const Claim& claim) { return claim.kind == ClaimKind::task && !claim.is_listened; });
}

}  // namespace

TaskListening::TaskListening(const pool::FilterServices& services, const call::Filter& owner)
    : services_(services.services),
      pool_(services.pool),
      chain_(services.services.chain),
      owner_(owner),
      next_(services.next),
      timer_(services.services.core.timers, [this] { look_at_time(); }) {}

TimePoint TaskListening::now() const { return services_.core.clock.now(); }

// --- Calls ----------------------------------------------------------------------------------

void TaskListening::begin(const call::Call& call, std::vector<Part> parts, const Payer& payer) {
  Stream& stream = streams_[&call];
  stream.call = &call;
  stream.memory.move_to(payer);
  stream.due = now() + kPatience;
  timer_.arm_by(stream.due);
  for (Part& part : parts) submit(stream, std::move(part));
}

// The call is treated as a client's call, but the observer does not hear of it.
void TaskListening::submit(Stream& stream, Part part) {
  call::CallPtr call = services_.calls.take();
  call->request = std::move(part.request);
  const rpc::KnownMessage known(call->request);
  const rpc::Envelope& request = known.envelope();
  call->id = request.id;
  call->method_name = kListenMethod;
  call->caller = session::Callers::kGateway;
  call->client_kind = PeerKind::stateless;
  call->transport = Transport::mcp;
  call->arrived = now();
  call->progress_token = call->id;
  call->identity = stream.call->identity;
  call->listens = call->is_own = true;
  call->route = {part.child, true, {}};
  const std::string text = call->request;  // the call may end before it has been written
  call::Outgoing message(request);
  message.text = text;
  message.account = stream.memory.account();
  call->charge(stream.memory.payer());
  call::Call* const side = call.get();
  clients_[side] = stream.call;
  stream.sides.push_back({side, false});
  if (pool_.submit(call, message)) return;
  clients_.erase(side);
  std::erase_if(stream.sides, [side](const Side& one) { return one.call == side; });
}

void TaskListening::note_end(const call::Call& call) {
  if (const auto stream = streams_.find(&call); stream != streams_.end()) {
    const Stream ended = std::move(stream->second);
    streams_.erase(stream);
    return end_sides(ended.sides);
  }
  std::erase(leaving_, &call);
  const auto client = clients_.find(&call);
  if (client == clients_.end()) return;
  Stream& stream = streams_.at(client->second);
  clients_.erase(client);
  std::erase_if(stream.sides, [&call](const Side& side) { return side.call == &call; });
  begin_if_settled(stream);
}

// The end of a call may end other calls and their streams, so the entries are removed first.
void TaskListening::end_sides(const std::vector<Side>& sides) {
  for (const Side& side : sides) {
    clients_.erase(side.call);
    leaving_.push_back(side.call);
  }
  while (!leaving_.empty()) {
    call::Call& call = *leaving_.back();
    leaving_.pop_back();
    if (call.place == call::CallPlace::nowhere) continue;  // it is about to end
    static_cast<void>(pool_.take(call, pool::CancelReason::client_left));
  }
}

std::optional<std::string> TaskListening::without_child(const call::Call& call) const {
  if (clients_.contains(&call)) return std::nullopt;
  std::string text = call.request;
  const rpc::KnownMessage known(text);
  const rpc::Envelope& request = known.envelope();
  // A related task in the request belongs to the child that has gone.
  if (names_related_task(request)) return std::nullopt;
  const auto stream = streams_.find(&call);
  const bool has_others = stream != streams_.end() && !stream->second.sides.empty();
  if (!has_others && !wants_more(rpc::member_or_empty(request.params, kListenedWishes))) {
    return std::nullopt;
  }
  const auto edit = with_tasks(request, {}, false);
  return edit ? with_edits(request.text, {&*edit, 1}) : std::string(request.text);
}

std::optional<TextEdit> TaskListening::with_tasks(const rpc::Envelope& request,
                                                  std::string_view tasks, bool only) {
  const rpc::Member wishes = rpc::find_clear_member(request.params, kListenedWishes);
  const rpc::Member part = only ? wishes : tasks_of(request);
  if (!part) return std::nullopt;
  const std::string list = "[" + std::string(tasks) + "]";
  return TextEdit{*part, only ? R"({"taskIds":)" + list + "}" : list};
}

rpc::Member TaskListening::tasks_of(const rpc::Envelope& request) {
  const rpc::Member wishes = rpc::find_clear_member(request.params, kListenedWishes);
  return wishes ? rpc::find_clear_member(*wishes, kTasksWish) : wishes;
}

// --- Events ---------------------------------------------------------------------------------

TaskListening::Stream* TaskListening::stream_of(const call::Call& call) {
  const auto client = clients_.find(&call);
  const auto stream = streams_.find(client == clients_.end() ? &call : client->second);
  return stream == streams_.end() ? nullptr : &stream->second;
}

bool TaskListening::take_event(const call::Call& call, const rpc::Envelope& event) {
  if (streams_.empty()) return false;
  Stream* const stream = stream_of(call);
  if (stream == nullptr) return false;
  if (rpc::json_string_equals(event.method, "notifications/subscriptions/acknowledged")) {
    note_acknowledged(*stream, call, event);
  } else if (stream->has_begun) {
    pass(*stream, std::string(event.text));
  } else if (stream->held.size() < kMaxHeld && has_room(*stream, event.text.size())) {
    stream->held.emplace_back(event.text);
    stream->held_bytes += event.text.size();
    stream->memory.add(sizeof(std::string) + stream->held.back().capacity());
  } else {
    services_.drop(DropReason::outbox_full);
  }
  return true;
}

void TaskListening::note_acknowledged(Stream& stream, const call::Call& call,
                                      const rpc::Envelope& event) {
  if (&call == stream.call) {
    if (stream.has_begun) return;
    stream.acknowledgement = event.text;
    stream.memory.add(event.text.size());
    return begin_if_settled(stream);
  }
  const auto side = std::ranges::find(stream.sides, &call, &Side::call);
  if (side == stream.sides.end() || std::exchange(side->is_settled, true)) return;
  const std::string_view agreed = elements_of(
      rpc::member_or_empty(rpc::member_or_empty(event.params, kListenedWishes), kTasksWish));
  if (!agreed.empty() && has_room(stream, agreed.size())) {
    stream.agreed.append(stream.agreed.empty() ? "" : ",").append(agreed);
    stream.held_bytes += agreed.size();
    stream.memory.add(agreed.size());
  }
  begin_if_settled(stream);
}

void TaskListening::begin_if_settled(Stream& stream) {
  const bool is_due = std::ranges::any_of(stream.sides, std::not_fn(&Side::is_settled));
  if (stream.has_begun || !stream.acknowledgement || is_due) return;
  stream.has_begun = true;
  std::string text = *std::exchange(stream.acknowledgement, std::nullopt);
  const rpc::KnownMessage known(text);
  const call::Call* const client = stream.call;
  std::vector<std::string> held = std::exchange(stream.held, {});
  held.insert(held.begin(), with_agreed(known.envelope(), std::exchange(stream.agreed, {})));
  stream.memory.set(0);
  for (std::string& event : held) {
    // The receiver may end the call.
    const auto still = streams_.find(client);
    if (still == streams_.end()) return;
    pass(still->second, std::move(event));
  }
}

// The event names the stream of the call that received it; it has to name the client's.
void TaskListening::pass(const Stream& stream, std::string text) {
  const rpc::KnownMessage known(text);
  const rpc::Envelope& event = known.envelope();
  std::string scratch;
  const std::string_view method = event.decoded_method(scratch);
  const std::string_view tag = services_.dialect.progress_token(event, method);
  const call::Call& call = *stream.call;
  call::ChildMessage message(event, method, {call.child, call.child_kind}, &call,
                             place_of(tag, event.text));
  if (!chain_.pass(message, &owner_)) return;
  next_.on_event(call, message.message(), message.progress_token());
}

void TaskListening::look_at_time() {
  std::optional<TimePoint> next;
  std::vector<const call::Call*> late;
  for (const auto& [call, stream] : streams_) {
    if (stream.has_begun) continue;
    if (stream.due <= now()) {
      late.push_back(call);
    } else {
      next = std::min(next.value_or(stream.due), stream.due);
    }
  }
  if (next) timer_.arm(*next);
  for (const call::Call* const call : late) {
    auto stream = streams_.find(call);
    if (stream == streams_.end()) continue;
    std::vector<Side> given_up;
    std::erase_if(stream->second.sides, [&given_up](const Side& side) {
      if (!side.is_settled) given_up.push_back(side);
      return !side.is_settled;
    });
    end_sides(given_up);
    stream = streams_.find(call);
    if (stream != streams_.end()) begin_if_settled(stream->second);
  }
}

}  // namespace stdgate::mcp
