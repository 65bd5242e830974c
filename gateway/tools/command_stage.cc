#include "gateway/tools/command_stage.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "gateway/mcp/modern_members.h"
#include "gateway/pool/launch_spec.h"

namespace stdgate::tools {

tl::expected<std::unique_ptr<CommandStage>, std::string> CommandStage::open(
    const config::Config& config, const config::BackendConfig& backend,
    const ToolSurroundings& surroundings, std::string client_name) {
  auto guard = stdio::GuardBinary::open();
  if (!guard) return tl::unexpected(guard.error());
  std::error_code unreadable;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  return std::unique_ptr<CommandStage>(
      new CommandStage(std::move(*guard), config, backend, surroundings,
                       {surroundings.version, own.string(), std::move(client_name)}));
}

CommandStage::CommandStage(stdio::GuardBinary guard, const config::Config& config,
                           const config::BackendConfig& backend,
                           const ToolSurroundings& surroundings,
                           const app::GatewayIdentity& identity)
    : guard_(std::move(guard)),
      backend_(backend),
      limits_(config.limits),
      launch_(pool::make_launch_spec(backend_, surroundings.variables, identity.binary)),
      dialect_(app::make_dialect(backend_, identity)),
      stamp_(mcp::stamp_of_gateway(identity.name, identity.version)),
      processes_(loop_, log_, orphans_, guard_.path()) {}

app::CommandLine command_line_of(const ToolArguments& arguments) {
  std::vector<std::string> words{"stdgate"};
  words.insert(words.end(), arguments.backend_options.begin(), arguments.backend_options.end());
  if (arguments.has("--config")) words.push_back("--config=" + arguments.value("--config"));
  if (arguments.has_command) {
    words.emplace_back("--");
    words.insert(words.end(), arguments.command.begin(), arguments.command.end());
  }
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  std::error_code gone;
  return app::parse_command_line(static_cast<int>(argv.size()), argv.data(),
                                 std::filesystem::current_path(gone).string());
}

tl::expected<config::Config, std::string> config_of(const ToolArguments& arguments,
                                                    const ToolSurroundings& surroundings) {
  const app::CommandLine line = command_line_of(arguments);
  if (line.action == app::CommandLine::Action::exit) return tl::unexpected(line.output);
  return app::load_config(line, surroundings.environment);
}

tl::expected<config::Config, std::string> config_of(const ToolArguments& arguments,
                                                    const ToolSurroundings& surroundings,
                                                    const std::string& backend) {
  const app::CommandLine line = command_line_of(arguments);
  if (line.action == app::CommandLine::Action::exit) return tl::unexpected(line.output);
  return app::load_config_of(line, surroundings.environment, backend);
}

}  // namespace stdgate::tools
