// Files of this machine, and the gateway of one user: its file and its socket.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::tools {

// --- Files of this machine, as tools look for them and write them
//
// Errors are sentences.

// Whether the file exists. False too for a place that cannot be looked at.
bool file_exists(const std::string& file);

// The path of the running stdgate.
std::string own_program();

// Writes the whole content at once: a reader of the file sees the former content or the new one. A
// link is followed; mode and, where that is allowed, owner stay. A new file may be read by its
// owner alone, as configurations may hold secrets.
tl::expected<void, std::string> replace_file(const std::string& file, const std::string& content);

// Makes the folder of a file with those above it, for this user alone.
tl::expected<void, std::string> make_private_folder_of(const std::string& file);

// --- The gateway of one user, for the programs of that user alone: its file and its Unix socket

// The folder of configurations: $XDG_CONFIG_HOME, or .config in the home directory. Empty: neither
// is known.
std::string config_home(const config::Environment& variables);

// The configuration of the user's own gateway.
struct UserGateway {
  std::string file;  // absolute
  std::string text;  // of the file, or of the one to be written
  bool is_new = false;
  std::string socket;  // the path
  config::Config config;
};

// `file`: as given; empty: the usual one, stdgate/gateway.yaml in the folder of configurations. The
// error is a sentence that says what to do.
tl::expected<UserGateway, std::string> read_user_gateway(const std::string& file,
                                                         const config::Environment& variables);

}  // namespace stdgate::tools
