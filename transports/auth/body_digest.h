// Digests of bodies (RFC 9530 section 5): those that are not broken.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stdgate::auth {

enum class DigestAlgorithm : uint8_t { sha256, sha512 };

// "sha-256", as Content-Digest has it; nothing: another one.
std::optional<DigestAlgorithm> find_digest(std::string_view name);
bool is_digest_of(DigestAlgorithm algorithm, std::string_view digest, std::string_view body);

}  // namespace stdgate::auth
