// SimModernSide: how a child answers requests of MCP's modern era: with questions, with results
// that may be cached, and with events for clients that listen.
//
// A child keeps nothing between requests. The requestState names the number of questions and the
// process, and a retry is checked against it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/rpc/envelope.h"
#include "tests/sim/sim_child.h"
#include "tests/sim/sim_options.h"
#include "tests/sim/sim_records.h"

namespace stdgate::sim {

class SimModernSide {
 public:
  SimModernSide(SimWorld& world, const Temper& temper, SimVoice& voice, SimRecords& records)
      : world_(world), temper_(temper), voice_(voice), records_(records) {}

  // The result of server/discover, without the members that depend on the request.
  [[nodiscard]] static std::string discovery();
  // Answers a request of the modern era, after `work`.
  void answer(const rpc::Envelope& request, Duration work);

 private:
  void listen(const rpc::Envelope& request);
  // The events of the tasks that the request listens for.
  std::vector<std::string> task_events(std::string_view wishes, SimPrincipal principal);
  // Returns false if the call is not answered with a task.
  bool begin_task(const rpc::Envelope& request, Duration work);
  void answer_about_task(const rpc::Envelope& request, Duration work);
  [[nodiscard]] SimPrincipal principal_of(const rpc::Envelope& request) const;
  void answer_kept(const rpc::Envelope& request, Duration work, const std::string& members);
  void answer_call(const rpc::Envelope& request, Duration work);
  // How often the client of this request has been asked; nothing if the answers do not belong to
  // the request.
  std::optional<unsigned> read_round(const rpc::Envelope& request);
  void check_answers(const rpc::Envelope& request, std::string_view answers, size_t asked);
  void ask(const rpc::Envelope& request, Duration work, unsigned round);
  void log(const rpc::Envelope& request, Duration work);
  void complete(const rpc::Envelope& request, Duration work, const std::string& members,
                std::function<void()> on_told = nullptr);
  void refuse(const rpc::Envelope& request, Duration work, int code, std::string_view why);

  SimWorld& world_;
  const Temper& temper_;
  SimVoice& voice_;
  SimRecords& records_;
};

}  // namespace stdgate::sim
