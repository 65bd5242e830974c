// ChildRecorder: the events of one child link, kept for a test to look at.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gateway/pool/child_link.h"

namespace stdgate::test {

struct ChildRecorder final : pool::ChildEvents {
  void on_started(int started_pid) override {
    pid = started_pid;
    order.emplace_back("started");
  }
  void on_output(std::span<char> bytes) override {
    if (output.empty()) order.emplace_back("output");
    output.append(bytes.data(), bytes.size());
  }
  void on_output_end() override { order.emplace_back("output_end"); }
  void on_writable() override { ++writable; }
  void on_memory(uint64_t bytes) override { memory = bytes; }
  void on_exit(const pool::ExitStatus& status) override {
    order.emplace_back("exit");
    exit = status;
  }

  int pid = 0;
  std::string output;
  int writable = 0;
  uint64_t memory = 0;  // as last told
  std::optional<pool::ExitStatus> exit;
  std::vector<std::string> order;  // each kind of event at its first time
};

}  // namespace stdgate::test
