// SimTasks: the tasks that modern children run, and the ids under which clients know them. Whoever
// has been told of a task reaches its child, or hears that there is no such task; nobody else does.
//
// Children count their tasks from 1 each, so that an id of one is an id of the others too. Owner:
// the records of a history.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tests/sim/sim_states.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

class SimTasks {
 public:
  static constexpr std::string_view kCapabilities =
      R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})";

  // At its child.
  struct Task {
    SimPrincipal principal = 0;  // of the client that has called
    Duration ttl{};
    bool has_ended = false;
    TimePoint ends = TimePoint::min();  // until then it keeps its child; min(): no client knows it
  };
  // As a client knows it.
  struct Known {
    std::string text;
    int64_t pid = 0;
    std::string raw;
    SimPrincipal principal = 0;
  };

  SimTasks(SimWorld& world, Duration input_timeout)
      : world_(world), input_timeout_(input_timeout) {}

  // --- Of children
  // The raw id of one more task.
  std::string begin(int64_t pid, SimPrincipal principal, Duration ttl);
  Task* find(int64_t pid, const std::string& raw);
  // What is said of a task reaches the gateway.
  void note_told(int64_t pid, const std::string& raw);
  // Whether clients know tasks of this child that are open.
  [[nodiscard]] bool has_open(int64_t pid) const;

  // --- Of clients
  void note_given(const std::string& text, int64_t pid, const std::string& raw,
                  SimPrincipal principal);
  [[nodiscard]] const Known* find(const std::string& text) const;
  // Anybody's; null: there is none.
  const Known* some();

 private:
  SimWorld& world_;
  const Duration input_timeout_;
  std::map<std::pair<int64_t, std::string>, Task> tasks_;
  std::map<std::string, Known> known_;  // by their texts
  std::map<int64_t, uint64_t> begun_;   // how many, by child
};

}  // namespace stdgate::sim
