// BackendStatus: a snapshot of a backend for readiness, /debug/state and tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/pool/child_facts.h"
#include "gateway/pool/sandbox_status.h"

namespace stdgate::pool {

struct ChildStatus {
  uint64_t number = 0;  // ordinal within the backend, from 1
  int pid = 0;
  ChildState state = ChildState::starting;
  size_t in_flight = 0;
  size_t unsent_bytes = 0;
  uint64_t calls = 0;
  bool leased = false;    // to a session
  std::string principal;  // whose child it is (isolation: principal); empty: nobody's
  Duration age{0};
  ChildFacts facts;
};

// One session of those that /debug/state shows.
struct SessionStatus {
  SessionState state = SessionState::live;
  std::string client;     // name and version; may be empty
  std::string address;    // may be empty
  uint64_t messages = 0;  // of its client
  Duration age{0};
  Duration idle{0};
};

struct BackendStatus {
  std::string name;
  bool ready = false;
  std::string reason;  // why it is not ready, for a human
  size_t queued = 0;
  size_t queued_bytes = 0;
  size_t in_flight = 0;
  bool breaker_open = false;
  Duration retry_after{0};
  uint32_t failures = 0;  // in a row
  size_t sessions = 0;
  size_t parked_sessions = 0;   // of these
  uint32_t session_places = 0;  // children that sessions may have at a time
  size_t parked_calls = 0;      // that wait for input of their clients
  std::vector<SessionStatus> oldest_sessions;
  std::vector<SessionStatus> longest_idle_sessions;
  std::vector<SessionStatus> busiest_sessions;
  std::vector<ChildStatus> children;
  SandboxStatus sandbox;
};

}  // namespace stdgate::pool
