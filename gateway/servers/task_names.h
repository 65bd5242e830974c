// TaskNames: the ids of members' tasks, as the clients of a virtual server know them.
//
// Job: remember the member that has given a task, and the owner: a session, or else a principal. If
// two members give the same id, add the second member's name to the id of its task. Ids that a
// member has sealed are unique, and stay as they are. Two children of one member that seals no ids
// (pool.sticky) may give the same id to one owner; such tasks cannot be told apart. Owner: the
// aggregate. Limits: kMaxTasks ids of kMaxId bytes; longer ones are not remembered. Beyond that the
// oldest task of the owner with the most is forgotten, so that no client takes the others' tasks
// from them.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/base/account.h"
#include "gateway/call/call.h"
#include "gateway/call/call_context.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/sinks.h"

namespace stdgate::servers {

struct TaskGiver {
  size_t member;
  const std::string& name;  // of the member
};

class TaskNames {
 public:
  static constexpr size_t kMaxTasks = 4096;
  static constexpr size_t kMaxId = 4096;

  explicit TaskNames(const Payer& payer) : held_(payer, Holding::caches) {}

  struct Task {
    size_t member;
    std::string own;  // the id that the member has given
  };
  // Key of the client that owns a task.
  static std::string owner_of(const call::CallContext& context);
  // `call`: has its identity.
  static std::string owner_of(const call::Call& call);
  static std::string owner_of(session::SessionId session);
  // The task that a client knows by this id; null: none is remembered.
  [[nodiscard]] const Task* find(const std::string& owner, std::string_view shown) const;
  // A result, notification or question of a member as this client is to see it; empty: as it is.
  // Its tasks are remembered.
  std::string shown(const rpc::Envelope& message, const TaskGiver& giver, const std::string& owner);
  // Whether shown() may have something to do.
  static bool may_name(std::string_view text);

 private:
  // The id as the client knows it.
  std::string shown_id(std::string_view own, const TaskGiver& giver, const std::string& owner);
  void note(const std::string& owner, std::string key, Task task);
  void forget_one();

  std::unordered_map<std::string, Task> tasks_;                     // by owner and shown id
  std::unordered_map<std::string, std::deque<std::string>> order_;  // keys of each owner, by age
  Share held_;
};

}  // namespace stdgate::servers
