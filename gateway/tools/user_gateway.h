// The gateway of one user, for the programs of that user alone: its file and its Unix socket.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::tools {

// $XDG_CONFIG_HOME, or .config in the home directory; empty: neither is known.
std::string config_home(const config::Environment& variables);

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
