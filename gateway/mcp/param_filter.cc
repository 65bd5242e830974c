#include "gateway/mcp/param_filter.h"

#include <utility>

#include "gateway/call/call.h"
#include "gateway/mcp/list_requests.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/pool/dialect.h"

namespace stdgate::mcp {

namespace {

constexpr uint8_t kTools = kMcpLists[0].bit;

// Size of what is kept of a tool.
size_t bytes_of(const MarkedTool& tool) {
  size_t bytes = 2 * tool.name.size();
  for (const MarkedArgument& argument : tool.arguments) {
    bytes += argument.field.size();
    for (const std::string& key : argument.path) bytes += key.size() + sizeof(std::string);
  }
  return bytes;
}

}  // namespace

ParamFilter::ParamFilter(const pool::FilterServices& services, const McpDialect& dialect)
    : services_(services.services),
      pool_(services.pool),
      chain_(services.services.chain),
      states_(services.services.calls.reserve<State>()),
      dialect_(dialect) {}

// --- Calls ----------------------------------------------------------------------------------

bool ParamFilter::is_unsettled(std::string_view tool) {
  if (tool.empty() || tools_.find(tool) != tools_.end()) return false;
  return is_asked_ || (now() >= not_before_ && !pool_.is_draining());
}

void ParamFilter::compare(call::CallPtr& call, const call::Request& request) {
  const std::string_view fields = *request.context.mirrored;
  // Usually the request is not read again.
  if (is_known_ || !is_unsettled(called_tool(request.message, tool_))) {
    return refuse_mismatch(call, request.message, fields);
  }
  states_.of(call->slots).fields = fields;
  call->kept_bytes += fields.size();
  if (!is_asked_ || until_ <= now()) until_ = now() + kMaxWait;
  if (!chain_.hold(call, request, until_)) {
    const auto report = rpc::faults::overloaded("too many calls wait for the list of tools");
    return chain_.on_fault(std::move(call), report);
  }
  if (is_asked_) return;
  has_failed_ = false;
  begin_asking();
}

void ParamFilter::on_released(call::CallPtr call, const call::Request& request) {
  const std::string fields = std::exchange(states_.of(call->slots).fields, {});
  call->kept_bytes -= fields.size();
  refuse_mismatch(call, request.message, fields);
  if (call != nullptr) chain_.go_on(std::move(call), request);
}

void ParamFilter::refuse_mismatch(call::CallPtr& call, const rpc::Envelope& request,
                                  std::string_view fields) {
  if (tools_.empty()) return;
  const auto tool = tools_.find(called_tool(request, tool_));
  if (tool == tools_.end()) return;
  const auto why = header_mismatch(tool->second, request, fields);
  if (!why) return;
  const call::CallPtr refused = std::move(call);
  chain_.answer_error(*refused, {rpc::RpcError::header_mismatch, *why});
}

// --- The list -------------------------------------------------------------------------------

void ParamFilter::begin_asking() {
  is_asked_ = true;
  has_changed_ = false;
  pages_ = 0;
  ask({}, 0);
}

void ParamFilter::ask(std::string_view cursor, uint64_t child) {
  ++pages_;
  const auto mark = [this](call::Call& own) { states_.of(own.slots).is_own = true; };
  const auto taken = ask_for_page({.method = kToolList, .cursor = cursor, .child = child},
                                  {services_, pool_, dialect_}, mark);
  if (!taken) end_asking(false);
}

void ParamFilter::learn(call::CallPtr& call, const rpc::Envelope& answer) {
  if (is_own(*call)) {
    const call::CallPtr own = std::move(call);
    // Pages of two children are no list.
    if (pages_ == 1) from_ = own->child;
    if (from_ != own->child) return ask_anew();
    const auto page = read_tool_page(answer);
    if (page) keep(*page);
    if (page && !page->cursor.empty() && pages_ < kMaxPages) return ask(page->cursor, own->child);
    return end_asking(page.has_value());
  }
  const bool is_private = call->alone || (!call->session.is_none() &&
                                          services_.config.isolation == config::Isolation::session);
  if (is_private || (tools_.empty() && !may_mark(answer))) return;
  if (const auto page = read_tool_page(answer)) keep(*page);
}

void ParamFilter::on_fault(call::CallPtr& call, const rpc::FaultReport& /*report*/) {
  if (!is_own(*call)) return;
  const call::CallPtr own = std::move(call);
  if (pages_ > 1) return ask_anew();
  end_asking(false);
}

// The child that has given the first pages has ended.
void ParamFilter::ask_anew() {
  if (std::exchange(has_failed_, true) || pool_.is_draining()) return end_asking(false);
  begin_asking();
}

void ParamFilter::end_asking(bool is_known) {
  is_asked_ = false;
  is_known_ = is_known && !has_changed_;
  if (!is_known) not_before_ = now() + kAskAgain;
  chain_.release(*this);
}

bool ParamFilter::on_child_message(call::ChildMessage& message) {
  const auto change = pool::change_told_by(message, services_.dialect);
  if (!change || (change->list & kTools) == 0) return true;
  is_known_ = false;
  has_changed_ = true;
  not_before_ = {};
  tools_.clear();
  text_bytes_ = 0;
  return true;
}

void ParamFilter::keep(const ToolPage& page) {
  for (const MarkedTool& tool : page.tools) {
    remove(tool.name);
    const size_t bytes = bytes_of(tool);
    const bool fits = tools_.size() < kMaxTools && text_bytes_ + bytes <= kMaxTextBytes;
    if (tool.arguments.empty() || !fits) continue;
    tools_.emplace(tool.name, tool);
    text_bytes_ += bytes;
  }
}

void ParamFilter::remove(std::string_view name) {
  const auto known = tools_.find(name);
  if (known == tools_.end()) return;
  text_bytes_ -= bytes_of(known->second);
  tools_.erase(known);
}

}  // namespace stdgate::mcp
