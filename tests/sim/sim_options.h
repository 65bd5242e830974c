// The options of the backend, and the temper of its children. The seed determines both.
#pragma once

#include "gateway/backend/backend.h"
#include "gateway/config/config.h"
#include "gateway/rpc/framer.h"
#include "tests/sim/sim_eras.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

backend::BackendOptions draw_options(SimWorld& world);

// Whether a legacy child can serve a call of a modern client alone.
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
  double cancels_its_ask = 0.2;  // per request of the child
  double sends_progress = 0.3;   // for calls with a token
  double talks = 0.2;        // while it works on a call, even if the client does not want events
  double takes_long = 0.05;  // per answer
  double breaks_answer = 0.01;
  double oversizes_answer = 0.01;
  double closes_stdout = 0.002;
  // With MCP only.
  double talks_alone = 0.5;        // like `talks`, for a child that serves one client alone
  double waits_for_answers = 0.8;  // before it answers a call that it has asked a question for
  double dies_when_asking = 0.15;  // per request of the child
  double asks_undeclared = 0.1;    // per request of the child: a capability that the client lacks
  double demands_url = 0.03;       // answers with an error that demands consent to a URL
  double changes = 0.05;           // reports a change of a list or a resource
  double needs_input = 0.4;        // a modern child answers with questions first
  double begins_task = 0.5;        // a modern child begins a task, if the client knows tasks
  Duration slowest_answer = std::chrono::seconds(3);
  Duration longest_work = std::chrono::seconds(40);
  // The protocol of the children.
  config::Protocol protocol = config::Protocol::jsonrpc;
  rpc::Framing framing = rpc::Framing::newline;
  bool serves_one = false;  // all clients are one principal, which has one process
  SimEras eras;
};

}  // namespace stdgate::sim
