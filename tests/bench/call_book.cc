#include "tests/bench/call_book.h"

#include <charconv>
#include <utility>

namespace stdgate::bench {
namespace {

std::string shown(std::string_view message) {
  constexpr size_t kMost = 200;
  std::string text(message.substr(0, kMost));
  if (message.size() > kMost) text += "… (" + std::to_string(message.size()) + " bytes)";
  return text;
}

}  // namespace

CallBook::CallBook(CallText text, size_t in_flight, Tally& tally)
    : text_(std::move(text)), answer_(text_.answer()), slots_(in_flight), tally_(tally) {
  for (size_t slot = 0; slot < in_flight; ++slot) slots_[slot].id = kFirstId + slot;
}

IdText CallBook::open(size_t slot, Instant now) {
  Slot& call = slots_[slot];
  call.id += slots_.size();
  if (call.id > kLastId) call.id = kFirstId + slot;
  call.sent = now;
  call.open = true;
  ++tally_.open;
  return write_id(call.id);
}

std::optional<size_t> CallBook::slot_of(std::string_view id) const {
  uint64_t number = 0;
  const auto read = std::from_chars(id.data(), id.data() + id.size(), number);
  if (id.size() != kIdDigits || read.ptr != id.data() + id.size() || number < kFirstId) return {};
  const size_t slot = (number - kFirstId) % slots_.size();
  if (!slots_[slot].open || slots_[slot].id != number) return {};
  return slot;
}

std::optional<size_t> CallBook::close(std::span<char> message, Instant now) {
  const std::string_view text(message.data(), message.size());
  for (const NumberedText& expected : text_.answers()) {
    if (text.size() != expected.bytes.size()) continue;
    const std::string_view id = text.substr(expected.places[0], kIdDigits);
    if (const auto slot = slot_of(id); slot && expected.equals(text, write_id(slots_[*slot].id))) {
      slots_[*slot].open = false;
      tally_.add_result(slots_[*slot].sent, now, text.size());
      return slot;
    }
  }
  return close_parsed(message, now);
}

std::optional<size_t> CallBook::close_parsed(std::span<char> message, Instant now) {
  const std::string_view text(message.data(), message.size());
  const auto document = parser_.parse(message);
  if (!document || document->batch || !document->messages[0].ok()) {
    tally_.add_error("no JSON-RPC message: " + shown(text));
    return {};
  }
  const rpc::Envelope& envelope = document->messages[0].envelope;
  // A notification of the server answers no call.
  if (envelope.kind == rpc::MessageKind::notification) return {};
  const auto slot = slot_of(envelope.id);
  if (!slot) {
    tally_.add_error("not the id of a call in flight: " + shown(text));
    return {};
  }
  Slot& call = slots_[*slot];
  call.open = false;
  if (envelope.kind == rpc::MessageKind::error) {
    tally_.add_fault(call.sent, now, rpc::error_code(envelope).value_or(0));
  } else if (is_result(envelope.payload, write_id(call.id))) {
    tally_.add_result(call.sent, now, text.size());
  } else {
    tally_.add_error("not the payload: " + shown(text));
    tally_.add_answer(call.sent, now, false);
  }
  return slot;
}

void CallBook::close_unread(size_t slot, Instant now, size_t size) {
  slots_[slot].open = false;
  tally_.add_result(slots_[slot].sent, now, size);
}

void CallBook::abandon(size_t slot, Instant now) {
  slots_[slot].open = false;
  tally_.add_answer(slots_[slot].sent, now, false);
}

// Whether the result is the expected text. Some gateways rewrite JSON, so a result that has the
// payload as a whole string is accepted too.
bool CallBook::is_result(std::string_view payload, const IdText& id) {
  answer_.patch(id);
  const std::string_view expected = answer_.bytes;
  const size_t begin = text_.result_begin();
  if (payload == expected.substr(begin, expected.size() - begin - 1)) return true;
  return payload.find(text_.payload_of(expected)) != std::string_view::npos &&
         payload.find(text_.demanded()) != std::string_view::npos;
}

}  // namespace stdgate::bench
