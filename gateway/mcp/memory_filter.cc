#include "gateway/mcp/memory_filter.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/session_memory.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {

namespace {

constexpr std::string_view kInitialize = "initialize";
constexpr std::string_view kDiscover = "server/discover";
constexpr std::string_view kPing = "ping";
constexpr std::string_view kNextCursor = "nextCursor";
// A greeting with longer params is not kept, see SessionMemory.
constexpr size_t kMaxGreeting = pool::SessionMemory::kMaxGreeting;

bool is_of_gateway(const call::Call& call) {
  return call.is_own && call.caller == session::Callers::kGateway;
}

// The parts of a greeting that answers may depend on.
std::string variant_named(std::string_view greeting) {
  std::string name(rpc::string_content(rpc::member_or_empty(greeting, "protocolVersion")));
  return name.append("\n").append(rpc::member_or_empty(greeting, "capabilities"));
}

uint64_t number_of(session::SessionId session) {
  return session.is_none() ? 0 : (uint64_t{session.generation} << 32U | session.index) + 1;
}

// The elements of an array, raw, without its brackets.
std::string_view elements_of(std::string_view result, std::string_view member) {
  const std::string_view array = rpc::member_or_empty(result, member);
  return array.starts_with('[') ? array.substr(1, array.size() - 2) : std::string_view();
}

bool has_elements(std::string_view elements) {
  return elements.find_first_not_of(" \t\r\n") != std::string_view::npos;
}

// Empty on the last page.
std::string_view next_cursor(std::string_view result) {
  const std::string_view next = rpc::member_or_empty(result, kNextCursor);
  return next == "null" ? std::string_view() : next;
}

// The cursor of the page that is asked for; empty: the first page. Nothing: the request has other
// params too.
std::optional<std::string_view> asked_cursor(std::string_view params) {
  std::string_view asked;
  rpc::JsonCursor cursor(params);
  if (!cursor.take('{') || cursor.take('}')) return asked;
  do {
    const std::string_view key = rpc::string_content(cursor.take_string());
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    if (rpc::json_string_equals(key, kMetaKey)) continue;
    if (!rpc::json_string_equals(key, "cursor") || !asked.empty()) return std::nullopt;
    if (value != "null") asked = value;
  } while (cursor.take(','));
  return asked;
}

// The first page, changed as if it were the whole list.
std::string whole_list(std::string_view first, std::string_view member, std::string_view more) {
  std::string whole = "{";
  rpc::JsonCursor cursor(first);
  if (!cursor.take('{')) return {};
  do {
    const std::string_view key = cursor.take_string();
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    if (rpc::json_string_equals(rpc::string_content(key), kNextCursor)) continue;
    if (whole.size() > 1) whole += ',';
    whole.append(key).append(":");
    if (rpc::json_string_equals(rpc::string_content(key), member) && value.starts_with('[')) {
      whole.append(value.substr(0, value.size() - 1)).append(more).append("]");
    } else {
      whole.append(value);
    }
  } while (cursor.take(','));
  return whole.append("}");
}

}  // namespace

MemoryFilter::MemoryFilter(FindMemory find, const Parts& parts)
    : SleepingServer(parts),
      find_(std::move(find)),
      memory_(find_()),
      looked_(now()),
      holder_(memory_->add_holder()),
      pages_of_calls_(parts.services.calls.reserve<Page>()),
      held_(parts.services.payer, Holding::caches),
      timer_(parts.services.core.timers, [this] { check_next(); }) {}

// As if the session had been told each list by the server that sleeps.
void MemoryFilter::note_heard(session::SessionId session) {
  session::ToldLists* const told = told_to(session);
  for (size_t kind = 0; kind < kMcpListings.size(); ++kind) {
    const ServerMemory::List* const list = memory_->list({}, static_cast<McpListKind>(kind));
    if (list == nullptr) continue;  // no client knows it, or all have been told of its change
    if (told != nullptr) told->note(kind, list->digest);
    told_.note(kind, list->digest);
  }
  has_told_shared_ = true;
}

void MemoryFilter::describe(pool::BackendStatus& status) const {
  status.asleep = pool().is_asleep();
  status.remembered = memory_->words();
  if (memory_->lists_differ()) status.not_remembered = "its lists differ between clients";
}

// --- Requests -------------------------------------------------------------------------------

void MemoryFilter::on_request(call::CallPtr& call, const call::Request& request) {
  const McpListing* const listing = call->tool ? nullptr : find_listing(request.method);
  if (listing != nullptr) {
    Page& page = pages_of_calls_.of(call->slots);
    const auto cursor = asked_cursor(request.message.params);
    page.is_whole = cursor.has_value();
    page.cursor = cursor.value_or(std::string_view());
  }
  if (is_of_gateway(*call) || !pool().is_asleep()) return;
  look_again();
  const bool is_answered = listing != nullptr || request.method == kInitialize ||
                           request.method == kDiscover || request.method == kPing;
  if (!is_answered) return;
  if (listing != nullptr) {
    answer_list(call, request, listing->kind);
  } else if (request.method == kPing) {
    answer_ping(call, request);
  } else {
    answer_greeting(call, request);
  }
}

// Finds the memory of the program that would be started now, which may be another one.
void MemoryFilter::look_again() {
  if (now() - looked_ < kLookEvery) return;
  looked_ = now();
  auto found = find_();
  if (found == memory_) return;
  memory_ = std::move(found);
  holder_ = memory_->add_holder();
  drop_pages();
}

// Whether the memory may answer the request. All others are left to the filters and the pool below.
bool MemoryFilter::is_served(const call::Request& request, PeerKind peer_kind) const {
  if (request.context.peer_kind != PeerKind::stateless) return true;
  // Modern clients have no sessions with children of their own.
  return request.context.session.is_none() &&
         (peer_kind == PeerKind::stateless || services().config.bridges());
}

std::optional<std::string> MemoryFilter::variant_of(session::SessionId session) const {
  const auto greeting = pool().lane().greeting_of(session);
  if (!greeting) return std::string();
  if (greeting->empty()) return std::nullopt;
  return variant_named(*greeting);
}

bool MemoryFilter::answer_list(call::CallPtr& call, const call::Request& request,
                               McpListKind kind) {
  const Page& page = pages_of_calls_.of(call->slots);
  if (!page.is_whole || !page.cursor.empty()) return false;
  const session::SessionId session = request.context.session;
  const auto variant = variant_of(session);
  const ServerMemory::List* const list = variant ? memory_->list(*variant, kind) : nullptr;
  if (list == nullptr) return false;
  const PeerKind peer_kind = memory_->peer_kind(*variant).value_or(PeerKind::stateful);
  if (!is_served(request, peer_kind)) return false;
  if (session::ToldLists* const told = told_to(session)) {
    told->note(static_cast<size_t>(kind), list->digest);
  }
  if (variant->empty()) told_.note(static_cast<size_t>(kind), list->digest);
  (variant->empty() ? has_told_shared_ : has_told_session_) = true;
  note_use(session);
  call->child_kind = peer_kind;
  give(call, list->payload);
  return true;
}

bool MemoryFilter::answer_greeting(call::CallPtr& call, const call::Request& request) {
  const session::SessionId session = request.context.session;
  const std::string_view params = request.message.params;
  const bool is_modern = request.context.peer_kind == PeerKind::stateless;
  if (is_modern != (request.method == kDiscover)) return false;
  std::string variant;
  const auto greeting = pool().lane().greeting_of(session);
  if (greeting) {
    if (!greeting->empty() || params.size() > kMaxGreeting) return false;
    variant = variant_named(params);
  }
  const std::string* const known = memory_->greeting(variant);
  if (known == nullptr) return false;
  const PeerKind peer_kind = memory_->peer_kind(variant).value_or(PeerKind::stateful);
  if (!is_served(request, peer_kind)) return false;
  // The revision in the kept answer has to be the one that this client asks for. The child decides
  // about any other revision.
  const auto version = [](std::string_view object) {
    return rpc::member_or_empty(object, "protocolVersion");
  };
  if (greeting && version(*known) != version(params)) return false;
  call->child_kind = peer_kind;
  const rpc::KnownMessage answer(rpc::result_text("0", *known));
  if (!session.is_none()) greet(request, *call, answer.envelope());
  if (variant.empty()) has_told_shared_ = true;
  give(call, answer.envelope().payload);
  return true;
}

bool MemoryFilter::answer_ping(call::CallPtr& call, const call::Request& request) {
  const auto variant = variant_of(request.context.session);
  if (!variant || memory_->greeting(*variant) == nullptr) return false;
  // Modern servers have no ping. The gateway answers it for the sessions of a modern server.
  const bool is_known =
      !request.context.session.is_none() || memory_->peer_kind(*variant) == PeerKind::stateful;
  if (request.context.peer_kind == PeerKind::stateless || !is_known) return false;
  note_use(request.context.session);
  give(call, services().dialect.answer_child(kPing));
  return true;
}

void MemoryFilter::give(call::CallPtr& call, std::string_view payload) {
  services().core.observer.on_remembered(services().backend);
  services().chain.on_result(std::move(call), payload);
}

// --- Answers --------------------------------------------------------------------------------

void MemoryFilter::on_answer(call::CallPtr& call, call::Answer& answer) {
  if (answer.message.text.empty()) return;  // the answer comes from no child
  if (has_told_shared_ || has_told_session_) note_awake(*call);
  // A tool's answer teaches nothing.
  if (call->tool || answer.message.kind != rpc::MessageKind::result || call->alone) return;
  const std::string_view method = call->method_name;
  if (const McpListing* const listing = find_listing(method)) {
    return learn_list(*call, listing->kind, answer.payload);
  }
  if (method != kInitialize && method != kDiscover) return;
  const auto own = pool().lane().greeting_of(call->session);
  if (!own) {
    const Learned learned =
        memory_->learn_greeting({}, call->child_kind.value_or(PeerKind::stateful), answer.payload);
    if (learned == Learned::changed) tell_all_that_share(UINT8_MAX);
  } else if (method == kInitialize) {
    note_greeting(call->greeting, answer.message);
  }
}

void MemoryFilter::note_greeting(std::string_view params, const rpc::Envelope& answer) {
  if (params.empty()) return;
  memory_->learn_greeting(variant_named(params), PeerKind::stateful, answer.payload);
}

bool MemoryFilter::on_child_message(call::ChildMessage& message) {
  if (const auto change = pool::change_told_by(message, services().dialect)) {
    note_change({}, change->list);
  } else if (message.call() == nullptr && !message.child().is_shared) {
    const pool::Audience audience =
        services().dialect.audience(message.message(), message.method());
    note_change(message.child().session, audience.list);
  }
  return true;
}

void MemoryFilter::note_change(session::SessionId of, uint8_t lists) {
  if (lists == 0) return;
  const auto variant = of.is_none() ? std::optional(std::string()) : variant_of(of);
  if (!variant) return;
  memory_->forget_lists(*variant, lists);
  for (size_t i = 0; i < kMcpListings.size(); ++i) {
    if ((kMcpListings[i].list.bit & lists) != 0) pages_[i].reset();
  }
  charge_pages();
}

MemorySource MemoryFilter::source_of(const call::Call& call) const {
  const bool is_leased = pool().lane().greeting_of(call.session).has_value();
  return {call.principal, holder_, call.child, is_leased ? number_of(call.session) : 0};
}

void MemoryFilter::learn_list(const call::Call& call, McpListKind kind, std::string_view payload) {
  const Page* const page = pages_of_calls_.find(call.slots);
  const auto variant = variant_of(call.session);
  if (page == nullptr || !page->is_whole || !variant) return;
  auto whole = take_page(*page, call, *variant, kind, payload);
  charge_pages();
  if (!whole) return;
  const uint64_t digest = digest_of(*whole);
  MemorySource source = source_of(call);
  // An answer to the gateway's own request for all shared children is no client's answer.
  const bool is_for_all = call.is_own && source.session == 0;
  const Learned learned = memory_->learn_list(
      *variant, call.child_kind.value_or(PeerKind::stateful), kind, std::move(*whole), source,
      is_for_all, [this](const MemorySource& before) {
        return before.holder == holder_ && pool().find_child(before.child) != nullptr;
      });
  settle_told(call, *variant, kind, digest, learned);
}

// A list whose pages there is no room for is not remembered.
void MemoryFilter::charge_pages() {
  size_t bytes = 0;
  for (const std::optional<Pages>& pages : pages_) {
    if (pages) bytes += pages->first.capacity() + pages->elements.capacity();
  }
  held_.set(bytes);
  if (bytes > 0 && held_.lack() != MemoryLack::none) drop_pages();
}

void MemoryFilter::drop_pages() {
  for (std::optional<Pages>& pages : pages_) pages.reset();
  held_.set(0);
}

// The whole list, when its last page has come.
std::optional<std::string> MemoryFilter::take_page(const Page& page, const call::Call& call,
                                                   const std::string& variant, McpListKind kind,
                                                   std::string_view payload) {
  if (!payload.starts_with('{')) return std::nullopt;
  std::optional<Pages>& pages = pages_[static_cast<size_t>(kind)];
  const std::string_view member = listing_of(kind).member;
  const std::string_view next = next_cursor(payload);
  if (page.cursor.empty()) {
    pages.reset();
    if (next.empty()) return std::string(payload);
    pages = Pages{variant, call.child, std::string(payload), {}, std::string(next)};
    return std::nullopt;
  }
  const bool continues = pages && pages->child == call.child && pages->variant == variant &&
                         pages->next == page.cursor;
  if (!continues) return std::nullopt;
  const std::string_view elements = elements_of(payload, member);
  if (has_elements(elements)) {
    const bool is_first =
        pages->elements.empty() && !has_elements(elements_of(pages->first, member));
    if (!is_first) pages->elements += ',';
    pages->elements += elements;
  }
  pages->next = next;
  const bool is_too_much = ++pages->count > kMaxPages ||
                           pages->first.size() + pages->elements.size() > ServerMemory::kMaxEntry;
  std::optional<std::string> whole;
  if (next.empty() && !is_too_much) whole = whole_list(pages->first, member, pages->elements);
  if (next.empty() || is_too_much) pages.reset();
  return whole;
}

// --- When the server is awake again ---------------------------------------------------------

// Tells clients that were told a different list that the list may have changed. The client that has
// asked for the list has the new one.
void MemoryFilter::settle_told(const call::Call& call, const std::string& variant, McpListKind kind,
                               uint64_t digest, Learned learned) {
  const auto index = static_cast<size_t>(kind);
  const uint8_t bit = listing_of(kind).list.bit;
  const auto settle = [&](session::SessionId id, session::ToldLists& told) {
    const uint64_t before = std::exchange(told.digests[index], 0);
    const bool is_asker = id == call.session && !call.is_own;
    if (before != 0 && before != digest && !is_asker) tell_changed(id, bit);
  };
  if (!variant.empty()) {
    if (session::ToldLists* const told = told_to(call.session)) settle(call.session, *told);
    if (learned != Learned::changed) return;
  } else {
    const uint64_t before = std::exchange(told_.digests[index], 0);
    if (before != 0 && before != digest) tell_changed({}, bit);
  }
  for_each_told([&](session::SessionId id, session::ToldLists& told) {
    // Sessions of the same variant get the same lists.
    const bool is_meant = told.digests[index] != 0 && variant_of(id) == variant;
    if (is_meant) settle(id, told);
  });
}

void MemoryFilter::tell_all_that_share(uint8_t lists) {
  tell_changed({}, lists);
  for_each_told([&](session::SessionId id, session::ToldLists& told) {
    if (told.any() && !pool().lane().greeting_of(id)) tell_changed(id, lists);
  });
}

// Checks begin after the first answer, so that the call that has woken the server goes first.
void MemoryFilter::note_awake(const call::Call& call) {
  if (is_of_gateway(call) || call.child == 0) return;
  if (pool().lane().greeting_of(call.session)) {
    if (has_told_session_) begin_check(call);
  } else if (std::exchange(has_told_shared_, false)) {
    go_on();
    begin_check(call);
  }
}

void MemoryFilter::begin_check(const call::Call& call) {
  const bool is_leased = pool().lane().greeting_of(call.session).has_value();
  const session::ToldLists* const told = is_leased ? told_to(call.session) : &told_;
  if (told == nullptr || (is_leased && !told->any())) return;
  Check check;
  if (is_leased) check.session = call.session;
  check.child = call.child;
  check.greets = !is_leased;
  for (size_t i = 0; i < kMcpListings.size(); ++i) {
    if (told->digests[i] != 0) check.kinds = static_cast<uint8_t>(check.kinds | 1U << i);
  }
  const auto is_same = [&check](const Check& one) {
    return one.session == check.session && one.child == check.child;
  };
  if (std::ranges::any_of(checks_, is_same)) return;
  checks_.push_back(check);
  timer_.arm(now());
}

void MemoryFilter::on_end(const call::Call& call, call::End& end) {
  if (!is_of_gateway(call) || call.tag != kQuestion) return;
  is_asking_ = false;
  // No child could take the question, or none has answered it. Asking again at once would fail too.
  const bool is_answered = end.outcome == Outcome::ok() || end.outcome == Outcome::error();
  if (!is_answered && !checks_.empty()) put_off_check();
  timer_.arm(now());
}

// The told lists stay noted, for the next child.
void MemoryFilter::put_off_check() {
  (checks_.front().session.is_none() ? has_told_shared_ : has_told_session_) = true;
  checks_.pop_front();
}

void MemoryFilter::check_next() {
  while (!is_asking_ && !checks_.empty()) {
    Check& check = checks_.front();
    if (pool().find_child(check.child) == nullptr) {
      put_off_check();
      continue;
    }
    // The session may end before its child.
    if (!check.session.is_none() && !pool().lane().greeting_of(check.session)) {
      checks_.pop_front();
      continue;
    }
    if (std::exchange(check.greets, false)) return ask_for(kInitialize, {});
    if (check.asked) {
      const std::optional<Pages>& pages = pages_[static_cast<size_t>(*check.asked)];
      if (pages && pages->child == check.child)
        return ask_for(listing_of(*check.asked).method, pages->next);
      give_up_told(check, *check.asked);
    }
    if (check.kinds == 0) {
      checks_.pop_front();
      continue;
    }
    const int next = std::countr_zero(check.kinds);
    check.kinds = static_cast<uint8_t>(check.kinds & (check.kinds - 1));
    check.asked = static_cast<McpListKind>(next);
    return ask_for(listing_of(*check.asked).method, {});
  }
}

// Gives up a list that the child no longer offers: clients are told that it has changed.
void MemoryFilter::give_up_told(const Check& check, McpListKind kind) {
  const auto index = static_cast<size_t>(kind);
  const auto give_up = [&](session::SessionId id, session::ToldLists& told) {
    if (std::exchange(told.digests[index], 0) != 0) tell_changed(id, listing_of(kind).list.bit);
  };
  if (!check.session.is_none()) {
    if (session::ToldLists* const told = told_to(check.session)) give_up(check.session, *told);
    return;
  }
  if (told_.digests[index] == 0) return;
  give_up({}, told_);
  for_each_told([&](session::SessionId id, session::ToldLists& told) {
    if (!pool().lane().greeting_of(id)) give_up(id, told);
  });
}

void MemoryFilter::ask_for(std::string_view method, std::string_view cursor) {
  std::string params = "{";
  if (!cursor.empty()) params.append(R"("cursor":)").append(cursor);
  is_asking_ = true;
  ask(checks_.front().session, rpc::request_text(R"("remembered")", method, params.append("}")));
}

}  // namespace stdgate::mcp
