// EraAnswers: what a child of one era has answered, as a client of the other one expects it.
//
// Owner: the backend.
#pragma once

#include "gateway/call/filter.h"
#include "gateway/pool/dialect.h"

namespace stdgate::backend {

class EraAnswers final : public call::Filter {
 public:
  explicit EraAnswers(const pool::Dialect& dialect) : dialect_(dialect) {}

  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    const Era client = call->client_era.value_or(Era::legacy);
    if (call->child_era && *call->child_era != client) translate(*call, client, answer);
  }

 private:
  void translate(call::Call& call, Era client, call::Answer& answer) const;

  const pool::Dialect& dialect_;
};

}  // namespace stdgate::backend
