#include "gateway/app/memory_key.h"

#include <sys/stat.h>

#include <string_view>

#include "gateway/mcp/server_memory.h"
#include "transports/stdio/program_search.h"

namespace stdgate::app {

namespace {

void append_part(std::string& key, std::string_view part) {
  key.append(std::to_string(part.size())).append(":").append(part).append("\n");
}

// Nothing if it is no file.
void append_file(std::string& key, const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return;
  key.append(std::to_string(facts.st_size)).append(" ");
  key.append(std::to_string(facts.st_mtim.tv_sec)).append(".");
  key.append(std::to_string(facts.st_mtim.tv_nsec)).append("\n");
}

}  // namespace

uint16_t digest_of_values(const config::BackendConfig& backend) {
  std::string all;
  for (const auto* const variables : {&backend.env, &backend.env_from_files}) {
    for (const auto& [name, value] : *variables) {
      append_part(all, std::string(name).append("=").append(value));
    }
  }
  const uint64_t digest = mcp::digest_of(all);
  return static_cast<uint16_t>(digest ^ digest >> 16U ^ digest >> 32U ^ digest >> 48U);
}

std::string memory_key(const pool::LaunchSpec& launch, uint16_t values) {
  std::string key;
  append_part(key, launch.working_directory);
  append_part(key, launch.user);
  const std::string program = stdio::locate_program(launch);
  append_part(key, program);
  append_file(key, program);
  for (const std::string& word : launch.command) {
    append_part(key, word);
    const bool is_relative = !word.starts_with('/') && !launch.working_directory.empty();
    append_file(key, is_relative ? launch.working_directory + "/" + word : word);
  }
  for (const auto& [name, value] : launch.environment) append_part(key, name);
  append_part(key, std::to_string(values));
  return key;
}

}  // namespace stdgate::app
