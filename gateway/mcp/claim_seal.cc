#include "gateway/mcp/claim_seal.h"

#include <array>
#include <cstring>

#include "gateway/rpc/json_string.h"

namespace stdgate::mcp {

namespace {

using Numbers = std::array<uint64_t, 4>;  // instance, child, number, end

// Separates claims of one kind from all other texts that are sealed with the same keys.
std::string_view purpose_of(ClaimKind kind) {
  switch (kind) {
    case ClaimKind::state:
      return "stdgate state of a server";
    case ClaimKind::task:
      return "stdgate task of a server";
    case ClaimKind::cursor:
      return "stdgate cursor of a server";
  }
  return "";
}

size_t longest_of(ClaimKind kind) {
  return kind == ClaimKind::task ? ClaimSeal::kMaxTask : ClaimSeal::kMaxText;
}

}  // namespace

bool ClaimSeal::fits(ClaimKind kind, std::string_view text) {
  return text.size() <= longest_of(kind);
}

std::optional<std::string> ClaimSeal::seal(ClaimKind kind, const GivenClaim& claim,
                                           std::string_view identity) {
  if (!fits(kind, claim.text)) return std::nullopt;
  if (!instance_) instance_ = services_.core.random();
  const auto end = static_cast<uint64_t>(claim.expires.time_since_epoch().count());
  const Numbers numbers{*instance_, claim.child, claim.number, end};
  std::string plain(reinterpret_cast<const char*>(numbers.data()), sizeof(numbers));
  plain += claim.text;
  return services_.core.states->seal_named(plain, context_of(kind, identity));
}

std::optional<GivenClaim> ClaimSeal::open(ClaimKind kind, std::string_view raw,
                                          std::string_view identity) const {
  // A longer text was never sealed: base64 adds a third, and the other fields are short.
  if (raw.size() > 2 * longest_of(kind)) return std::nullopt;
  std::string scratch;
  const std::string_view text = rpc::decode_string(rpc::string_content(raw), scratch);
  const auto plain = services_.core.states->open_named(text, context_of(kind, identity));
  Numbers numbers{};
  if (!plain || plain->size() < sizeof(numbers)) return std::nullopt;
  std::memcpy(numbers.data(), plain->data(), sizeof(numbers));
  return GivenClaim{instance_ == numbers[0], numbers[1], numbers[2],
                    TimePoint(Duration(static_cast<Duration::rep>(numbers[3]))),
                    plain->substr(sizeof(numbers))};
}

std::string ClaimSeal::context_of(ClaimKind kind, std::string_view identity) const {
  std::string context(purpose_of(kind));
  for (const std::string_view part : {std::string_view(services_.config.name), identity}) {
    context.append(1, '\0').append(std::to_string(part.size())).append(1, ':').append(part);
  }
  return context;
}

}  // namespace stdgate::mcp
