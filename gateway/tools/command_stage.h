// CommandStage: what it takes to run a command as the gateway would: loop, guard, launcher, the
// configuration and dialect of its backend.
//
// Owner: a tool; the conversations on it end before it does. Limits: one process of a program has
// one, as its reaper is that of the process.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/app/command_line.h"
#include "gateway/app/dialects.h"
#include "gateway/base/log.h"
#include "gateway/config/config.h"
#include "gateway/pool/child_link.h"
#include "gateway/tools/conversation.h"
#include "gateway/tools/tool.h"
#include "transports/net/loop.h"
#include "transports/stdio/child_process.h"
#include "transports/stdio/guard_binary.h"
#include "transports/stdio/orphan_reaper.h"

namespace stdgate::tools {

class CommandStage {
 public:
  // `backend`: an entry of `config`. `client_name` is what servers are told, and log. The error
  // says what is missing.
  static tl::expected<std::unique_ptr<CommandStage>, std::string> open(
      const config::Config& config, const config::BackendConfig& backend,
      const ToolSurroundings& surroundings, std::string client_name = "stdgate");

  [[nodiscard]] net::Loop& loop() { return loop_; }
  [[nodiscard]] const config::BackendConfig& backend() const { return backend_; }
  // What commands have started may end by itself after them, within this time.
  void set_linger(Duration time) { launch_.linger = time; }
  [[nodiscard]] ConversationServices services() {
    return {loop_,     processes_, launch_,
            *dialect_, limits_,    [this] { return processes_.left_behind(); }};
  }

 private:
  // What children write to stderr is read from their links.
  class NoLog final : public Log {
   public:
    [[nodiscard]] bool enabled(LogLevel /*level*/) const override { return false; }
    void write(LogLevel /*level*/, std::string_view /*event*/,
               std::initializer_list<LogField> /*fields*/) override {}
  };

  CommandStage(stdio::GuardBinary guard, const config::Config& config,
               const config::BackendConfig& backend, const ToolSurroundings& surroundings,
               const app::GatewayIdentity& identity);

  const stdio::GuardBinary guard_;
  const config::BackendConfig backend_;
  const config::LimitsConfig limits_;
  pool::LaunchSpec launch_;
  const std::unique_ptr<pool::Dialect> dialect_;
  NoLog log_;
  stdio::OrphanReaper orphans_;
  net::Loop loop_;
  stdio::ChildProcesses processes_;
};

// What `stdgate` would take `arguments` for: backend options, --config, the command.
app::CommandLine command_line_of(const ToolArguments& arguments);

// The configuration that `arguments` name: of the command behind "--", or of the file that --config
// names, else gateway.yaml. The error is one line or several, each with its end.
tl::expected<config::Config, std::string> config_of(const ToolArguments& arguments,
                                                    const ToolSurroundings& surroundings);
// The same where one backend alone is wanted: variables that the rest of the file names need not be
// set.
tl::expected<config::Config, std::string> config_of(const ToolArguments& arguments,
                                                    const ToolSurroundings& surroundings,
                                                    const std::string& backend);

}  // namespace stdgate::tools
