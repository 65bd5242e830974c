// The keys of `tls`, at the top and of a listener.
#pragma once

#include <array>

#include "gateway/config/options/option.h"

namespace stdgate::config {

inline constexpr auto kTlsOptions = std::to_array<Option<TlsConfig>>({
    {.key = "certificate",
     .type = Paths{&TlsConfig::certificate, {1, kMaxCertificates}},
     .flag = {.name = "--tls-certificate",
              .placeholder = "FILE",
              .help = "clients speak TLS; the certificate with its chain, in PEM"},
     .help = "the certificate, with its chain behind it, in PEM",
     .details = "Of several certificates, each client gets the one with the name that it asks for "
                "(SNI), or the first. Files that change on disk are read again.",
     .missing = "name the file of the certificate"},
    {.key = "key",
     .type = Paths{&TlsConfig::key, {1, kMaxCertificates}},
     .flag = {.name = "--tls-key", .placeholder = "FILE", .help = "its private key, in PEM"},
     .help = "the private key of each certificate, in the same order, in PEM",
     .missing = "name the file of the certificate's private key"},
    {.key = "client_ca",
     .type = Text{&TlsConfig::client_ca, EmptyText::left_out, TextKind::path},
     .flag = {.name = "--client-ca",
              .placeholder = "FILE",
              .help = "clients need a certificate of one of these authorities, in PEM"},
     .help = "file with the authorities whose certificates are accepted from clients, in PEM"},
    {.key = "client_certificate",
     .type = Word{&TlsConfig::client_certificate},
     .help = "whether a client needs a certificate",
     .details = "With `optional` it needs none, but a bad one is refused.",
     .default_words = "`require` with `client_ca`, otherwise `none`",
     .applies = [](const TlsConfig& tls) { return !tls.client_ca.empty(); }},
    {.key = "crl",
     .type = Text{&TlsConfig::crl, EmptyText::left_out, TextKind::path},
     .help = "file with the revocation lists of all authorities in client_ca, in PEM"},
});

template <>
struct OptionsOf<TlsConfig> {
  static constexpr std::span<const Option<TlsConfig>> kRows = kTlsOptions;
  static constexpr std::string_view kTitle = "TLS";
};

}  // namespace stdgate::config
