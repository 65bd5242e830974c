#include "gateway/session/session.h"

#include <utility>
#include <vector>

namespace stdgate::session {

namespace {

size_t bytes_of(const Ask& ask) {
  size_t bytes = sizeof(Ask) + ask.id.capacity();
  if (const AskNotes* const notes = ask.notes.get()) {
    // The option is known when the request ends.
    bytes += sizeof(AskNotes) + notes->method.capacity() + notes->of_session.capacity() +
             notes->title.capacity();
  }
  return bytes;
}

}  // namespace

std::optional<AskIndex::Place> AskIndex::find(uint64_t child, std::string_view id) const {
  const auto found = entries_.lower_bound(Key{child, id, 0, nullptr});
  const bool is_it = found != entries_.end() && found->ask->child == child && found->ask->id == id;
  return is_it ? std::optional(found->place) : std::nullopt;
}

void AskIndex::lose_child(uint64_t child) {
  while (true) {
    const auto first = entries_.lower_bound(Key{child, {}, 0, nullptr});
    if (first == entries_.end() || first->ask->child != child) return;
    const Place place = first->place;
    place.asks->close(place.id, QuestionEnd::lost);
  }
}

Asks::Asks(AskIndex& index, Session& session)
    : index_(index),
      session_(session),
      asks_(kMaxAsks),
      held_(session.held.payer(), Holding::sessions) {}

Asks::~Asks() {
  while (const auto id = oldest()) close(*id, QuestionEnd::left);
}

// A question of InputRounds belongs to no child, so the index does not have it.
std::optional<rpc::WireId> Asks::open(Ask ask) {
  if (held_.lack() != MemoryLack::none) return std::nullopt;
  const size_t bytes = bytes_of(ask);
  ask.bytes = bytes;
  const auto id = asks_.open(std::move(ask));
  if (id) held_.add(bytes);
  if (id && at(*id).round == 0) index_.entries_.insert({&at(*id), {this, *id}});
  return id;
}

Ask Asks::close(rpc::WireId id, QuestionEnd end) {
  const Ask& ask = at(id);
  if (index_.on_ended_) index_.on_ended_(ask, end);
  if (ask.round == 0) index_.entries_.erase({&ask, {this, id}});
  held_.set(held_.bytes() - ask.bytes);
  return asks_.close(id);
}

std::optional<SessionId> SessionTable::open(SessionKind kind) {
  if (size(kind) >= limits_[index_of(kind)]) return std::nullopt;
  const auto id = sessions_.acquire();
  STDGATE_CHECK(id.has_value());
  ++counts_[index_of(kind)];
  Session& session = *sessions_.find(*id);
  session = {};
  session.id = *id;
  session.kind = kind;
  return id;
}

void SessionTable::close(SessionId id) {
  Session& session = *sessions_.find(id);
  --counts_[index_of(session.kind)];
  static_cast<void>(std::exchange(session, {}));  // an assignment would keep its texts' memory
  sessions_.release(id);
}

}  // namespace stdgate::session
