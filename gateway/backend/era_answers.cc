#include "gateway/backend/era_answers.h"

namespace stdgate::backend {

void EraAnswers::on_answer(call::CallPtr& call, call::Answer& answer) {
  const bool is_modern = call->client_era == Era::modern;
  if (!call->child_era || is_modern == (call->child_era == Era::modern)) return;
  rpc::Envelope seen = answer.message;
  seen.payload = answer.payload;
  call->bridged = ",";
  if (!dialect_.bridge(seen, call->method_name, is_modern ? Era::modern : Era::legacy,
                       call->memo_text, call->bridged)) {
    return;
  }
  call->bridged += '}';
  answer.tail = call->bridged;
}

}  // namespace stdgate::backend
