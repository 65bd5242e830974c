#include "gateway/mcp/claims.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::mcp {
namespace {

constexpr std::string_view kAcknowledgedNote = "notifications/subscriptions/acknowledged";
constexpr std::string_view kTaskNote = "notifications/tasks";

bool is_string(std::string_view raw) { return raw.starts_with('"'); }

// Calls `visit(key, value)`, both raw, for each member of `object`, if it is an object.
template <class Visitor>
void visit_members(std::string_view object, Visitor&& visit) {
  rpc::JsonCursor cursor(object);
  if (!cursor.take('{') || cursor.take('}')) return;
  do {
    const std::string_view key = cursor.take_string();
    cursor.take(':');
    visit(key, cursor.take_value());
  } while (cursor.take(','));
}

// The author of the searched text.
enum class Writer : uint8_t { server, client };

// Collects claims. A member that stands there twice counts twice, as readers may see either one. A
// client may try to get past the gateway. So its keys count in upper and lower case, and its values
// count even if they are no strings, because some servers take them for strings.
class Search {
 public:
  explicit Search(Writer writer) : is_of_client_(writer == Writer::client) {}

  [[nodiscard]] bool is_key(std::string_view quoted, std::string_view key) const {
    const std::string_view raw = quoted.substr(1, quoted.size() - 2);
    return is_of_client_ ? rpc::json_string_resembles(raw, key) : rpc::json_string_equals(raw, key);
  }
  void add(ClaimKind kind, std::string_view raw) {
    if (is_string(raw) || (is_of_client_ && raw != "null")) found_.push_back({kind, raw});
  }
  // Adds all members with this key.
  void add_members(ClaimKind kind, std::string_view object, std::string_view key) {
    visit_members(object, [&](std::string_view quoted, std::string_view value) {
      if (is_key(quoted, key)) add(kind, value);
    });
  }
  // Adds the task that a message or a result is related to.
  void add_related(std::string_view meta) {
    visit_members(meta, [&](std::string_view quoted, std::string_view value) {
      if (is_key(quoted, kRelatedTaskKey)) add_members(ClaimKind::task, value, "taskId");
    });
  }
  void add_meta_of(std::string_view object) {
    visit_members(object, [&](std::string_view quoted, std::string_view value) {
      if (is_key(quoted, kMetaKey)) add_related(value);
    });
  }
  // Adds the claims in a server's requests, which are an object by key.
  void add_of_questions(std::string_view questions) {
    visit_members(questions, [&](std::string_view, std::string_view question) {
      visit_members(question, [&](std::string_view quoted, std::string_view value) {
        if (is_key(quoted, "params")) add_meta_of(value);
      });
    });
  }
  void add_of_answers(std::string_view answers) {
    visit_members(answers, [&](std::string_view, std::string_view answer) { add_meta_of(answer); });
  }
  // {"taskIds": [...]}
  void add_listened(std::string_view wishes) {
    visit_members(wishes, [&](std::string_view quoted, std::string_view value) {
      if (!is_key(quoted, "taskIds")) return;
      rpc::JsonCursor cursor(value);
      if (!cursor.take('[') || cursor.take(']')) return;
      do {
        const std::string_view id = cursor.take_value();
        if (is_string(id)) found_.push_back({ClaimKind::task, id, true});
      } while (cursor.take(','));
    });
  }
  // Adds the claims in the members that describe a task in tasks/get and in notifications.
  void add_of_task(std::string_view quoted, std::string_view value) {
    if (is_key(quoted, "taskId")) add(ClaimKind::task, value);
    if (is_key(quoted, "result")) add_meta_of(value);
    if (is_key(quoted, "inputRequests")) add_of_questions(value);
  }

  std::vector<Claim> take() {
    std::ranges::sort(found_, {}, [](const Claim& claim) { return claim.raw.data(); });
    return std::move(found_);
  }

 private:
  const bool is_of_client_;
  std::vector<Claim> found_;
};

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

std::vector<Claim> claims_of_request(std::string_view params, std::string_view method) {
  Search search(Writer::client);
  const bool is_task = is_about_task(method);
  visit_members(params, [&](std::string_view quoted, std::string_view value) {
    if (search.is_key(quoted, kMetaKey)) search.add_related(value);
    if (search.is_key(quoted, "inputResponses")) search.add_of_answers(value);
    if (is_task && search.is_key(quoted, "taskId")) search.add(ClaimKind::task, value);
    if (search.is_key(quoted, "requestState")) search.add(ClaimKind::state, value);
    if (is_about_list(method) && search.is_key(quoted, "cursor"))
      search.add(ClaimKind::cursor, value);
    if (method == kListenMethod && search.is_key(quoted, "notifications"))
      search.add_listened(value);
  });
  return search.take();
}

bool may_have_claims(const McpParams& read) {
  const bool is_meta_clear = read.meta || rpc::is_absent(read.meta);
  return !is_meta_clear || read.has_similar(kMetaParam | kStateParam | kResponsesParam) ||
         read.of_meta.has_similar_keys || !rpc::is_absent(read.request_state) ||
         !rpc::is_absent(read.input_responses) || !rpc::is_absent(read.of_meta.related_task);
}

std::vector<Claim> claims_of_result(std::string_view payload, std::string_view method) {
  Search search(Writer::server);
  if (is_about_list(method)) {
    search.add_members(ClaimKind::cursor, payload, "nextCursor");
    return search.take();
  }
  const std::string_view type = rpc::string_content(rpc::member_or_empty(payload, "resultType"));
  const bool asks = rpc::json_string_equals(type, "input_required");
  const bool is_task = is_about_task(method) || rpc::json_string_equals(type, "task");
  visit_members(payload, [&](std::string_view quoted, std::string_view value) {
    if (search.is_key(quoted, kMetaKey)) search.add_related(value);
    if (asks && search.is_key(quoted, "requestState")) search.add(ClaimKind::state, value);
    if (is_task) {
      search.add_of_task(quoted, value);
    } else if (asks && search.is_key(quoted, "inputRequests")) {
      search.add_of_questions(value);
    }
  });
  return search.take();
}

std::vector<Claim> claims_of_notification(std::string_view params, std::string_view method) {
  Search search(Writer::server);
  const bool is_task = method == kTaskNote || method.starts_with("notifications/tasks/");
  visit_members(params, [&](std::string_view quoted, std::string_view value) {
    if (search.is_key(quoted, kMetaKey)) search.add_related(value);
    if (is_task) search.add_of_task(quoted, value);
    if (method == kAcknowledgedNote && search.is_key(quoted, "notifications"))
      search.add_listened(value);
  });
  return search.take();
}

TaskFacts task_facts(std::string_view result) {
  constexpr std::array<std::string_view, 3> kKeys = {"taskId", "status", "ttlMs"};
  const auto found = rpc::find_members(result, kKeys);
  const auto raw = [](const rpc::Member& member) { return member.value_or(std::string_view()); };
  return {raw(found[0]), rpc::string_content(raw(found[1])), raw(found[2])};
}

std::string with_edits(std::string_view text, std::span<const TextEdit> edits) {
  size_t size = text.size();
  for (const TextEdit& edit : edits) size += edit.with.size();
  std::string edited;
  edited.reserve(size);
  const char* at = text.data();
  for (const TextEdit& edit : edits) {
    edited.append(at, edit.part.data()).append(edit.with);
    at = edit.part.data() + edit.part.size();
  }
  return edited.append(at, text.data() + text.size());
}

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

void ClaimLedger::drop_ended(Child& child, TimePoint now) {
  std::erase_if(child.states, [now](const auto& state) { return state.second <= now; });
  std::erase_if(child.tasks, [now](const auto& entry) { return entry.second.ends <= now; });
}

uint64_t ClaimLedger::add_state(uint64_t child, TimePoint now) {
  Child& giver = children_[child];
  if (giver.states.size() >= kMaxStates) drop_ended(giver, now);
  if (giver.states.size() >= kMaxStates) {
    giver.states.erase(
        std::ranges::min_element(giver.states, {}, [](const auto& state) { return state.second; }));
  }
  giver.states.emplace(++given_, expiry(now));
  return given_;
}

void ClaimLedger::close_state(uint64_t child, uint64_t number) {
  const auto giver = children_.find(child);
  if (giver != children_.end()) giver->second.states.erase(number);
}

void ClaimLedger::note_task(uint64_t child, std::string_view id, std::optional<Duration> ttl,
                            bool has_ended, TimePoint now) {
  auto& tasks = children_[child].tasks;
  auto task = tasks.find(id);
  if (task == tasks.end()) {
    if (tasks.size() >= max_tasks_) drop_ended(children_[child], now);
    if (tasks.size() >= max_tasks_) {
      tasks.erase(
          std::ranges::min_element(tasks, {}, [](const auto& entry) { return entry.second.ends; }));
    }
    task = tasks.emplace(std::string(id), Task{now, TimePoint::max()}).first;
  }
  Task& known = task->second;
  const bool has_end = ttl && *ttl < TimePoint::max() - known.begun;
  const TimePoint end = has_end ? known.begun + *ttl : TimePoint::max();
  // The end of a task may be told many times; only the first time counts.
  const TimePoint told = has_ended ? std::min(known.ends, expiry(now)) : TimePoint::max();
  known.ends = std::min(end, told);
}

TimePoint ClaimLedger::needed_until(uint64_t child, TimePoint now) const {
  TimePoint until = TimePoint::min();
  const auto giver = children_.find(child);
  if (giver == children_.end()) return until;
  const auto& [states, tasks] = giver->second;
  for (const auto& [number, end] : states) until = std::max(until, end);
  for (const auto& [id, task] : tasks) until = std::max(until, task.ends);
  return until <= now ? TimePoint::min() : until;
}

size_t ClaimLedger::states(uint64_t child, TimePoint now) const {
  const auto giver = children_.find(child);
  if (giver == children_.end()) return 0;
  return static_cast<size_t>(std::ranges::count_if(
      giver->second.states, [now](const auto& state) { return state.second > now; }));
}

size_t ClaimLedger::tasks(uint64_t child, TimePoint now) const {
  const auto giver = children_.find(child);
  if (giver == children_.end()) return 0;
  return static_cast<size_t>(std::ranges::count_if(
      giver->second.tasks, [now](const auto& task) { return task.second.ends > now; }));
}

}  // namespace stdgate::mcp
