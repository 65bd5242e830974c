// Forwarded: where a request comes from that a trusted proxy has passed on (RFC 7239;
// X-Forwarded-For and X-Forwarded-Proto, which have no specification).
//
// Pure. The headers are read from their end, where the nearest proxy has written, up to the first
// address that is no trusted proxy. The text before it is the client's own word, and is not even
// read. If anything up to that point is malformed, neither header is believed. If the two headers
// name different clients, neither is believed: one of them came through a proxy that does not write
// it.
#pragma once

#include <optional>
#include <span>

#include "gateway/base/addresses.h"
#include "transports/http/request_head.h"

namespace stdgate::http {

// Entries that are looked at; a longer chain of proxies is not believed.
inline constexpr size_t kMaxHops = 32;

struct Provenance {
  ClientAddress client{};
  std::optional<bool> is_secure{};  // what the client spoke with the first proxy; nothing: not said

  friend bool operator==(const Provenance&, const Provenance&) = default;
};

// `peer` has sent it. A peer that is not trusted is the client.
Provenance provenance(const RequestHead& head, const ClientAddress& peer,
                      std::span<const ProxySource> trusted);

}  // namespace stdgate::http
