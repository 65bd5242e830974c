// TaskNames: the ids by which the clients of a virtual server know the tasks of its members.
//
// Job: remember which member has given a task, and to whom; tell two tasks apart to which two
// members have given the same id, by adding the second member's name to the id of its task. Ids
// that a member has sealed are unique, and stay as they are. Owner: the aggregate. Limits:
// kMaxTasks ids of kMaxId bytes; the oldest are forgotten, and longer ones are not remembered.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/base/account.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/session_sink.h"

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
  // The task that a client knows by this id; null: none is remembered. `session`: the client's;
  // none: all clients without a session share their tasks.
  [[nodiscard]] const Task* find(session::SessionId session, std::string_view shown) const;
  // A result, notification or question of a member as this client is to see it; empty: as it is.
  // Its tasks are remembered.
  std::string shown(const rpc::Envelope& message, const TaskGiver& giver,
                    session::SessionId session);

 private:
  // As the client knows it.
  std::string shown_id(std::string_view own, const TaskGiver& giver, session::SessionId session);
  void note(std::string key, Task task);

  std::unordered_map<std::string, Task> tasks_;  // by owner and shown id
  std::deque<std::string> order_;
  Share held_;
};

}  // namespace stdgate::servers
