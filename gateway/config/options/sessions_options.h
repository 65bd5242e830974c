// The keys of `sessions`: ids of MCP sessions.
#pragma once

#include <array>

#include "gateway/config/options/option.h"

namespace stdgate::config {

inline constexpr auto kSessionsOptions = std::to_array<Option<SessionsConfig>>({
    {.key = "key_file",
     .type = KeyFile{&SessionsConfig::key_file, &SessionsConfig::keys},
     .flag = {.name = "--session-key-file", .placeholder = "FILE"},
     .help = "file with the keys that seal session ids, so that the ids stay valid after a restart",
     .details =
         "Lines of 32 bytes as hex or base64, as `openssl rand -hex 32` writes them; `#` begins a "
         "comment. The first key seals new ids; ids of every key are accepted. Every replica needs "
         "the same file. Without a file the key is random, and ids end with the process."},
    {.key = "ttl",
     .type = Time{&SessionsConfig::ttl, {std::chrono::seconds(1), std::chrono::hours(24 * 365)}},
     .flag = {.name = "--session-ttl", .placeholder = "TIME"},
     .help = "time from a session's beginning until its id expires"},
});

template <>
struct OptionsOf<SessionsConfig> {
  static constexpr std::span<const Option<SessionsConfig>> kRows = kSessionsOptions;
  static constexpr std::string_view kTitle = "Sessions";
};

}  // namespace stdgate::config
