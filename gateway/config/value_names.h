// The words that stand for enum values in the configuration.
#pragma once

#include <array>
#include <string_view>

#include "gateway/config/config.h"

namespace stdgate {

template <class T>
struct Named {
  std::string_view name;
  T value;
};

inline constexpr std::array kProtocols{Named<Protocol>{"jsonrpc", Protocol::jsonrpc},
                                       Named<Protocol>{"mcp", Protocol::mcp},
                                       Named<Protocol>{"lsp", Protocol::lsp}};
inline constexpr std::array kIsolations{Named<Isolation>{"shared", Isolation::shared},
                                        Named<Isolation>{"session", Isolation::session}};
inline constexpr std::array kFramings{Named<Framing>{"newline", Framing::newline},
                                      Named<Framing>{"content-length", Framing::content_length}};
inline constexpr std::array kLogLevels{
    Named<LogLevel>{"debug", LogLevel::debug}, Named<LogLevel>{"info", LogLevel::info},
    Named<LogLevel>{"warn", LogLevel::warn}, Named<LogLevel>{"error", LogLevel::error},
    Named<LogLevel>{"off", LogLevel::off}};
inline constexpr std::array kLogFormats{Named<LogFormat>{"json", LogFormat::json},
                                        Named<LogFormat>{"text", LogFormat::text}};

}  // namespace stdgate
