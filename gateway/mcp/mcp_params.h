// What requests of MCP say: their params, and the tools, resources and prompts that they name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/call/call_context.h"
#include "gateway/call/insertion.h"
#include "gateway/pool/dialect.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/json_reader.h"

namespace stdgate::mcp {

// Members of _meta, raw.
struct McpMeta {
  rpc::Member version = tl::unexpected(rpc::MemberError::absent);
  rpc::Member capabilities = version;
  rpc::Member client_info = version;
  rpc::Member log_level = version;
  rpc::Member progress_token = version;
  rpc::Member related_task = version;
  // There are keys that some readers take for the key of a related task.
  bool has_similar_keys = false;
};

// Members of params. Bits, for sets of them.
enum ParamKey : uint8_t {
  kNoParam = 0,
  kMetaParam = 1,
  kNameParam = 2,
  kArgumentsParam = 4,
  kUriParam = 8,
  kTaskIdParam = 16,
  kStateParam = 32,
  kResponsesParam = 64,
};

// McpParams: the members of the params of a request, raw. They are read in one pass, because a
// transport, a virtual server and the backend need many of them for each request.
struct McpParams : call::KnownParams {
  rpc::Member meta = tl::unexpected(rpc::MemberError::absent);
  rpc::Member name = meta;
  rpc::Member arguments = meta;
  rpc::Member uri = meta;
  rpc::Member task_id = meta;
  rpc::Member request_state = meta;
  rpc::Member input_responses = meta;
  McpMeta of_meta;
  // Bits of the members for which params also have a key that some readers take for theirs
  // (json_text.h).
  uint8_t similar = 0;
  [[nodiscard]] bool has_similar(int keys) const { return (similar & keys) != 0; }
  // Whether the request names the version of the modern era that it is written for.
  [[nodiscard]] bool names_version() const { return meta && of_meta.version; }
};

// MetaMemory: the last _meta that was read. Clients repeat theirs, and an equal one is neither
// scanned nor read again. Owner: a reader of requests of few clients. Limit: kMaxText.
class MetaMemory {
 public:
  static constexpr size_t kMaxText = 1024;

  MetaMemory() = default;
  MetaMemory(const MetaMemory&) = delete;  // its views point into itself
  MetaMemory& operator=(const MetaMemory&) = delete;

  [[nodiscard]] std::string_view text() const { return text_; }
  // The members of `meta`, as views into it.
  McpMeta read(std::string_view meta);
  void forget() { text_.clear(); }

  // The parts of the text that a legacy child must not get, as places in it; nothing: not found out
  // yet.
  std::optional<call::PeerChanges> omissions;

 private:
  std::string text_;  // an object; empty: none
  McpMeta read_;      // with views into `text_`
};

// `params` is raw, and has been validated. The result has views into it.
McpParams read_params(std::string_view params, MetaMemory& memory);
// Reads without a MetaMemory, for clients whose _meta is different each time.
McpParams read_params(std::string_view params);
// `noted`: the members of these params, if a parser has noted them; they are not walked again then.
// Null: without a memory.
McpParams read_params(std::string_view params, std::span<const rpc::RawMember> noted,
                      MetaMemory* memory);
// The first _meta; empty: there is no _meta.
std::string_view first_meta(std::string_view params, const MetaMemory& memory);

// --- The tools, resources and prompts that messages of MCP name, for rules: see call::Protocol

tl::expected<call::UsedElement, const char*> used_element(const rpc::Envelope& message,
                                                          std::string_view method);
const call::ListShape* list_shape(std::string_view method);
// The errors of the reference servers (MCP 2025-11-25, server/tools, resources and prompts).
call::Absence absence(std::string_view method, policy::ElementKind kind, std::string_view name,
                      PeerKind of_client);

}  // namespace stdgate::mcp
