// The keys of backends.<name>.sandbox, and the words that stand for some of them.
#pragma once

#include <array>

#include "gateway/config/options/option.h"
#include "gateway/config/options/text_rules.h"

namespace stdgate::config {

inline constexpr auto kFilesystemOptions = std::to_array<Option<FilesystemConfig>>({
    {.key = "default_read",
     .type = Switch{&FilesystemConfig::default_read},
     .help = "let the child read every file that its user may read",
     .details =
         "With `false` the child reads only the [system's](children.md#what-a-sandbox-holds) "
         "files, the files beneath `cwd`, and the paths in `read` and `write`.",
     .default_words = "true, with `read` false"},
    {.key = "read",
     .type = Paths{&FilesystemConfig::read, {0, kMaxSandboxPaths}},
     .help = "directories and files that may be read and executed",
     .details = "Relative ones are relative to `cwd`."},
    {.key = "write",
     .type = Paths{&FilesystemConfig::write, {0, kMaxSandboxPaths}},
     .help = "directories and files that may be read, written, created and deleted",
     .details = "Relative ones are relative to `cwd`.",
     .default_words = "none"},
});

template <>
struct OptionsOf<FilesystemConfig> {
  static constexpr std::span<const Option<FilesystemConfig>> kRows = kFilesystemOptions;
  static constexpr std::string_view kTitle = "Files of a sandbox";
};

inline constexpr auto kNetworkOptions = std::to_array<Option<NetworkConfig>>({
    {.key = "connect",
     .type = list_of<&NetworkConfig::connect>(kPort, {0, kMaxSandboxPorts}),
     .help = "TCP ports that the child may connect to",
     .default_words = "none"},
    {.key = "bind",
     .type = list_of<&NetworkConfig::bind>(kPort, {0, kMaxSandboxPorts}),
     .help = "TCP ports that the child may listen on",
     .default_words = "none"},
    {.key = "unix",
     .type = Switch{&NetworkConfig::unix_sockets},
     .help = "the child may connect to Unix sockets, where a container engine or a database may "
             "listen"},
});

template <>
struct OptionsOf<NetworkConfig> {
  static constexpr std::span<const Option<NetworkConfig>> kRows = kNetworkOptions;
  static constexpr std::string_view kTitle = "Network of a sandbox";
};

inline constexpr auto kSandboxOptions = std::to_array<Option<SandboxConfig>>({
    {.key = "filesystem",
     .type = Part{&SandboxConfig::filesystem},
     .help = "files that the child may reach"},
    {.key = "network",
     .type = WordOrPart<SandboxConfig>{&SandboxConfig::network},
     .help = "sockets that the child may have",
     .details = "`none`: no sockets. `outbound`: TCP to any port, and listening nowhere. `any`: as "
                "without a sandbox."},
    {.key = "required",
     .type = Switch{&SandboxConfig::required},
     .help = "do not start the child if the kernel cannot enforce the whole sandbox",
     .details = "With `false` it starts with as much of it as the kernel can enforce; log, metrics "
                "and `/debug/state` say so."},
});

template <>
struct OptionsOf<SandboxConfig> {
  static constexpr std::span<const Option<SandboxConfig>> kRows = kSandboxOptions;
  static constexpr std::string_view kTitle = "Sandbox";
};

}  // namespace stdgate::config
