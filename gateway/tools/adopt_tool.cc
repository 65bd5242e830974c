// `stdgate adopt`: the servers of a client run once, behind the gateway of its user.
#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/config/config_files.h"
#include "gateway/config/config_parser.h"
#include "gateway/config/secret.h"
#include "gateway/tools/adoption_record.h"
#include "gateway/tools/client_import.h"
#include "gateway/tools/client_settings.h"
#include "gateway/tools/gateway_yaml.h"
#include "gateway/tools/local_files.h"
#include "gateway/tools/tool.h"
#include "transports/stdio/program_search.h"

namespace stdgate::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAdoptUsage =
    "  stdgate adopt CLIENT [options]          its servers go behind the gateway\n"
    "  stdgate adopt CLIENT --undo [options]   they are the client's own again\n";
constexpr std::string_view kAdoptAbout =
    "Moves the servers of a client behind a gateway of this user. Each server then\n"
    "runs once for all clients, and the client starts `stdgate connect` instead.\n"
    "CLIENT is claude-desktop, claude-code, cursor, vscode, zed, gemini or codex.\n"
    "\n"
    "In the client's file only the commands change. The servers with their variables\n"
    "go into the gateway's file, which others may not read. Servers that the client\n"
    "reaches by a URL stay as they are.\n"
    "\n"
    "--undo restores the client's file byte for byte. If the file has been changed\n"
    "since, only the entries of these servers are restored. The gateway's file is\n"
    "restored too, unless it has been changed since or another client may use what\n"
    "was added. Close the client before: some clients write their file when they end.\n"
    "\n"
    "Exit code: 0 done, or nothing to do, 1 not, 2 usage.\n";
constexpr std::array kAdoptOptions{
    ToolOption{"--file", "FILE", "the client's file, such as a project's .mcp.json"},
    ToolOption{"--config", "FILE", "the gateway's file (~/.config/stdgate/gateway.yaml)"},
    ToolOption{"--dry-run", "", "say what would change, and write nothing"},
    ToolOption{"--undo", "", "restore the client's file"},
};

using Done = tl::expected<void, std::string>;

// One call of the tool.
class Adoption {
 public:
  Adoption(const AdoptedClient& client, const ToolArguments& arguments,
           const ToolSurroundings& surroundings)
      : client_(client), arguments_(arguments), surroundings_(surroundings) {}

  ToolOutput run() {
    const Done done = prepare().and_then([this] { return undoes() ? undo() : adopt(); });
    if (!done) output_.fail({kFailed, "adopt: " + done.error()});
    return std::move(output_);
  }

 private:
  [[nodiscard]] bool undoes() const { return arguments_.has("--undo"); }
  [[nodiscard]] bool is_dry_run() const { return arguments_.has("--dry-run"); }
  [[nodiscard]] std::string undo_command() const {
    std::string command = "stdgate adopt " + std::string(client_.word) + " --undo";
    for (const std::string option : {"--file", "--config"}) {
      if (arguments_.has(option)) command += " " + option + " " + arguments_.value(option);
    }
    return command;
  }
  void say(const std::string& line) { output_.out += visible(line, VisibleText::line) + "\n"; }
  void warn(const std::string& line) { output_.warn(line); }

  Done prepare() {
    auto gateway = read_user_gateway(arguments_.value("--config"), surroundings_.environment);
    if (!gateway) return tl::unexpected(gateway.error());
    gateway_ = *std::move(gateway);
    return find_file().and_then([this]() -> Done {
      auto text = config::read_text_file(file_, kMaxClientFile);
      if (!text) return tl::unexpected(text.error());
      text_ = *std::move(text);
      auto record = AdoptionRecord(gateway_.file, file_).read();
      if (!record) return tl::unexpected(record.error());
      record_ = *std::move(record);
      return {};
    });
  }

  Done find_file() {
    std::vector<std::string> files{arguments_.value("--file")};
    if (files[0].empty()) files = files_of(client_, surroundings_.environment);
    if (files.empty()) {
      return tl::unexpected<std::string>("HOME is not set; name the client's file with --file");
    }
    std::error_code error;
    for (const std::string& file : files) {
      file_ = fs::absolute(file, error).lexically_normal().string();
      const fs::file_status status = fs::symlink_status(file_, error);
      if (!fs::exists(status)) continue;
      if (!fs::is_symlink(status)) return {};
      const fs::path target = fs::canonical(file_, error);
      if (error) {
        return tl::unexpected(file_ + " is a link to nowhere (" +
                              fs::read_symlink(file_, error).string() + ")");
      }
      say(file_ + " is a link; what changes is " + target.string());
      return {};
    }
    return tl::unexpected(std::string(client_.title) + " has no settings at " +
                          joined(files, " or ") + "; --file names another place");
  }

  // --- there ---

  Done adopt() {
    const auto servers = import_servers(
        text_, {"", false, file_exists, surroundings_.environment, client_.references});
    if (!servers) return tl::unexpected(file_ + ": " + servers.error());
    for (const std::string& warning : servers->warnings) warn(warning);
    warn_of_projects();
    for (size_t i = 0; i < servers->backends.size(); ++i) {
      take(servers->names[i], servers->backends[i]);
    }
    if (commands_.empty()) {
      say("nothing to adopt in " + file_);
      return {};
    }
    const auto changed = with_commands(text_, commands_);
    if (!changed) return tl::unexpected(file_ + ": " + changed.error());
    auto added = new_backends_.empty() ? EditedConfig{gateway_.text, {}}
                                       : add_backends(gateway_.text, new_backends_, gateway_.file);
    if (!added) return tl::unexpected(gateway_.file + ": " + added.error());
    for (const std::string& warning : added->warnings) warn(warning);
    if (!is_dry_run()) {
      if (const Done written = write(*changed, added->text); !written) return written;
    }
    report();
    return {};
  }

  // Claude Code keeps servers of single projects in the same file.
  void warn_of_projects() {
    const auto settings = read_settings(text_);
    const JsonNode* const projects = settings ? settings->find("projects") : nullptr;
    for (size_t i = 0; projects != nullptr && i < projects->keys.size(); ++i) {
      const JsonNode* const servers = projects->items[i].find("mcpServers");
      if (servers == nullptr || servers->keys.empty()) continue;
      warn("left out, as they are of one project alone: the servers of " + projects->keys[i]);
    }
  }

  void take(const std::string& name, BackendLines lines) {
    pool::LaunchSpec launch;
    launch.command = lines.command;
    launch.environment = surroundings_.variables;
    const std::string& program = lines.command.front();
    if (program.find('/') != std::string::npos && !program.starts_with('/')) {
      return warn(name +
                  ": left out, as its command depends on the folder that its client has; "
                  "write the whole path of " +
                  program);
    }
    if (const auto found = stdio::find_program(launch); !found) {
      return warn(name + ": left out, as its command would not start: " + found.error().text());
    }
    // One process serves all clients.
    lines.others.emplace_back("isolation: shared");
    const std::string backend = place(std::move(lines));
    commands_[name] = {own_program(), "connect", backend, "--unix", gateway_.socket};
  }

  // The backend that this is; a new one unless the gateway has it.
  std::string place(BackendLines lines) {
    const std::string wanted = lines.name;
    for (int ordinal = 1;; ++ordinal) {
      if (ordinal > 1) {
        lines.name = wanted.substr(0, 50) + "-" + std::string(client_.word).substr(0, 8);
      }
      if (ordinal > 2) lines.name += "-" + std::to_string(ordinal - 1);
      const config::BackendConfig* const same = same_backend(lines);
      if (same != nullptr) return same->name;
      if (is_free(lines.name)) break;
    }
    new_backends_.push_back(lines);
    return lines.name;
  }

  [[nodiscard]] bool is_free(const std::string& name) const {
    return std::ranges::find(gateway_.config.backends, name, &config::BackendConfig::name) ==
               gateway_.config.backends.end() &&
           std::ranges::find(new_backends_, name, &BackendLines::name) == new_backends_.end();
  }

  [[nodiscard]] const config::BackendConfig* same_backend(const BackendLines& lines) const {
    const auto none = [](const std::string&) { return std::optional<std::string>(); };
    const auto alone = config::parse_config("backends:\n" + backend_yaml(lines, 2, 2), none, {},
                                            config::read_text_file);
    if (!alone || alone->backends.size() != 1) return nullptr;
    const config::BackendConfig& one = alone->backends.front();
    const auto found =
        std::ranges::find_if(gateway_.config.backends, [&one](const config::BackendConfig& other) {
          return other.command == one.command && other.env == one.env && other.cwd == one.cwd &&
                 other.env_files == one.env_files;
        });
    return found == gateway_.config.backends.end() ? nullptr : &*found;
  }

  // Writes the texts for undo first, then the files that the client will need.
  Done write(const std::string& changed, const std::string& gateway_text) {
    std::string former = text_;
    if (record_) {
      auto put_back = former_text();
      if (!put_back) return tl::unexpected(put_back.error());
      former = *std::move(put_back);
    }
    if (auto made = make_private_folder_of(gateway_.file); !made) return made;
    if (auto kept = record().write({former, changed, gateway_texts(gateway_text)}); !kept) {
      return kept;
    }
    if (gateway_text != gateway_.text || gateway_.is_new) {
      if (auto written = replace_file(gateway_.file, gateway_text); !written) return written;
    }
    return replace(changed);
  }

  [[nodiscard]] AdoptionRecord record() const { return {gateway_.file, file_}; }

  // A second adoption of this client goes back to before the first one.
  [[nodiscard]] AdoptionRecord::GatewayTexts gateway_texts(const std::string& changed) const {
    AdoptionRecord::GatewayTexts texts{std::nullopt, changed};
    if (!gateway_.is_new) texts.former = gateway_.text;
    const bool goes_on = record_ && record_->gateway && record_->gateway->adopted == gateway_.text;
    if (goes_on) texts.former = record_->gateway->former;
    return texts;
  }

  Done replace(const std::string& text) {
    const auto now = config::read_text_file(file_, kMaxClientFile);
    if (!now || *now != text_) {
      return tl::unexpected(file_ + " has just been changed by another program; close " +
                            std::string(client_.title) + " and try again");
    }
    return replace_file(file_, text);
  }

  void report() {
    const std::string would = is_dry_run() ? "would be " : "";
    for (const auto& [name, command] : commands_) {
      std::string line(name);
      line.append(": ").append(would).append("reached by stdgate connect ").append(command[2]);
      say(line.append(" --unix ").append(gateway_.socket));
    }
    for (const BackendLines& backend : new_backends_) {
      const auto command = config::hide_secret_arguments(backend.command);
      say(gateway_.file + ": " + would + "added " + backend.name + ": " + joined(command, " "));
    }
    if (is_dry_run()) return;
    say(file_ + ": changed; " + undo_command() + " puts it back");
    std::string start = "start the gateway, unless it runs: stdgate install --user, or stdgate";
    say(start + " --config " + gateway_.file);
    say("then start " + std::string(client_.title) + " again");
    if (own_program().find("/_npx/") != std::string::npos ||
        own_program().find("/uv/") != std::string::npos) {
      warn("this stdgate is in a cache, which may be emptied; install it, and adopt again");
    }
  }

  // --- and back ---

  // The servers in a text whose command only adoption has written.
  [[nodiscard]] tl::expected<std::set<std::string>, std::string> adopted_servers(
      const std::string& text) const {
    std::set<std::string> names;
    auto now = connected_servers(text);
    const auto then = connected_servers(record_->former);
    if (!now) return tl::unexpected(file_ + ": " + now.error());
    for (const std::string& name : *now) {
      if (!then || !then->contains(name)) names.insert(name);
    }
    return names;
  }

  // The client's file as it would be without its adoption.
  [[nodiscard]] tl::expected<std::string, std::string> former_text() const {
    if (text_ == record_->adopted) return record_->former;
    const auto names = adopted_servers(text_);
    if (!names) return tl::unexpected(names.error());
    if (names->empty()) return text_;
    return with_entries_of(text_, record_->former, *names)
        .map_error([this](const std::string& error) {
          return file_ + ": " + error + "; what it was is kept in " + former_file();
        });
  }
  [[nodiscard]] std::string former_file() const { return record().former_file(); }

  Done undo() {
    if (!record_) {
      return tl::unexpected("nothing was adopted in " + file_ + ", as far as " + gateway_.file +
                            " knows");
    }
    const bool is_changed = text_ != record_->adopted;
    const auto former = former_text();
    if (!former) return tl::unexpected(former.error());
    auto of_gateway = record().judge(*record_, gateway_.is_new ? "" : gateway_.text);
    const auto left = adopted_servers(*former);
    for (const std::string& name : left.value_or(std::set<std::string>())) {
      warn(name + ": stays as it is, as there was no server of this name; its command is in " +
           gateway_.file);
      if (of_gateway == AdoptionRecord::GatewayUndo::put_back) {
        of_gateway = AdoptionRecord::GatewayUndo::in_use;
      }
    }
    if (!is_dry_run()) {
      if (const Done replaced = replace(*former); !replaced) return replaced;
      if (const Done done = undo_gateway(of_gateway); !done) return done;
      record().remove();
    }
    const std::string would = is_dry_run() ? "would be " : "";
    say(file_ + ": " + would +
        (is_changed ? "put back, but for what was changed in it since" : "put back as it was"));
    say(words_of(of_gateway, would));
    return {};
  }

  Done undo_gateway(AdoptionRecord::GatewayUndo undo) const {
    if (undo != AdoptionRecord::GatewayUndo::put_back) return record().pass_on(*record_);
    const auto& former = record_->gateway->former;
    if (former) return replace_file(gateway_.file, *former);
    std::error_code error;
    if (fs::remove(gateway_.file, error)) return {};
    return tl::unexpected("cannot remove " + gateway_.file + ": " + error.message());
  }

  [[nodiscard]] std::string words_of(AdoptionRecord::GatewayUndo undo,
                                     const std::string& would) const {
    switch (undo) {
      case AdoptionRecord::GatewayUndo::put_back:
        if (record_->gateway->former) return gateway_.file + ": " + would + "put back as it was";
        return gateway_.file + ": " + would + "removed, as it was not there before";
      case AdoptionRecord::GatewayUndo::in_use:
        return "its servers stay in " + gateway_.file + ", where they may be in use";
      case AdoptionRecord::GatewayUndo::changed:
        break;
    }
    return "its servers stay in " + gateway_.file + ", which was changed since";
  }

  const AdoptedClient& client_;
  const ToolArguments& arguments_;
  const ToolSurroundings& surroundings_;
  UserGateway gateway_;
  std::string file_;  // of the client
  std::string text_;
  std::optional<AdoptionRecord::Texts> record_;
  ServerCommands commands_;
  std::vector<BackendLines> new_backends_;
  ToolOutput output_;
};

ToolOutput adopt_client(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  std::vector<std::string> words;
  for (const AdoptedClient& client : adopted_clients()) words.emplace_back(client.word);
  const AdoptedClient* const client =
      arguments.words.size() == 1 ? find_adopted_client(arguments.words.front()) : nullptr;
  if (client == nullptr || arguments.has_command) {
    return tool_error(kBadUsage, "adopt: expected one CLIENT: " + joined(words, ", "));
  }
  return Adoption(*client, arguments, surroundings).run();
}

}  // namespace

extern const Tool kAdoptTool{"adopt",     "CLIENT",    "put a client's servers behind a gateway",
                             kAdoptUsage, kAdoptAbout, kAdoptOptions,
                             false,       adopt_client};

}  // namespace stdgate::tools
