// ConnectPlan: what the options of `stdgate connect` say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/rpc/framer.h"
#include "transports/fetch/curl_web_client.h"

namespace stdgate::tools {

// The URL of an agent ends so.
inline constexpr std::string_view kAcpPath = "/acp";

struct ConnectPlan {
  std::string endpoint;  // http://…, https://…, ws://… or wss://…; empty: the gateway is asked
  std::string gateway;  // its URL, without a slash at the end; empty: no gateway is asked
  std::string backend;  // there; empty: the only one
  fetch::WebClientOptions web;
  std::vector<std::string> fields;  // of every request: "Name: value"
  std::string token_file;
  std::string token_command;
  rpc::Framing framing = rpc::Framing::newline;
  uint64_t chance = 0;
};

}  // namespace stdgate::tools
