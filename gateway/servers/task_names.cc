#include "gateway/servers/task_names.h"

#include <algorithm>
#include <utility>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/servers/text_edits.h"

namespace stdgate::servers {

namespace {

// The length keeps an owner and an id apart, whatever characters they have.
std::string key_of(const std::string& owner, std::string_view shown) {
  std::string key = std::to_string(owner.size());
  return key.append(" ").append(owner).append(shown);
}

size_t bytes_of(const std::string& key, const TaskNames::Task& task) {
  return 2 * key.size() + task.own.size() + sizeof(task);
}

}  // namespace

std::string TaskNames::owner_of(session::SessionId session) {
  return "session " + std::to_string(session.index) + "." + std::to_string(session.generation);
}

std::string TaskNames::owner_of(const call::CallContext& context) {
  return context.session.is_none() ? policy::identity_of(context.principal)
                                   : owner_of(context.session);
}

std::string TaskNames::owner_of(const call::Call& call) {
  return call.session.is_none() ? call.identity : owner_of(call.session);
}

// A search stops at each occurrence of the first letter, and I is rare.
bool TaskNames::may_name(std::string_view text) {
  return text.find("Id\"") != std::string_view::npos;
}

const TaskNames::Task* TaskNames::find(const std::string& owner, std::string_view shown) const {
  const auto found = tasks_.find(key_of(owner, shown));
  return found == tasks_.end() ? nullptr : &found->second;
}

std::string TaskNames::shown(const rpc::Envelope& message, const TaskGiver& giver,
                             const std::string& owner) {
  const bool is_result = message.kind == rpc::MessageKind::result;
  const std::string_view object = is_result ? message.payload : message.params;
  const std::string_view meta = rpc::member_or_empty(object, "_meta");
  TextEdits edits(message.text);
  bool is_other = false;
  for (const std::string_view place : {object, rpc::member_or_empty(object, "task"),
                                       rpc::member_or_empty(meta, mcp::kRelatedTaskKey)}) {
    const std::string_view raw = rpc::member_or_empty(place, "taskId");
    if (!raw.starts_with('"')) continue;
    std::string scratch;
    const std::string own(rpc::decode_string(rpc::string_content(raw), scratch));
    const std::string id = shown_id(own, giver, owner);
    if (id == own) continue;
    edits.replace(raw, json_text(id));
    is_other = true;
  }
  return is_other ? edits.apply() : std::string();
}

std::string TaskNames::shown_id(std::string_view own, const TaskGiver& giver,
                                const std::string& owner) {
  std::string id(own);
  while (id.size() <= kMaxId) {
    const Task* const known = find(owner, id);
    if (known == nullptr) {
      note(owner, key_of(owner, id), {giver.member, std::string(own)});
      return id;
    }
    if (known->member == giver.member && known->own == own) return id;
    id.append(".").append(giver.name);
  }
  return std::string(own);
}

void TaskNames::note(const std::string& owner, std::string key, Task task) {
  held_.add(bytes_of(key, task));
  tasks_.emplace(key, std::move(task));
  order_[owner].push_back(std::move(key));
  if (tasks_.size() > kMaxTasks) forget_one();
}

void TaskNames::forget_one() {
  const auto most =
      std::ranges::max_element(order_, {}, [](const auto& one) { return one.second.size(); });
  const auto oldest = tasks_.find(most->second.front());
  held_.set(held_.bytes() - bytes_of(oldest->first, oldest->second));
  tasks_.erase(oldest);
  most->second.pop_front();
  if (most->second.empty()) order_.erase(most);
}

}  // namespace stdgate::servers
