#include "gateway/mcp/server_memory.h"

#include <algorithm>
#include <utility>

#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::mcp {

namespace {

constexpr std::string_view kFileMethod = "memory";
// The depth that a child's message may have, inside the frame of the file.
constexpr size_t kMaxFileDepth = 2048;

// Between two that are saved: each costs the loop the time to write its text.
constexpr Duration kSaveGap = std::chrono::milliseconds(10);

bool is_other_version(std::string_view one, std::string_view other) {
  const std::string_view was = rpc::member_or_empty(one, "serverInfo");
  const std::string_view is = rpc::member_or_empty(other, "serverInfo");
  return !was.empty() && !is.empty() && was != is;
}

}  // namespace

uint64_t digest_of(std::string_view text) {
  uint64_t digest = 14695981039346656037U;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return digest <= session::ToldLists::kMixed ? digest + 2 : digest;
}

const ServerMemory::Variant* ServerMemory::find(std::string_view name) const {
  const auto found = std::ranges::find(variants_, name, &Variant::name);
  return found == variants_.end() ? nullptr : &*found;
}

const std::string* ServerMemory::greeting(std::string_view variant) const {
  const Variant* const known = find(variant);
  return known == nullptr || known->greeting.empty() ? nullptr : &known->greeting;
}

std::optional<PeerKind> ServerMemory::peer_kind(std::string_view variant) const {
  const Variant* const known = find(variant);
  return known == nullptr ? std::nullopt : known->peer_kind;
}

const ServerMemory::List* ServerMemory::list(std::string_view variant, McpListKind kind) const {
  const Variant* const known = find(variant);
  if (known == nullptr) return nullptr;
  const std::optional<Kept>& kept = known->lists[static_cast<size_t>(kind)];
  return kept ? &kept->list : nullptr;
}

bool ServerMemory::greets_sessions() const {
  return std::ranges::any_of(
      variants_, [](const Variant& one) { return !one.name.empty() && !one.greeting.empty(); });
}

ServerMemory::Variant& ServerMemory::use(std::string_view name) {
  auto found = std::ranges::find(variants_, name, &Variant::name);
  if (found == variants_.end()) {
    if (variants_.size() == kMaxVariants) {
      variants_.erase(std::ranges::min_element(variants_, {}, &Variant::used));
    }
    found = variants_.emplace(variants_.end());
    found->name = name;
  }
  found->used = ++uses_;
  return *found;
}

// A child of another era counts as another server.
ServerMemory::Variant& ServerMemory::use(std::string_view name, PeerKind peer_kind) {
  Variant& variant = use(name);
  if (variant.peer_kind == peer_kind) return variant;
  variant.peer_kind = peer_kind;
  variant.greeting.clear();
  variant.lists = {};
  return variant;
}

// --- Learning -------------------------------------------------------------------------------

Learned ServerMemory::learn_greeting(std::string_view variant, PeerKind peer_kind,
                                     std::string_view payload) {
  if (payload.size() > kMaxEntry || variant.size() > kMaxName) return Learned::ignored;
  std::string& kept = use(variant, peer_kind).greeting;
  if (kept == payload) return Learned::same;
  const bool is_first = kept.empty();
  // With another version of the server, lists that differ are no sign that each client has its own.
  // Only the version counts, because the rest of the greeting may be for one client.
  if (!is_first && is_other_version(kept, payload)) lists_differ_ = false;
  kept = payload;
  note_change();
  return is_first ? Learned::first : Learned::changed;
}

Learned ServerMemory::learn_list(std::string_view variant, PeerKind peer_kind, McpListKind kind,
                                 std::string payload, const MemorySource& source, bool is_for_all,
                                 const std::function<bool(const MemorySource&)>& still_runs) {
  if (lists_differ_ || payload.size() > kMaxEntry || variant.size() > kMaxName) {
    return Learned::ignored;
  }
  Variant& known = use(variant, peer_kind);
  const auto index = static_cast<size_t>(kind);
  std::optional<Kept>& kept = known.lists[index];
  const uint64_t digest = digest_of(payload);
  if (!kept) {
    kept = Kept{{std::move(payload), digest}, source};
    note_change();
    return Learned::first;
  }
  MemorySource before = std::exchange(kept->source, source);
  if (is_for_all) kept->source.principal = before.principal;
  const bool is_of_file = before.holder == 0;
  const bool is_other_session = before.session != source.session || before.holder != source.holder;
  if (kept->list.payload == payload) {
    if (is_other_session && !is_of_file) known.swings[index] = 0;
    return Learned::same;
  }
  const bool is_of_session = source.session != 0 && is_other_session && !is_of_file;
  const bool is_other_principal =
      !is_of_file && !is_for_all && before.principal != source.principal;
  const bool differs =
      is_other_principal ||
      (is_of_session && (still_runs(before) || ++known.swings[index] >= kMaxSwings));
  if (differs) {
    lists_differ_ = true;
    forget_all_lists();
    note_change();
    return Learned::differs;
  }
  kept->list = {std::move(payload), digest};
  note_change();
  return Learned::changed;
}

void ServerMemory::forget_lists(std::string_view variant, uint8_t bits) {
  const auto found = std::ranges::find(variants_, variant, &Variant::name);
  if (found == variants_.end()) return;
  bool is_changed = false;
  for (size_t i = 0; i < kMcpListings.size(); ++i) {
    if ((kMcpListings[i].list.bit & bits) == 0 || !found->lists[i]) continue;
    found->lists[i].reset();
    is_changed = true;
  }
  if (is_changed) note_change();
}

std::vector<std::string_view> ServerMemory::words() const {
  std::vector<std::string_view> words;
  const auto has = [this](const auto& is_there) {
    return std::ranges::any_of(variants_, is_there);
  };
  if (has([](const Variant& one) { return !one.greeting.empty(); })) words.emplace_back("greeting");
  for (size_t i = 0; i < kMcpListings.size(); ++i) {
    if (has([i](const Variant& one) { return one.lists[i].has_value(); })) {
      words.push_back(kMcpListings[i].word);
    }
  }
  return words;
}

void ServerMemory::forget_all_lists() {
  for (Variant& variant : variants_) variant.lists = {};
}

void ServerMemory::count() {
  bytes_ = 0;
  for (const Variant& variant : variants_) {
    bytes_ += variant.name.size();
    bytes_ += variant.greeting.size();
    for (const std::optional<Kept>& kept : variant.lists) {
      if (kept) bytes_ += kept->list.payload.size();
    }
  }
  held_.set(bytes_);
}

// The variant used last goes last.
void ServerMemory::settle_size() {
  for (count(); bytes_ > kMaxBytes || held_.lack() != MemoryLack::none; count()) {
    if (variants_.empty()) return;
    variants_.erase(std::ranges::min_element(variants_, {}, &Variant::used));
  }
}

void ServerMemory::note_change() {
  settle_size();
  on_change_();
}

void ServerMemory::note_sessions(bool has_none) {
  if (std::exchange(has_no_sessions_, has_none) != has_none) note_change();
}

// --- Files ----------------------------------------------------------------------------------

// Writes a notification, so that the parser of messages can check the file and its contents.
std::string ServerMemory::text() const {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
  json.begin_object();
  json.text("jsonrpc", "2.0");
  json.text("method", kFileMethod);
  json.begin_object("params");
  json.boolean("listsDiffer", lists_differ_);
  json.boolean("hasNoSessions", has_no_sessions_);
  json.begin_array("variants");
  for (const Variant& variant : variants_) {
    json.begin_object();
    json.text("name", variant.name);
    if (variant.peer_kind) json.text("era", peer_kind_name(*variant.peer_kind));
    if (!variant.greeting.empty()) json.raw("greeting", variant.greeting);
    for (size_t i = 0; i < kMcpListings.size(); ++i) {
      if (variant.lists[i]) json.raw(kMcpListings[i].word, variant.lists[i]->list.payload);
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  json.end_object();
  return json.take();
}

bool ServerMemory::read(std::string text) {
  rpc::EnvelopeParser parser({.depth = kMaxFileDepth});
  const auto document = parser.parse(text);
  if (!document || document->batch || !document->messages[0].ok()) return false;
  const rpc::Envelope& envelope = document->messages[0].envelope;
  if (envelope.kind != rpc::MessageKind::notification || envelope.method != kFileMethod) {
    return false;
  }
  const std::string_view all = rpc::member_or_empty(envelope.params, "variants");
  variants_.clear();
  lists_differ_ = rpc::member_or_empty(envelope.params, "listsDiffer") == "true";
  has_no_sessions_ = rpc::member_or_empty(envelope.params, "hasNoSessions") == "true";
  rpc::JsonCursor cursor(all);
  bool is_good = cursor.take('[');
  if (is_good && !cursor.take(']')) {
    do {
      is_good = read_variant(cursor.take_value());
    } while (is_good && cursor.take(','));
  }
  if (!is_good) {
    variants_.clear();
    lists_differ_ = has_no_sessions_ = false;
  }
  settle_size();
  return is_good;
}

bool ServerMemory::read_variant(std::string_view object) {
  const rpc::Member name = rpc::find_member(object, "name");
  if (variants_.size() == kMaxVariants || !name || !name->starts_with('"')) return false;
  std::string scratch;
  const std::string_view decoded = rpc::decode_string(rpc::string_content(*name), scratch);
  if (decoded.size() > kMaxName || find(decoded) != nullptr) return false;
  Variant& variant = use(decoded);
  const auto answer = [&](std::string_view key) -> std::optional<std::string_view> {
    const rpc::Member member = rpc::find_member(object, key);
    if (rpc::is_absent(member)) return std::string_view();
    const bool is_good = member && member->starts_with('{') && member->size() <= kMaxEntry;
    return is_good ? std::optional(*member) : std::nullopt;
  };
  const auto greeting = answer("greeting");
  if (!greeting) return false;
  const std::string_view peer_kind = rpc::string_content(rpc::member_or_empty(object, "era"));
  if (peer_kind != peer_kind_name(PeerKind::stateful) &&
      peer_kind != peer_kind_name(PeerKind::stateless))
    return false;
  variant.peer_kind =
      peer_kind == peer_kind_name(PeerKind::stateless) ? PeerKind::stateless : PeerKind::stateful;
  variant.greeting = *greeting;
  for (size_t i = 0; i < kMcpListings.size(); ++i) {
    const auto list = answer(kMcpListings[i].word);
    if (!list) return false;
    if (!list->empty() && !lists_differ_) {
      variant.lists[i] = Kept{{std::string(*list), digest_of(*list)}, {}};
    }
  }
  return true;
}

ServerMemories::ServerMemories(const Services& services)
    : services_(services), timer_(services.timers, [this] { save_next(); }) {}

ServerMemories::~ServerMemories() {
  for (const std::string& key : changed_) save(key);
}

std::shared_ptr<ServerMemory> ServerMemories::of(const std::string& key) {
  const auto found = memories_.find(key);
  if (found != memories_.end()) return found->second;
  if (memories_.size() >= kMaxServers) drop_unused();
  auto memory = std::make_shared<ServerMemory>([this, key] { note_change(key); }, services_.payer);
  if (services_.store != nullptr) {
    if (auto text = services_.store->load(key)) memory->read(std::move(*text));
  }
  // A memory beyond the limit is not found again after a reload.
  if (memories_.size() < kMaxServers) memories_.emplace(key, memory);
  return memory;
}

void ServerMemories::drop_unused() {
  std::erase_if(memories_, [this](const auto& one) {
    if (one.second.use_count() > 1) return false;
    if (changed_.erase(one.first) > 0) save(one.first);
    return true;
  });
}

void ServerMemories::note_change(const std::string& key) {
  if (services_.store == nullptr || !memories_.contains(key)) return;
  changed_.insert(key);
  if (!timer_.armed()) timer_.arm(services_.clock.now() + kSaveDelay);
}

void ServerMemories::save_next() {
  if (changed_.empty()) return;
  save(changed_.extract(changed_.begin()).value());
  if (!changed_.empty()) timer_.arm(services_.clock.now() + kSaveGap);
}

void ServerMemories::save(const std::string& key) {
  services_.store->save(key, memories_.at(key)->text());
}

}  // namespace stdgate::mcp
