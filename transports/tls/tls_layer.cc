#include "transports/tls/tls_layer.h"

#include <utility>
#include <variant>

namespace stdgate::tls {

namespace {

std::vector<std::string> files_of(const config::TlsConfig& config) {
  std::vector<std::string> files = config.certificate;
  files.insert(files.end(), config.key.begin(), config.key.end());
  for (const std::string& file : {config.client_ca, config.crl}) {
    if (!file.empty()) files.push_back(file);
  }
  return files;
}

}  // namespace

tl::expected<std::unique_ptr<TlsLayer>, TlsError> TlsLayer::open(const TlsLayerServices& services,
                                                                 std::string listener,
                                                                 const config::TlsConfig& config) {
  std::unique_ptr<TlsLayer> layer(new TlsLayer(services, std::move(listener), config));
  // First: what changes while the files are read is seen later.
  layer->used_ = layer->seen_ = net::stamps_of(layer->files_);
  auto context = TlsContext::load(config);
  if (!context) return tl::unexpected(std::move(context.error()));
  layer->context_ = *std::move(context);
  layer->warn();
  layer->watch_timer_.arm(services.loop.now() + kWatch);
  return layer;
}

TlsLayer::TlsLayer(const TlsLayerServices& services, std::string listener,
                   const config::TlsConfig& config)
    : services_(services),
      listener_(std::move(listener)),
      config_(config),
      files_(files_of(config)),
      plain_buffer_(new char[kPlainBuffer]),
      watch_timer_(services.loop.timers(), [this] { watch(); }) {}

std::unique_ptr<net::Stream> TlsLayer::wrap(std::unique_ptr<net::Stream> stream,
                                            const ClientAddress& client) {
  const TlsStreamServices services{services_.loop,
                                   services_.handshakes,
                                   services_.handshake_timeout,
                                   {plain_buffer_.get(), kPlainBuffer}};
  TlsEvents& events = *this;
  return std::make_unique<TlsStream>(services, context_, events, std::move(stream), client);
}

void TlsLayer::on_handshake_failed(HandshakeFailure reason, std::string_view detail,
                                   const ClientAddress& client) {
  services_.observer.on_handshake_failed(reason);
  if (services_.audit != nullptr && is_refusal_of_certificate(reason)) {
    services_.audit->on_handshake_refused({client, listener_, reason, detail});
  }
  if (!services_.log.enabled(LogLevel::info)) return;
  if (!failure_lines_.allow(services_.loop.now())) return;
  const std::string address = client.to_string();
  using Value = decltype(LogField::value);
  services_.log.write(LogLevel::info, "TLS handshake failed",
                      {{"reason", handshake_failure_name(reason)},
                       {"detail", detail.empty() ? Value() : Value(detail)},
                       {"client", std::string_view(address)},
                       {"port", uint64_t{client.port}},
                       {"listener", std::string_view(listener_)},
                       {"suppressed", failure_lines_.take_suppressed()}});
}

void TlsLayer::warn() const {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      services_.wall_clock.at(services_.loop.now()).time_since_epoch());
  for (const std::string& line : context_->warnings(now.count())) {
    services_.log.write(
        LogLevel::warn, "TLS files are not valid now",
        {{"detail", std::string_view(line)}, {"listener", std::string_view(listener_)}});
  }
}

void TlsLayer::watch() {
  net::FileStamps present = net::stamps_of(files_);
  const bool has_settled = present == seen_;
  seen_ = std::move(present);
  if (has_settled && seen_ != used_) reload();
  watch_timer_.arm(services_.loop.now() + kWatch);
}

void TlsLayer::reload() {
  used_ = seen_;
  auto context = TlsContext::load(config_);
  if (!context) {
    services_.log.write(LogLevel::error, "TLS files cannot be reloaded",
                        {{"error", std::string_view(context.error().message)},
                         {"listener", std::string_view(listener_)}});
    return;
  }
  context_ = *std::move(context);
  services_.log.write(LogLevel::info, "TLS files reloaded",
                      {{"certificate", std::string_view(certificates().front().file)},
                       {"listener", std::string_view(listener_)}});
  warn();
}

}  // namespace stdgate::tls
