#include "transports/http/client_connection.h"

#include <utility>

#include "transports/http/server.h"

namespace stdgate::http {

ConnectionMeter::ConnectionMeter(Server& server, ConnectionKind kind,
                                 std::function<void()> on_timer)
    : server_(server),
      loop_(server.services().loop),
      timer_(server.services().loop.timers(), std::move(on_timer)),
      kind_(kind) {}

void ConnectionMeter::open(net::Stream& stream) {
  stream_ = &stream;
  stream_->set_payer(payer());
  taking_.begin_later(now());
  written_reported_ = stream.bytes_written();
}

bool ConnectionMeter::take_share() {
  const auto turn = static_cast<uint16_t>(loop_.turn());
  if (std::exchange(turn_of_share_, turn) == turn) return false;
  left_of_share_ = kTurnShare;
  return true;
}

void ConnectionMeter::note_read(size_t count) {
  server_.services().observer.on_bytes(kind_, Flow::in, count);
  report_written();
}

void ConnectionMeter::report_written() {
  const uint64_t written = stream_->bytes_written();
  if (written == written_reported_) return;
  server_.services().observer.on_bytes(kind_, Flow::out,
                                       written - std::exchange(written_reported_, written));
}

void ConnectionMeter::set_payer(const Payer& payer) {
  held_.move_to(payer);
  if (stream_ != nullptr) stream_->set_payer(payer);
}

void ConnectionMeter::charge_to(const policy::PrincipalRef& principal, const ClientAddress& origin,
                                HeldBytes* held) {
  HttpServices& services = server_.services();
  if (held == nullptr) held = &services.accounts.unrouted();
  const bool is_same = principal.get() == paying_.get() && held == payer().held;
  if (is_same && services.proxies().empty()) return;
  paying_ = principal;
  set_payer({services.accounts.of({principal.get(), origin}).get(), held});
}

MemoryLack ConnectionMeter::lack_after_relief() {
  if (lack() != MemoryLack::none) server_.relieve();
  return lack();
}

HeldMemory ConnectionMeter::held_memory(std::optional<TimePoint> receiving_since) const {
  if (stream_->unsent_bytes() > 0) {
    return {held() + stream_->unsent_memory(), stream_->waiting_since()};
  }
  if (receiving_since) return {held(), *receiving_since};
  return {};
}

bool ConnectionMeter::takes_too_little(Duration patience) {
  return stream_->unsent_bytes() > 0 &&
         taking_.is_slow(now(), patience, server_.services().limits.min_rate,
                         [this] { return stream_->bytes_taken(); });
}

void ConnectionMeter::close() {
  timer_.disarm();
  hold(0);
  report_written();
}

}  // namespace stdgate::http
