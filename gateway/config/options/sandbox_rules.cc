// What the keys of a sandbox mean together, and what its words stand for.
#include "gateway/config/options/sandbox_rules.h"

#include <array>
#include <charconv>
#include <system_error>

namespace stdgate::config {

std::optional<Port> Port::parse(std::string_view text) {
  Port port;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port.number);
  if (error != std::errc() || rest != end || port.number == 0) return std::nullopt;
  return port;
}

namespace {

NetworkConfig network(NetworkAccess access) {
  NetworkConfig config;
  config.access = access;
  return config;
}

SandboxConfig strict() {
  SandboxConfig config;
  config.used = true;
  config.filesystem.used = true;
  config.filesystem.default_read = false;
  config.network.access = NetworkAccess::none;
  return config;
}

}  // namespace

std::span<const Named<NetworkConfig>> words_of(const NetworkConfig& /*type*/) {
  static const std::array kWords{
      Named<NetworkConfig>{"any", network(NetworkAccess::any)},
      Named<NetworkConfig>{"none", network(NetworkAccess::none)},
      Named<NetworkConfig>{"outbound", network(NetworkAccess::outbound)}};
  return kWords;
}

std::span<const Named<SandboxConfig>> words_of(const SandboxConfig& /*type*/) {
  static const std::array kWords{Named<SandboxConfig>{"off", SandboxConfig()},
                                 Named<SandboxConfig>{"strict", strict()}};
  return kWords;
}

void begin_section(NetworkConfig& out) { out.access = NetworkAccess::ports; }

void begin_section(SandboxConfig& out) { out.used = true; }

void complete_sandbox(const Section& sandbox, SandboxConfig& out) {
  const Section* const filesystem = sandbox.part("filesystem");
  if (filesystem == nullptr) return;
  out.filesystem.used = true;
  if (filesystem->failed("read") || filesystem->failed("default_read")) return;
  if (!filesystem->has("default_read")) {
    out.filesystem.default_read = !filesystem->has("read");
  } else if (out.filesystem.default_read && !out.filesystem.read.empty()) {
    filesystem->fail_at_key("read", "default_read lets all be read; leave one of them out");
  }
}

}  // namespace stdgate::config
