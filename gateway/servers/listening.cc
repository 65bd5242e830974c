#include "gateway/servers/listening.h"

#include <algorithm>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/call/insertion.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/pool/backend_status.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "gateway/servers/server_messages.h"

namespace stdgate::servers {

size_t Presence::size() const {
  size_t size = 0;
  for (const auto& [identity, count] : counts_) size += count;
  return size;
}

void Presence::come(const std::string& identity, As as) {
  if (++counts_[identity] == 1) is_changed_ = true;
  if (as == As::listener && ++listeners_ == 1) is_changed_ = true;
}

void Presence::go(const std::string& identity, As as) {
  const auto found = counts_.find(identity);
  STDGATE_CHECK(found != counts_.end());
  if (as == As::listener && --listeners_ == 0) is_changed_ = true;
  if (--found->second != 0) return;
  counts_.erase(found);
  is_changed_ = true;
}

namespace {

// The texts of an array, decoded.
std::vector<std::string> texts_of(std::string_view array) {
  std::vector<std::string> texts;
  std::string scratch;
  for_each_element(array, [&](std::string_view one) {
    const std::string_view content = rpc::string_content(one);
    const bool fits = content.size() <= Listening::kMaxUri && texts.size() < Listening::kMaxUris;
    if (one.starts_with('"') && fits) texts.emplace_back(rpc::decode_string(content, scratch));
  });
  return texts;
}

// A member with an array of texts, with its comma if others stand before it.
void append_texts(std::string_view key, const std::vector<std::string>& texts, std::string& out) {
  if (texts.empty()) return;
  if (out.back() != '{') out += ',';
  out.append("\"").append(key).append("\":[");
  for (const std::string& text : texts) {
    if (out.back() != '[') out += ',';
    out += json_text(text);
  }
  out += ']';
}

}  // namespace

tl::expected<ListenedWishes, const char*> Listening::wishes_of(std::string_view params) {
  const auto wishes = rpc::find_clear_member(params, "notifications");
  if (rpc::is_absent(wishes)) return ListenedWishes();
  if (!wishes) return tl::unexpected<const char*>("readers could see different notifications");
  const auto tasks = rpc::find_clear_member(*wishes, mcp::kTasksWish);
  if (!tasks && !rpc::is_absent(tasks)) {
    return tl::unexpected<const char*>("readers could see different taskIds");
  }
  return ListenedWishes{texts_of(rpc::member_or_empty(*wishes, mcp::kUpdatesWish)),
                        texts_of(tasks.value_or(std::string_view()))};
}

std::string Listening::request_for(session::Tag tag, std::string_view meta,
                                   const ListenedWishes& wishes) {
  std::string params = R"({"_meta":)" + std::string(meta) + R"(,"notifications":{)";
  append_texts(mcp::kUpdatesWish, wishes.uris, params);
  append_texts(mcp::kTasksWish, wishes.tasks, params);
  return rpc::request_text(tag, "subscriptions/listen", params.append("}}"));
}

void Listening::begin(uint64_t key, call::CallPtr call, uint8_t lists,
                      const ListenedWishes& heard) {
  call->has_begun = true;
  const call::Call& kept = *call;
  clients_.come(kept.identity, Presence::As::listener);
  keys_.of(call->slots) = key;
  listeners_.emplace(key, Listener{kept, lists});
  chain_.keep(std::move(call), TimePoint::max());
  session::ReplySink* const sink = callers_.find(kept.caller);
  if (sink == nullptr) return;
  sink->on_event(kept.tag, mcp::listening_acknowledgement(kept.id, lists, heard.uris, heard.tasks));
}

// The member's tag is the id of the gateway's own call.
void Listening::on_event(uint64_t key, std::string_view notification) {
  const auto found = listeners_.find(key);
  if (found == listeners_.end()) return;
  const rpc::KnownMessage known{std::string(notification)};
  const std::string plain = mcp::untagged(known.envelope());
  if (!plain.empty()) tell(found->second.call, plain);
}

void Listening::tell(const call::Call& call, std::string_view notification) {
  session::ReplySink* const sink = callers_.find(call.caller);
  if (sink == nullptr) return;
  const rpc::KnownMessage known{std::string(notification)};
  const std::string tag = mcp::subscription_tag(call.id);
  const auto insertion = call::insertion_at(call::InsertionPlace::meta, known.envelope(), tag);
  if (!insertion) return;
  TextEdits edits(known.envelope().text);
  edits.insert(*insertion);
  sink->on_event(call.tag, edits.apply());
}

void Listening::tell_changed(const ListNews& news) {
  for (const auto& [key, listener] : listeners_) {
    const call::Call& call = listener.call;
    const auto lists = static_cast<uint8_t>(news.of(call.identity, {}) & listener.lists);
    for (const mcp::McpList& list : mcp::kMcpLists) {
      if ((list.bit & lists) == 0) continue;
      tell(call, rpc::notification_text(list.changed));
    }
  }
}

void Listening::end_all() {
  const auto listens = [this](const call::Call& call) { return keys_.find(call.slots) != nullptr; };
  for (const call::CallPtr& call : chain_.take_held(listens)) {
    chain_.answer(*call, Outcome::ok(), mcp::listening_end(call->id));
  }
}

std::optional<uint64_t> Listening::note_end(const call::Call& call) {
  const uint64_t* const key = keys_.find(call.slots);
  if (key == nullptr) return std::nullopt;
  listeners_.erase(*key);
  clients_.go(call.identity, Presence::As::listener);
  return *key;
}

void MemberListening::settle(backend::Upstream& upstream,
                             const std::vector<const policy::Principal*>& wanted, bool may_wake) {
  std::map<std::string, const policy::Principal*> missing;
  for (const policy::Principal* const one : wanted) missing.emplace(policy::identity_of(one), one);
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (missing.erase(call->first) == 1) {
      ++call;
      continue;
    }
    const Call over = std::move(call->second);
    call = calls_.erase(call);
    cancel(upstream, over);
  }
  if (missing.empty()) return;
  const pool::BackendStatus status = upstream.status();
  if (status.peer_kind != PeerKind::stateless || (status.asleep && !may_wake)) return;
  for (const auto& [identity, principal] : missing) {
    Call& call = calls_[identity];
    call.tag = ++last_tag_;
    if (principal != nullptr) call.principal = *principal;
    const std::optional<policy::Principal> kept = call.principal;  // it may end at once
    call::CallContext context = context_for(kept);
    context.tag = call.tag;
    const rpc::KnownMessage known(mcp::listen_request(stamp_, true, {}));
    upstream.accept({known.envelope()}, context);
  }
}

call::CallContext MemberListening::context_for(const std::optional<policy::Principal>& of) const {
  call::CallContext context;
  context.caller = caller_.caller();
  context.peer_kind = PeerKind::stateless;
  context.arrived = clock_.now();
  context.is_own = context.wants_events = true;
  if (of) context.principal = &*of;
  return context;
}

void MemberListening::cancel(backend::Upstream& upstream, const Call& call) const {
  const rpc::KnownMessage known(
      rpc::notification_text("notifications/cancelled", R"({"requestId":"listen"})"));
  upstream.take_cancel({known.envelope()}, context_for(call.principal));
}

bool MemberListening::note_end(session::Tag tag) {
  if (tag < kFirstTag) return false;
  std::erase_if(calls_, [tag](const auto& call) { return call.second.tag == tag; });
  return true;
}

}  // namespace stdgate::servers
