#include "transports/stdio/guard/options.h"

#include <charconv>
#include <string_view>

namespace stdgate::guard {

namespace {

// The whole of `text`.
template <class Number>
bool parse_number(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

// The text before `separator`, which is taken too; without one, the rest.
std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(part.size() == text.size() ? text.size() : part.size() + 1);
  return part;
}

bool parse_identity(std::string_view text, Identity* identity) {
  if (!parse_number(take_until(text, ':'), &identity->user)) return false;
  if (!parse_number(take_until(text, ':'), &identity->group)) return false;
  while (!text.empty()) {
    if (identity->group_count == identity->groups.size()) return false;
    if (!parse_number(take_until(text, ','), &identity->groups[identity->group_count++])) {
      return false;
    }
  }
  return true;
}

bool parse_limit(std::string_view name, std::string_view value, Options* options) {
  for (size_t i = 0; i < kLimitOptions.size(); ++i) {
    if (kLimitOptions[i].name != name) continue;
    uint64_t number = 0;
    if (!parse_number(value, &number)) return false;
    options->limits[i] = number;
    return true;
  }
  return false;
}

bool parse_port(std::string_view text, Bounded<uint16_t, kMaxPorts>* ports) {
  uint16_t port = 0;
  return parse_number(text, &port) && ports->add(port);
}

bool parse_network(std::string_view value, Sandbox* sandbox) {
  sandbox->unix_sockets = value == kNetworkPortsAndUnix;
  if (value == kNetworkNone) {
    sandbox->network = NetworkRule::none;
  } else if (value == kNetworkOutbound) {
    sandbox->network = NetworkRule::outbound;
  } else if (value == kNetworkPorts || value == kNetworkPortsAndUnix) {
    sandbox->network = NetworkRule::ports;
  } else {
    return false;
  }
  return true;
}

bool parse_sandbox(std::string_view name, const char* value, Sandbox* sandbox) {
  if (name == kReadOption) return sandbox->read.add(value);
  if (name == kWriteOption) return sandbox->write.add(value);
  if (name == kConnectOption) return parse_port(value, &sandbox->connect);
  if (name == kBindOption) return parse_port(value, &sandbox->bind);
  if (name == kNetworkOption) return parse_network(value, sandbox);
  if (name == kFilesOption) {
    sandbox->files = value == kFilesAll ? FileRule::all : FileRule::writes;
    return value == kFilesAll || value == kFilesWrites;
  }
  if (name != kSandboxOption) return false;
  sandbox->is_wanted = true;
  sandbox->is_required = value == kSandboxRequired;
  return sandbox->is_required || value == kSandboxWished;
}

}  // namespace

bool parse_options(int argc, char** argv, Options* options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    char* const value = argv[i + 1];
    if (name == kCommandFollows) {
      options->command = argv + i + 1;
      return true;
    }
    if (name == kDirectoryOption) {
      options->directory = value;
    } else if (name == kIdentityOption) {
      if (!parse_identity(value, &options->identity.emplace())) return false;
    } else if (name == kCgroupOption) {
      options->cgroup = value;
    } else if (name == kLingerOption) {
      if (!parse_number(value, &options->linger_ms)) return false;
    } else if (!parse_limit(name, value, options) &&
               !parse_sandbox(name, value, &options->sandbox)) {
      return false;
    }
  }
  return false;
}

}  // namespace stdgate::guard
