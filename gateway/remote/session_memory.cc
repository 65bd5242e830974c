#include "gateway/remote/session_memory.h"

#include <algorithm>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::remote {

namespace {

// The text that the gateway sends when a child was replaced (docs/sessions.md).
constexpr std::string_view kNotice =
    R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning",)"
    R"("logger":"stdgate","data":"the server was restarted; what it kept in memory is gone"}})";

}  // namespace

void SessionMemory::learn(const ClientMessage& message) {
  if (message.is_batch) return;
  if (message.method == "initialize") {
    forget();
    greeting_ = message;
    return;
  }
  if (message.method == "notifications/initialized") {
    greeted_ = message;
    has_greeted_ = true;
    return;
  }
  has_served_ = has_served_ || (message.is_request() && message.method != "ping");
  if (message.method == "logging/setLevel") level_ = message;
  const bool begins = message.method == "resources/subscribe";
  if (!begins && message.method != "resources/unsubscribe") return;
  std::erase_if(wishes_, [&](const ClientMessage& wish) { return wish.target == message.target; });
  if (!begins) return;
  if (wishes_.size() == kMaxWishes) wishes_.erase(wishes_.begin());
  wishes_.push_back(message);
}

bool SessionMemory::note_greeting(const rpc::Envelope& answer) {
  std::string terms;
  for (const std::string_view key : {"serverInfo", "instructions"}) {
    terms.append(rpc::member_or_empty(answer.payload, key)).append("\n");
  }
  const std::string_view offered = rpc::member_or_empty(answer.payload, "capabilities");
  const std::string_view revision =
      rpc::string_content(rpc::member_or_empty(answer.payload, "protocolVersion"));
  const bool is_first = revision_.empty();
  has_changed_ = !is_first && (terms != terms_ || offered != capabilities_);
  if (!is_first && revision != revision_) return false;
  terms_ = std::move(terms);
  capabilities_ = offered;
  revision_ = revision;
  return true;
}

std::vector<ClientMessage> SessionMemory::wishes() const {
  std::vector<ClientMessage> all;
  if (greeted_) all.push_back(*greeted_);
  if (level_) all.push_back(*level_);
  all.insert(all.end(), wishes_.begin(), wishes_.end());
  return all;
}

std::vector<std::string> SessionMemory::notices() const {
  std::vector<std::string> notices;
  if (has_served_) notices.emplace_back(kNotice);
  if (!has_changed_) return notices;
  for (const mcp::McpList& list : mcp::kMcpLists) {
    if (!rpc::find_member(capabilities_, list.capability)) continue;
    notices.push_back(R"({"jsonrpc":"2.0","method":")" + std::string(list.changed) + R"("})");
  }
  return notices;
}

}  // namespace stdgate::remote
