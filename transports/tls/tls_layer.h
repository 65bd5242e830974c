// TlsLayer: the TLS of one listener: makes the streams of its connections, and takes over
// certificate files that change on disk.
//
// The files are looked at every kWatch. A file that differs from what is in use is read at the next
// look, if it has not changed since, so that certificate and key may be replaced one after the
// other. Connections keep what they began with. Files that cannot be used change nothing, and are
// logged once. Owner: the worker; outlives the listener and the use of its streams. Limit:
// kFailureLines a second of log lines that clients can cause.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/audit.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "transports/net/file_stamps.h"
#include "transports/net/stream.h"
#include "transports/tls/tls_context.h"
#include "transports/tls/tls_stream.h"

namespace stdgate::tls {

struct TlsLayerServices {
  net::Loop& loop;
  Log& log;
  Observer& observer;
  const WallClock& wall_clock;
  Handshakes& handshakes;
  const Duration& handshake_timeout;  // may change
  Audit* audit = nullptr;             // null: none
};

class TlsLayer final : private TlsEvents {
 public:
  static constexpr Duration kWatch = std::chrono::seconds(1);
  static constexpr uint32_t kFailureLines = 10;
  static constexpr size_t kPlainBuffer = 64 << 10;

  // `listener` is its address, for logs.
  static tl::expected<std::unique_ptr<TlsLayer>, TlsError> open(const TlsLayerServices& services,
                                                                std::string listener,
                                                                const config::TlsConfig& config);

  // The stream that a connection sees over `stream`, which is unread.
  std::unique_ptr<net::Stream> wrap(std::unique_ptr<net::Stream> stream,
                                    const ClientAddress& client);

  // No new connections come: the files are not looked at any more.
  void retire() { watch_timer_.disarm(); }

  [[nodiscard]] const std::string& listener() const { return listener_; }
  [[nodiscard]] const config::TlsConfig& config() const { return config_; }
  // The certificates in use.
  [[nodiscard]] const std::vector<CertificateFacts>& certificates() const {
    return context_->certificates();
  }

 private:
  TlsLayer(const TlsLayerServices& services, std::string listener, const config::TlsConfig& config);

  void on_handshake_failed(HandshakeFailure reason, std::string_view detail,
                           const ClientAddress& client) override;
  void watch();
  void reload();
  void warn() const;

  const TlsLayerServices services_;
  const std::string listener_;
  const config::TlsConfig config_;
  const std::vector<std::string> files_;
  const std::unique_ptr<char[]> plain_buffer_;
  std::shared_ptr<const TlsContext> context_;
  net::FileStamps used_;  // of the files that were read last, whether they could be used or not
  net::FileStamps seen_;  // when they were looked at last
  Timer watch_timer_;
  RateLimit failure_lines_{kFailureLines};
};

}  // namespace stdgate::tls
