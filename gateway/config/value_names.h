// The words that stand for enum values in the configuration, and the known word that a mistyped one
// probably stands for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::config {

// A word, and the value that it stands for.
template <class T>
struct Named {
  std::string_view name;
  T value;
};

inline constexpr auto kProtocols = [] {
  std::array<Named<Protocol>, kProtocolRows.size()> names{};
  for (size_t i = 0; i < names.size(); ++i) {
    names[i] = {kProtocolRows[i].word, static_cast<Protocol>(i)};
  }
  return names;
}();
inline constexpr std::array kEnvelopeForms{Named<EnvelopeForm>{"strict", EnvelopeForm::strict},
                                           Named<EnvelopeForm>{"lenient", EnvelopeForm::lenient}};
inline constexpr std::array kIsolations{Named<Isolation>{"shared", Isolation::shared},
                                        Named<Isolation>{"session", Isolation::session},
                                        Named<Isolation>{"principal", Isolation::principal}};
inline constexpr std::array kRevisions{Named<Revision>{"auto", Revision::automatic},
                                       Named<Revision>{"legacy", Revision::legacy},
                                       Named<Revision>{"modern", Revision::modern}};
inline constexpr std::array kBridges{Named<Bridge>{"auto", Bridge::automatic},
                                     Named<Bridge>{"true", Bridge::on},
                                     Named<Bridge>{"false", Bridge::off}};
inline constexpr std::array kFramings{
    Named<rpc::Framing>{"newline", rpc::Framing::newline},
    Named<rpc::Framing>{"content-length", rpc::Framing::content_length}};
inline constexpr std::array kLogLevels{
    Named<LogLevel>{"debug", LogLevel::debug}, Named<LogLevel>{"info", LogLevel::info},
    Named<LogLevel>{"warn", LogLevel::warn}, Named<LogLevel>{"error", LogLevel::error},
    Named<LogLevel>{"off", LogLevel::off}};
inline constexpr std::array kLogFormats{Named<LogFormat>{"json", LogFormat::json},
                                        Named<LogFormat>{"text", LogFormat::text}};
inline constexpr std::array kClientCertificates{
    Named<ClientCertificate>{"none", ClientCertificate::none},
    Named<ClientCertificate>{"optional", ClientCertificate::optional},
    Named<ClientCertificate>{"require", ClientCertificate::require}};
inline constexpr std::array kPins{Named<Pins>{"off", Pins::off}, Named<Pins>{"warn", Pins::warn},
                                  Named<Pins>{"enforce", Pins::enforce}};
inline constexpr std::array kAuditArguments{
    Named<AuditArguments>{"digest", AuditArguments::digest},
    Named<AuditArguments>{"redacted", AuditArguments::redacted},
    Named<AuditArguments>{"full", AuditArguments::full}};
inline constexpr std::array kSignatureMethods{
    Named<SignatureMethod>{"hmac-sha256", SignatureMethod::hmac_sha256},
    Named<SignatureMethod>{"ed25519", SignatureMethod::ed25519},
    Named<SignatureMethod>{"ecdsa-p256-sha256", SignatureMethod::ecdsa_p256_sha256}};

// The table of each enum.
inline std::span<const Named<Protocol>> names_of(Protocol) { return kProtocols; }
inline std::span<const Named<Isolation>> names_of(Isolation) { return kIsolations; }
inline std::span<const Named<Revision>> names_of(Revision) { return kRevisions; }
inline std::span<const Named<Bridge>> names_of(Bridge) { return kBridges; }
inline std::span<const Named<EnvelopeForm>> names_of(EnvelopeForm) { return kEnvelopeForms; }
inline std::span<const Named<rpc::Framing>> names_of(rpc::Framing) { return kFramings; }
inline std::span<const Named<LogLevel>> names_of(LogLevel) { return kLogLevels; }
inline std::span<const Named<LogFormat>> names_of(LogFormat) { return kLogFormats; }
inline std::span<const Named<ClientCertificate>> names_of(ClientCertificate) {
  return kClientCertificates;
}
inline std::span<const Named<Pins>> names_of(Pins) { return kPins; }
inline std::span<const Named<AuditArguments>> names_of(AuditArguments) { return kAuditArguments; }
inline std::span<const Named<SignatureMethod>> names_of(SignatureMethod) {
  return kSignatureMethods;
}

template <class T>
std::string_view name_of(T value) {
  const std::span<const Named<T>> names = names_of(value);
  const auto found = std::ranges::find(names, value, &Named<T>::value);
  return found == names.end() ? std::string_view() : found->name;
}

// All words for values of this type, as errors list them.
template <class T>
std::string words_of() {
  std::string words;
  for (const Named<T>& named : names_of(T())) {
    words.append(words.empty() ? "" : ", ").append(named.name);
  }
  return words;
}

// The known word that a mistyped one probably stands for: the candidate with the fewest edits
// (insert, delete, replace, swap of neighbours) from `word`. Nothing when even that one differs in
// more than a third of the letters.
std::optional<std::string_view> nearest_word(std::string_view word,
                                             const std::vector<std::string_view>& candidates);

}  // namespace stdgate::config
