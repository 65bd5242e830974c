#include "gateway/backend/session_questions.h"

#include <memory>
#include <utility>

#include "gateway/pool/dialect.h"
#include "gateway/pool/session_memory.h"

namespace stdgate::backend {

void SessionQuestions::note_greeting(session::Session& session, std::string_view greeting) const {
  const pool::InputDialect* const input = services_.dialect.input();
  const bool is_shared = services_.config.isolation == config::Isolation::shared;
  if (!is_shared || input == nullptr || greeting.size() > pool::SessionMemory::kMaxGreeting) return;
  session.greeting = input->is_askable(greeting) ? greeting : std::string_view();
  session.stamp = services_.dialect.session_stamp(greeting);
  session.stamp_of_client = session.stamp.size();
  note_severity(session);
}

void SessionQuestions::note_severity(session::Session& session) const {
  if (session.stamp.empty()) return;
  session.stamp.resize(session.stamp_of_client);
  // A modern child logs nothing for a request without a level; legacy ones log if none was set.
  const auto severity = session.severity.value_or(session::LogVerbosity::kDefault);
  session.stamp.append(",").append(services_.dialect.severity_stamp(severity));
}

bool SessionQuestions::ask(session::Session& session, session::Ask ask,
                           std::optional<session::Tag> call, const rpc::Envelope& request) const {
  if (session.asks == nullptr) {
    session.asks = std::make_unique<rpc::Correlator<session::Ask>>(session::Session::kMaxAsks);
  }
  const auto id = session.asks->open(std::move(ask));
  if (!id) return false;
  const std::string digits = std::to_string(*id);
  const auto parts = with_replaced(request.text, place_of(request.id, request.text), digits);
  services_.core.observer.on_message(services_.backend, Direction::to_client, parts);
  session.sink->on_message(call, parts);
  return true;
}

void SessionQuestions::withdraw(session::Session& session, uint64_t round) const {
  if (session.asks == nullptr) return;
  rpc::Correlator<session::Ask>& asks = *session.asks;
  for (auto ask = asks.oldest(); ask;) {
    const auto next = asks.next(*ask);
    if (asks.at(*ask).round == round) {
      asks.close(*ask);
      const std::string cancel = services_.dialect.cancel(*ask, pool::CancelReason::deadline);
      const std::string_view text = cancel;
      if (!text.empty()) {
        services_.core.observer.on_message(services_.backend, Direction::to_client, {&text, 1});
        session.sink->on_message(std::nullopt, {&text, 1});
      }
    }
    ask = next;
  }
}

}  // namespace stdgate::backend
