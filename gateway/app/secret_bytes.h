// Random bytes of the kernel, and API keys made of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate::app {

// Fills `out` with random bytes from the kernel, for keys and tokens. The worker passes this
// function in, because neither the core nor the sealing of texts generates randomness itself.
void fill_random(std::span<uint8_t> out);

// `stdgate hash-key`: API keys and their hashes. No I/O; randomness comes from the kernel.
// "key sg_…" and "hash sha256:…", a line each.
tl::expected<std::string, std::string> new_key_text();
// "sha256:…" of the key in `input`, as a line. An error says what is wrong with the key, without
// showing it.
tl::expected<std::string, std::string> key_hash_text(std::string_view input);

}  // namespace stdgate::app
