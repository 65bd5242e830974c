#include "gateway/tools/command_peer.h"

#include <utility>

#include "gateway/config/value_names.h"
#include "gateway/rpc/json_member.h"
#include "gateway/tools/command_stage.h"
#include "gateway/tools/findings.h"

namespace stdgate::tools {

namespace {

class CommandPeer final : public Peer {
 public:
  CommandPeer(std::unique_ptr<CommandStage> stage, Duration timeout)
      : stage_(std::move(stage)),
        services_(stage_->services()),
        timeout_(timeout),
        child_(std::make_unique<Conversation>(services_, stage_->backend().framing)) {}
  ~CommandPeer() override { child_->end(stage_->backend().pool.grace); }
  CommandPeer(const CommandPeer&) = delete;
  CommandPeer& operator=(const CommandPeer&) = delete;

  // Greets it: one of the modern era is asked what it is, any other one gets a handshake.
  tl::expected<void, Trouble> open() {
    if (!child_->start(timeout_)) return tl::unexpected(why("could not be started"));
    if (stage_->backend().protocol != config::Protocol::mcp) return {};
    const config::Revision revision = stage_->backend().revision;
    if (revision != config::Revision::modern) {
      const rpc::WireId id = child_->next_id();
      const auto answer = child_->ask(id, services_.dialect.handshake(id), timeout_);
      const auto done = answer ? services_.dialect.finish_handshake(answer->envelope())
                               : tl::unexpected<std::string>("no answer to initialize");
      if (done) {
        child_->say(*done);
        return {};
      }
      if (revision == config::Revision::legacy) return tl::unexpected(why(done.error()));
    }
    const rpc::WireId id = child_->next_id();
    const auto answer = child_->ask(id, services_.dialect.probe(id), timeout_);
    if (!answer || !services_.dialect.discovery(answer->envelope())) {
      return tl::unexpected(why("did neither initialize nor server/discover"));
    }
    stamp_ = services_.dialect.stamp({});
    return {};
  }

  tl::expected<std::vector<PeerBackend>, Trouble> backends() override {
    const config::BackendConfig& backend = stage_->backend();
    std::string command;
    for (const std::string& word : backend.command) {
      command.append(command.empty() ? "" : " ").append(word);
    }
    return std::vector{
        PeerBackend{backend.name, std::string(config::name_of(backend.protocol)), {command}}};
  }

  tl::expected<std::string, Trouble> call(const std::string& /*backend*/, const std::string& method,
                                          const std::string& params) override {
    const rpc::WireId id = child_->next_id();
    auto answer = child_->ask(id, request_text(id, method, stamped(params)), timeout_);
    if (!answer) return tl::unexpected(why("gave no answer to " + method));
    return std::move(answer->text);
  }

 private:
  // With what a modern child demands of each request, if the caller has not said it.
  [[nodiscard]] std::string stamped(const std::string& params) const {
    if (stamp_.empty() || rpc::find_member(params, "_meta")) return params;
    const std::string meta = R"("_meta":{)" + stamp_ + "}";
    const size_t open = params.find('{');
    if (open == std::string::npos) return "{" + meta + "}";
    const bool is_empty = params.find('"', open) == std::string::npos;
    return "{" + meta + (is_empty ? "" : ",") + params.substr(open + 1);
  }

  Trouble why(const std::string& what) {
    child_->end(stage_->backend().pool.grace);
    const Observations& seen = child_->seen();
    std::string message = "the command " + what;
    if (seen.exit && seen.exited_by_itself) message += ": " + text_of(*seen.exit);
    for (const std::string& line : seen.last_words) message += "\n  | " + line;
    return {kUnreachable, message + "\nstdgate doctor says more about it"};
  }

  const std::unique_ptr<CommandStage> stage_;
  const ConversationServices services_;
  const Duration timeout_;
  std::string stamp_;
  const std::unique_ptr<Conversation> child_;
};

}  // namespace

tl::expected<std::unique_ptr<Peer>, Trouble> open_command_peer(const ToolArguments& arguments,
                                                               const ToolSurroundings& surroundings,
                                                               Duration timeout) {
  const auto config = config_of(arguments, surroundings);
  if (!config) return tl::unexpected(Trouble{kBadUsage, config.error()});
  auto stage = CommandStage::open(*config, config->backends.front(), surroundings);
  if (!stage) return tl::unexpected(Trouble{kUnreachable, stage.error()});
  const auto found = (*stage)->services().launcher.look_for((*stage)->services().launch);
  if (!found) return tl::unexpected(Trouble{kUnreachable, found.error().text()});
  auto peer = std::make_unique<CommandPeer>(*std::move(stage), timeout);
  if (auto opened = peer->open(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<Peer>(std::move(peer));
}

}  // namespace stdgate::tools
