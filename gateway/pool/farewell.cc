#include "gateway/pool/farewell.h"

namespace stdgate::pool {

bool Farewell::begin(rpc::WireId id, ChildLink& link) {
  const std::string text = services_.dialect.shutdown_request(id);
  if (text.empty()) return false;
  link_ = &link;
  request_ = id;
  input_.write_text(text);
  timer_.arm(services_.core.clock.now() + services_.config.pool.grace / 3);
  return true;
}

void Farewell::finish() {
  request_.reset();
  timer_.disarm();
  input_.write_text(services_.dialect.traits().exit);
  link_->end(services_.config.pool.grace / 3);
}

}  // namespace stdgate::pool
