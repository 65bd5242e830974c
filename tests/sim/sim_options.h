// The options of the backend, and the temper of its children, as one seed draws them.
#pragma once

#include "gateway/backend/backend.h"
#include "gateway/config/config.h"
#include "gateway/rpc/framer.h"
#include "tests/sim/sim_eras.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// The options of the backend, as one seed draws them.

backend::BackendOptions draw_options(SimWorld& world);

// Whether calls of modern clients can have a legacy child alone.
bool can_serve_alone(const config::BackendConfig& config);

// Temper: how the children of a history behave. Probabilities are per message unless said
// otherwise.
struct Temper {
  double fails_to_start = 0.05;  // per child
  double never_starts = 0.01;    // per child
  double dies = 0.02;
  double ignores = 0.03;  // never answers
  double answers_twice = 0.02;
  double invents_answer = 0.02;
  double talks_nonsense = 0.03;
  double sends_notification = 0.05;
  double asks_the_client = 0.06;
  double cancels_its_ask = 0.2;  // per request of its own
  double sends_progress = 0.3;   // for calls with a token
  double talks = 0.2;            // while it works on a call, whether that is wanted or not
  double takes_long = 0.05;      // for an answer
  double breaks_answer = 0.01;
  double oversizes_answer = 0.01;
  double closes_stdout = 0.002;
  // With MCP.
  double talks_alone = 0.5;        // as `talks`, where a client has it alone
  double waits_for_answers = 0.8;  // with the answer to a call that it asks something for
  double dies_when_asking = 0.15;  // per request of its own
  double asks_undeclared = 0.1;    // the same: what the client has not declared
  double demands_url = 0.03;       // answers with an error that demands consent to a URL
  double changes = 0.05;           // tells that a list has changed, or a resource
  double needs_input = 0.4;        // a modern one answers with what it wants to know first
  double begins_task = 0.5;        // the same, where the client knows of tasks
  Duration slowest_answer = std::chrono::seconds(3);
  Duration longest_work = std::chrono::seconds(40);
  // What it speaks.
  config::Protocol protocol = config::Protocol::jsonrpc;
  rpc::Framing framing = rpc::Framing::newline;
  bool serves_one = false;  // all clients are one principal, who has one process
  SimEras eras;
};

}  // namespace stdgate::sim
