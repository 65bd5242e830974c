#include "gateway/pool/era_verdict.h"

namespace stdgate::pool {

EraVerdict::EraVerdict(config::Revision revision) : revision_(revision) {
  if (revision == config::Revision::legacy) era_ = Era::legacy;
  if (revision == config::Revision::modern) era_ = Era::modern;
}

Greeting EraVerdict::greeting() const {
  if (!era_) return Greeting::probe;
  return *era_ == Era::modern ? Greeting::modern : Greeting::legacy;
}

bool EraVerdict::learn(Era era) {
  if (revision_ != config::Revision::automatic || era_ == era) return false;
  era_ = era;
  return true;
}

bool EraVerdict::excuses(Greeting greeting, StartFailure failure) {
  if (revision_ != config::Revision::automatic) return false;
  if (greeting == Greeting::probe) {
    era_ = Era::legacy;
    return failure == StartFailure::while_asked;
  }
  if (failure == StartFailure::refused) era_.reset();
  return false;
}

}  // namespace stdgate::pool
