// CommandStage: what it takes to run a command as the gateway would: loop, guard, launcher, the
// configuration and dialect of its backend.
//
// Owner: a tool; the conversations on it end before it does. Limit: one for each process of a
// program, as the reaper belongs to the whole process.
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
#include "transports/stdio/guard_process.h"
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
  // The processes that a command has started may end by themselves after it, within this time.
  void set_linger(Duration time) { launch_.linger = time; }
  [[nodiscard]] ConversationServices services() {
    return {loop_,     processes_, launch_,
            *dialect_, limits_,    [this] { return processes_.left_behind(); },
            stamp_};
  }

 private:
  // The stderr of children is read from their links.
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
  const std::string stamp_;  // see ConversationServices
  NoLog log_;
  stdio::OrphanReaper orphans_;
  net::Loop loop_;
  stdio::ChildProcesses processes_;
};

// Reads `arguments` as `stdgate` would: backend options, --config, the command.
app::CommandLine command_line_of(const ToolArguments& arguments);

// The configuration that `arguments` name: of the command behind "--", or of the file that --config
// names, else gateway.yaml. The error is one line or several, each with its end.
tl::expected<config::Config, std::string> config_of(const ToolArguments& arguments,
                                                    const ToolSurroundings& surroundings);
// Of a file, for one backend alone: variables that the rest of the file names need not be set.
tl::expected<config::Config, std::string> config_of(const ToolArguments& arguments,
                                                    const ToolSurroundings& surroundings,
                                                    const std::string& backend);

}  // namespace stdgate::tools
