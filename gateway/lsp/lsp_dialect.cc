#include "gateway/lsp/lsp_dialect.h"

#include <algorithm>
#include <array>

#include "gateway/pool/child_facts.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::lsp {

namespace {

constexpr std::string_view kCancel = "$/cancelRequest";

constexpr auto kMethods = std::to_array<std::string_view>({
    "initialize",
    "initialized",
    "shutdown",
    "exit",
    kCancel,
    "$/progress",
    "$/setTrace",
    "$/logTrace",
    "client/registerCapability",
    "client/unregisterCapability",
    "telemetry/event",
    "window/showMessage",
    "window/showMessageRequest",
    "window/showDocument",
    "window/logMessage",
    "window/workDoneProgress/create",
    "window/workDoneProgress/cancel",
    "workspace/applyEdit",
    "workspace/configuration",
    "workspace/workspaceFolders",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWorkspaceFolders",
    "workspace/didChangeWatchedFiles",
    "workspace/willCreateFiles",
    "workspace/didCreateFiles",
    "workspace/willRenameFiles",
    "workspace/didRenameFiles",
    "workspace/willDeleteFiles",
    "workspace/didDeleteFiles",
    "workspace/executeCommand",
    "workspace/symbol",
    "workspaceSymbol/resolve",
    "workspace/diagnostic",
    "workspace/diagnostic/refresh",
    "workspace/codeLens/refresh",
    "workspace/inlayHint/refresh",
    "workspace/inlineValue/refresh",
    "workspace/semanticTokens/refresh",
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/willSave",
    "textDocument/willSaveWaitUntil",
    "textDocument/didSave",
    "textDocument/didClose",
    "textDocument/publishDiagnostics",
    "textDocument/diagnostic",
    "textDocument/completion",
    "completionItem/resolve",
    "textDocument/hover",
    "textDocument/signatureHelp",
    "textDocument/declaration",
    "textDocument/definition",
    "textDocument/typeDefinition",
    "textDocument/implementation",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/documentSymbol",
    "textDocument/codeAction",
    "codeAction/resolve",
    "textDocument/codeLens",
    "codeLens/resolve",
    "textDocument/documentLink",
    "documentLink/resolve",
    "textDocument/documentColor",
    "textDocument/colorPresentation",
    "textDocument/formatting",
    "textDocument/rangeFormatting",
    "textDocument/onTypeFormatting",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/foldingRange",
    "textDocument/selectionRange",
    "textDocument/linkedEditingRange",
    "textDocument/moniker",
    "textDocument/inlineValue",
    "textDocument/inlayHint",
    "inlayHint/resolve",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/full/delta",
    "textDocument/semanticTokens/range",
    "textDocument/prepareCallHierarchy",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "textDocument/prepareTypeHierarchy",
    "typeHierarchy/supertypes",
    "typeHierarchy/subtypes",
    "notebookDocument/didOpen",
    "notebookDocument/didChange",
    "notebookDocument/didSave",
    "notebookDocument/didClose",
});

// Methods that every session needs.
constexpr auto kLifecycle =
    std::to_array<std::string_view>({"initialize", "initialized", "shutdown", "exit", kCancel,
                                     "$/progress", "$/setTrace", "window/workDoneProgress/cancel"});

bool is_number(std::string_view raw) {
  return !raw.empty() && (raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9'));
}

}  // namespace

LspDialect::LspDialect()
    : pool::Dialect({.shares_children = false,
                     .methods = kMethods,
                     .exit = R"({"jsonrpc":"2.0","method":"exit"})"}) {}

bool LspDialect::is_lifecycle(std::string_view method) const {
  return std::ranges::find(kLifecycle, method) != kLifecycle.end();
}

// InitializeResult names no version of the protocol.
std::optional<pool::ChildFacts> LspDialect::facts(const rpc::Envelope& answer,
                                                  std::string_view /*method*/) const {
  return pool::greeting_facts(answer.payload);
}

tl::expected<call::ClientIntent, const char*> LspDialect::read_client(
    const rpc::Envelope& message, std::string_view method, const call::Reading& /*reading*/) const {
  call::ClientIntent intent;
  if (message.kind == rpc::MessageKind::notification && method == kCancel) {
    const auto id = rpc::find_member(message.params, "id");
    if (!id && id.error() == rpc::MemberError::duplicate) {
      return tl::unexpected<const char*>("params name id twice");
    }
    intent.kind = call::ClientIntent::Kind::cancel;
    if (id) intent.cancelled_id = *id;
  } else if (message.kind == rpc::MessageKind::request && method == "initialize") {
    intent.introduces = true;
    const auto process = rpc::find_member(message.params, "processId");
    if (!process && process.error() == rpc::MemberError::duplicate) {
      return tl::unexpected<const char*>("params name processId twice");
    }
    // A null stays: it says that there is no process to watch.
    if (process && is_number(*process)) {
      intent.replaced = *process;
      intent.replacement = "null";
    }
  }
  return intent;
}

std::string LspDialect::cancel(rpc::WireId id, pool::CancelReason /*reason*/) const {
  return rpc::notification_text(kCancel, R"({"id":)" + std::to_string(id) + "}");
}

std::string_view LspDialect::cancelled_by_child(const rpc::Envelope& notification,
                                                std::string_view method) const {
  if (method != kCancel) return {};
  return rpc::find_member(notification.params, "id").value_or(std::string_view());
}

std::string LspDialect::shutdown_request(rpc::WireId id) const {
  return rpc::request_text(id, "shutdown");
}

}  // namespace stdgate::lsp
