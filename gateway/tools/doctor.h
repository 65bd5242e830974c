// Doctor: tries a command as the gateway would use it, and says what users would meet.
//
// Job: start it (by the pool's ChildLauncher, so under a guard, with the environment and user of
// its configuration), greet it as its protocol wants, ask what it offers, end it, and judge what
// was seen. MCP servers are greeted in both eras, each time in a process of their own. Owner: a
// tool; examine() runs the loop and returns when the last process has gone.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/pool/child_facts.h"
#include "gateway/tools/conversation.h"
#include "gateway/tools/findings.h"
#include "gateway/tools/listing.h"

namespace stdgate::tools {

// Names of what it offers.
struct Offer {
  std::string_view kind;  // "tools"
  std::vector<std::string> names{};
};

// What a trial of a backend has shown. Filled step by step.
struct Diagnosis {
  config::BackendConfig backend;  // as it was tried, with what the findings change
  std::vector<Step> steps{};
  std::vector<Finding> findings{};
  std::vector<Offer> offers{};
  std::string server_name{};
  std::string server_version{};
  std::string revision{};        // of the handshake
  bool is_legacy = false;        // answers initialize
  bool is_modern = false;        // answers server/discover
  std::string modern_clients{};  // what they meet there, see config::modern_clients()
  // Variables that the configuration has to pass on.
  std::vector<std::string> variables{};
  std::string command{};  // as it may be shown
  // The text for gateway.yaml: a whole backend for a command, ...
  std::string config{};
  // ... or, of a backend that is there, nothing but what has to change: "backends.NAME.KEY: VALUE".
  std::vector<std::string> changes{};
};

struct DoctorServices {
  ConversationServices conversation;
  // Whether the environment of the gateway has a variable.
  std::function<bool(const std::string&)> has_variable;
  // Tells people who wait what is waited for.
  std::function<void(const std::string&)> tell;
};

// How long a trial waits.
struct DoctorTimes {
  Duration step;   // of each step
  Duration fetch;  // of the first answer of a command that may have to fetch its server
  Duration whole;  // of all steps together
};

class Doctor {
 public:
  Doctor(DoctorServices services, const config::BackendConfig& backend, DoctorTimes times);

  Diagnosis examine();

 private:
  // The result of one process.
  struct Visit {
    bool answered = false;
    bool refused = false;
    Duration first_answer{0};
  };

  // The text of a request, by its id.
  using Request = std::function<std::string(rpc::WireId)>;
  static Request request_of(std::string_view method, std::string_view params = {});
  [[nodiscard]] Request greeting() const;

  bool can_be_started();
  bool can_fetch();
  void look_whether_npm_asks();
  void examine_mcp();
  Visit greet_legacy(Conversation& child);
  void note_modern_clients();
  void examine_modern();
  void examine_modern_child(Conversation& child);
  std::optional<Answer> late_answer(Conversation& child);
  void note_slow_start(Duration took);
  void examine_plain();
  // A child that serves one client, which greets it with these params.
  void examine_greeted(std::string_view client);
  void shut_down(Conversation& child);
  void try_other_framing();
  void list_offers(Conversation& child, const std::string& capabilities, std::string_view stamp);
  bool list_one(Conversation& child, const ListKind& kind, std::string_view stamp);

  [[nodiscard]] TimePoint now() const { return services_.conversation.loop.now(); }
  [[nodiscard]] const pool::Dialect& dialect() const { return services_.conversation.dialect; }
  bool start(Conversation& child);
  std::optional<Answer> ask(Conversation& child, std::string_view name, const Request& request,
                            Duration timeout);
  std::optional<Answer> ask_first(Conversation& child, std::string_view name,
                                  const Request& request);
  void end(Conversation& child);
  void judge(const Conversation& child, const Visit& visit, std::string_view request);
  void note_facts(const pool::ChildFacts& facts);
  void add_finding(Finding finding);
  void drop_findings(std::initializer_list<std::string_view> codes);

  const DoctorServices services_;
  const rpc::Framing framing_;  // as it was configured
  const std::optional<PackageFetch> fetch_;
  const Duration timeout_;
  const Duration first_timeout_;      // of the first answer of the first process
  const Duration gateways_patience_;  // that it has with a question of its own
  const Duration patience_;           // the same, within timeout_
  const Duration end_patience_;       // with the end of its input, and then with SIGTERM
  const DoctorTime time_;
  bool has_greeted_ = false;  // it has answered initialize, perhaps with an error
  Diagnosis diagnosis_;
};

}  // namespace stdgate::tools
