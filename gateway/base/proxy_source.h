// ProxySource: where a trusted proxy connects from: a block of IP addresses, or any Unix socket.
//
// A plain value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/client_address.h"

namespace stdgate {

class ProxySource {
 public:
  // "10.0.0.0/8", "2001:db8::1", "unix".
  static std::optional<ProxySource> parse(std::string_view text);
  [[nodiscard]] bool contains(const ClientAddress& peer) const {
    return block_ ? block_->contains(peer) : peer.kind == ClientAddress::Kind::unix_user;
  }
  // parse() reads it.
  [[nodiscard]] std::string to_string() const { return block_ ? block_->to_string() : "unix"; }

  friend bool operator==(const ProxySource&, const ProxySource&) = default;

 private:
  std::optional<AddressBlock> block_;  // nothing: Unix sockets
};

inline std::optional<ProxySource> ProxySource::parse(std::string_view text) {
  ProxySource source;
  if (text == "unix") return source;
  source.block_ = AddressBlock::parse(text);
  if (!source.block_) return std::nullopt;
  return source;
}

}  // namespace stdgate
