#include "gateway/call/trace_filter.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "gateway/base/check.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::call {

namespace {

// Keys of `_meta`, named like the header fields.
constexpr std::string_view kParent = "traceparent";
constexpr std::string_view kState = "tracestate";
constexpr std::string_view kBaggage = "baggage";

// Number of bits of a trace id, the last ones, that are compared with the ratio. Other tracers that
// sample by the id use the same bits, so all keep the same traces.
constexpr int kSampledBits = 56;

// The text between the quotes; empty: `raw` is no string.
std::string_view unquoted(std::string_view raw) {
  return raw.size() < 2 || raw.front() != '"' ? std::string_view() : raw.substr(1, raw.size() - 2);
}

// A member of an object that may be missing.
tl::expected<std::string_view, rpc::MemberError> member_of(
    const tl::expected<std::string_view, rpc::MemberError>& object, std::string_view key) {
  return object ? rpc::find_member(*object, key) : object;
}

tl::expected<std::string_view, rpc::MemberError> meta_of(std::string_view params) {
  if (params.empty()) return tl::unexpected(rpc::MemberError::absent);
  return rpc::find_member(params, "_meta");
}

// Adds the header's baggage, unless the message has its own.
void add_baggage(std::string& members, const Baggage& baggage,
                 const tl::expected<std::string_view, rpc::MemberError>& meta) {
  if (baggage.is_none()) return;
  const auto own = member_of(meta, kBaggage);
  if (own || own.error() == rpc::MemberError::duplicate) return;
  members.append(",\"").append(kBaggage).append("\":");
  rpc::append_json_string(members, baggage.text());
}

}  // namespace

void TraceFilter::State::clear() {
  clear_text(trace.state);
  trace.clear();
  span = 0;
}

void TraceFilter::begin(Call& call, const Arrival& arrival) {
  const TraceContext* const header = arrival.context.trace;
  State& state = states_.of(call.slots);
  if (header != nullptr) state.trace = *header;
  if (!is_on()) return;
  if (has_meta() && arrival.message != nullptr) read_meta(arrival.message->params, state.trace);
  if (state.trace.is_none()) begin_trace(state.trace);
  while (state.span == 0) state.span = random_();
}

void TraceFilter::on_end(const Call& call, End& end) {
  const State* const state = states_.find(call.slots);
  if (state == nullptr || end.record == nullptr) return;
  end.record->trace = state->trace.is_none() ? nullptr : &state->trace;
  end.record->span = state->span;
}

// `_meta` describes the call itself; the header may describe a request of several calls.
void TraceFilter::read_meta(std::string_view params, TraceContext& trace) {
  const auto meta = meta_of(params);
  const auto parent = member_of(meta, kParent);
  if (!parent) return;
  TraceContext found;
  if (!found.read(unquoted(*parent))) return;
  if (const auto state = member_of(meta, kState)) {
    found.add_state(rpc::decode_string(unquoted(*state), scratch_));
  }
  found.baggage = std::move(trace.baggage);  // the message's own baggage stays in place
  trace = std::move(found);
}

// A trace that is not recorded is passed on too, so that servers behind do not record a part of it.
void TraceFilter::begin_trace(TraceContext& trace) const {
  do {
    for (size_t at = 0; at < trace.trace_id.size(); at += sizeof(uint64_t)) {
      uint64_t bits = random_();
      for (size_t i = 0; i < sizeof(bits); ++i, bits >>= 8) {
        trace.trace_id[at + i] = static_cast<uint8_t>(bits);
      }
    }
  } while (trace.is_none());
  if (is_sampled(trace)) trace.flags = TraceContext::kSampled;
}

bool TraceFilter::is_sampled(const TraceContext& trace) const {
  uint64_t bits = 0;
  for (const uint8_t byte : std::span(trace.trace_id).last(kSampledBits / 8)) {
    bits = bits << 8 | byte;
  }
  return static_cast<double>(bits) >= std::ldexp(1 - traces_->sample, kSampledBits);
}

void TraceFilter::stamp(const rpc::Envelope& request, const Call& call, Outgoing& message) {
  const State* const state = states_.find(call.slots);
  if (state == nullptr) return;
  const TraceContext& trace = state->trace;
  const TraceParentText parent(trace, state->span);
  const auto meta = meta_of(request.params);
  const auto former = member_of(meta, kParent);
  const size_t others = message.inserted.size();
  STDGATE_CHECK(others < insertions_.size());
  std::ranges::copy(message.inserted, insertions_.begin() + 1);
  Insertion& next = insertions_[1];
  members_.clear();
  if (former) {
    members_.append("\"").append(parent.view()).append("\"");
    add_baggage(members_, trace.baggage, meta);
    const TextPlace place = place_of(*former, request.text);
    insertions_[0] = {place.offset, {}, members_, {}, place.length};
  } else {
    members_.append("\"").append(kParent).append("\":\"").append(parent.view()).append("\"");
    if (!trace.state.empty() && !member_of(meta, kState)) {
      members_.append(",\"").append(kState).append("\":");
      rpc::append_json_string(members_, trace.state);
    }
    add_baggage(members_, trace.baggage, meta);
    const auto insertion = insertion_at(InsertionPlace::meta, request, members_);
    if (!insertion || former.error() == rpc::MemberError::duplicate) return;
    insertions_[0] = *insertion;
    if (others > 0 && next.empties) {
      // No comma may follow.
      insertions_[0].only_for = PeerKind::stateless;
      next.members = members_;
    } else if (others > 0 && next.only_for == PeerKind::stateless) {
      // Both insertions would create the missing object, so only one of them may apply.
      insertions_[0].only_for = PeerKind::stateful;
      stamped_.assign(members_).append(",").append(next.members);
      next.members = stamped_;
    }
  }
  message.inserted = std::span(insertions_).first(others + 1);
}

}  // namespace stdgate::call
