#include "gateway/backend/era_answers.h"

namespace stdgate::backend {

void EraAnswers::translate(call::Call& call, Era client, call::Answer& answer) const {
  rpc::Envelope seen = answer.message;
  seen.payload = answer.payload;
  call.bridged = ",";
  if (!dialect_.bridge(seen, call.method_name, client, call.memo_text, call.bridged)) return;
  call.bridged += '}';
  answer.tail = call.bridged;
}

}  // namespace stdgate::backend
