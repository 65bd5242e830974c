#include "gateway/tools/sandbox_hints.h"

#include <algorithm>
#include <span>
#include <vector>

#include "gateway/base/ascii.h"

namespace stdgate::tools {

namespace {

using config::NetworkAccess;

// In lower case, as all here.
constexpr std::string_view kDenials[] = {"permission denied", "eacces", "eperm",
                                         "operation not permitted"};
constexpr std::string_view kMissingFiles[] = {"cannot find module",
                                              "module_not_found",
                                              "modulenotfounderror",
                                              "no module named",
                                              "error while loading shared libraries",
                                              "cannot open shared object"};
constexpr std::string_view kSockets[] = {"connect", "socket", "listen"};
constexpr std::string_view kMissingNetwork[] = {"enotfound",
                                                "eai_again",
                                                "getaddrinfo",
                                                "enetunreach",
                                                "network is unreachable",
                                                "name resolution",
                                                "name or service not known",
                                                "eafnosupport",
                                                "address family not supported"};

bool holds_any(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(
      words, [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out.append(out.empty() ? "" : ", ").append(text);
  return out;
}

std::string joined(const std::vector<config::Port>& ports) {
  std::vector<std::string> texts;
  texts.reserve(ports.size());
  for (const config::Port& port : ports) texts.push_back(port.to_string());
  return joined(texts);
}

std::string readable_text(const config::BackendConfig& backend) {
  std::vector<std::string> places{"the system's files"};
  if (!backend.cwd.empty()) places.emplace_back("cwd");
  const config::FilesystemConfig& files = backend.sandbox.filesystem;
  places.insert(places.end(), files.read.begin(), files.read.end());
  places.insert(places.end(), files.write.begin(), files.write.end());
  return joined(places);
}

std::string writable_text(const config::FilesystemConfig& files) {
  return files.write.empty() ? "nothing" : joined(files.write);
}

std::string network_text(const config::NetworkConfig& network) {
  switch (network.access) {
    case NetworkAccess::any:
      return {};
    case NetworkAccess::none:
      return "no network";
    case NetworkAccess::outbound:
      return "outbound connections only";
    case NetworkAccess::ports:
      break;
  }
  std::string text;
  if (!network.connect.empty()) text = "connects to " + joined(network.connect);
  if (!network.bind.empty()) {
    text.append(text.empty() ? "" : ", ").append("listens at ").append(joined(network.bind));
  }
  return text + " only";
}

constexpr std::string_view kLikely = "the sandbox is the likely cause: ";

std::string advice_on_reading(const config::BackendConfig& backend) {
  const config::SandboxConfig& sandbox = backend.sandbox;
  std::string text(kLikely);
  text += "it lets the server read only " + readable_text(backend) +
          "; add the folders of its program, interpreter, libraries and packages to "
          "sandbox.filesystem.read";
  const bool is_strict = sandbox.filesystem.read.empty() && sandbox.filesystem.write.empty() &&
                         sandbox.network.access == NetworkAccess::none;
  if (is_strict) {
    text += " (instead of strict: { filesystem: { read: [FOLDER] }, network: none })";
  }
  return text;
}

}  // namespace

std::string sandbox_text(const config::BackendConfig& backend) {
  const config::SandboxConfig& sandbox = backend.sandbox;
  if (!sandbox.used) return {};
  std::string text;
  if (const config::FilesystemConfig& files = sandbox.filesystem; files.used) {
    text = "reads " + (files.default_read ? std::string("everything") : readable_text(backend));
    text += "; writes " + writable_text(files);
  }
  if (const std::string network = network_text(sandbox.network); !network.empty()) {
    text.append(text.empty() ? "" : "; ").append(network);
  }
  return text.empty() ? "system calls only" : text;
}

std::string sandbox_advice(const config::BackendConfig& backend, std::string_view line) {
  const config::SandboxConfig& sandbox = backend.sandbox;
  if (!sandbox.used) return {};
  const std::string low = to_lower_ascii(line);
  const bool is_denial = holds_any(low, kDenials);
  const bool misses_file = holds_any(low, kMissingFiles);  // "ModulENOTFOUNDError" too
  if (sandbox.network.access != NetworkAccess::any && !misses_file &&
      (holds_any(low, kMissingNetwork) || (is_denial && holds_any(low, kSockets)))) {
    return std::string(kLikely) + network_text(sandbox.network) + "; sandbox.network says which";
  }
  const config::FilesystemConfig& files = sandbox.filesystem;
  if (!files.used) return {};
  if (!files.default_read) {
    return is_denial || misses_file ? advice_on_reading(backend) : std::string();
  }
  if (!is_denial) return {};
  return std::string(kLikely) + "it lets the server write " + writable_text(files) +
         "; sandbox.filesystem.write says where";
}

}  // namespace stdgate::tools
