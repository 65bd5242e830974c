// `stdgate hash-key`: API keys and their hashes. No I/O; randomness comes from the kernel.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate::app {

// "key sg_…" and "hash sha256:…", a line each.
tl::expected<std::string, std::string> new_key_text();
// "sha256:…" of the key that `input` is, as a line; the error says what is wrong with it, without
// it.
tl::expected<std::string, std::string> key_hash_text(std::string_view input);

}  // namespace stdgate::app
