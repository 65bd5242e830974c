// The units of systemd by which a user's gateway starts with the first connection. Pure.
#pragma once

#include <string>
#include <string_view>

namespace stdgate::tools {

struct UserService {
  std::string program;  // paths, absolute
  std::string config_file;
  std::string socket;
  std::string path;  // PATH, for the servers
};

// The first line of both, by which they are known again.
inline constexpr std::string_view kUnitMark = "# Written by `stdgate install --user`.\n";

std::string socket_unit(const UserService& service);
std::string service_unit(const UserService& service);

}  // namespace stdgate::tools
