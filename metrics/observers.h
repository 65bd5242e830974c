// Observers: passes on what happened to several observers, in the order in which they were added.
//
// Job: who wants only finished calls or messages costs the other events nothing, and a call has
// more of those. Owner: the composition root, which also owns the observers and keeps them as long.
#pragma once

#include <vector>

#include "gateway/observer.h"

namespace stdgate {

class Observers final : public Observer {
 public:
  // Is told everything but messages.
  void add(Observer& observer);
  // Are told of backends, and of finished calls or messages.
  void add_for_calls(Observer& observer);
  void add_for_messages(Observer& observer);

  void on_backend(BackendId backend, std::string_view name) override;
  void on_method(BackendId backend, MethodId method, std::string_view name) override;
  void on_tool(BackendId backend, ToolId tool, std::string_view name) override;
  void on_call_started(BackendId backend) override;
  void on_call_finished(const CallRecord& call) override;
  void on_message(BackendId backend, Direction direction,
                  std::span<const std::string_view> parts) override;
  void on_notification(BackendId backend, MethodId method, Direction direction) override;
  void on_dropped(BackendId backend, DropReason reason) override;
  void on_child_state(BackendId backend, ChildState from, ChildState to) override;
  void on_child_started(BackendId backend, StartReason reason) override;
  void on_child_ready(BackendId backend, Duration since_start) override;
  void on_child_exited(BackendId backend, ExitReason reason) override;
  void on_session_opened(BackendId backend) override;
  void on_session_closed(BackendId backend) override;
  void on_connection_opened(Transport transport) override;
  void on_connection_closed(Transport transport) override;
  void on_bytes(Transport transport, Flow flow, size_t count) override;

 private:
  using List = std::vector<Observer*>;

  List all_;
  List for_calls_;
  List for_messages_;
  List for_the_rest_;
};

}  // namespace stdgate
