// SimEras: the eras of MCP that the children of a history speak. SimDialogue: the era that the
// gateway uses with one child, checked with every message that the gateway writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/rpc/envelope.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

enum class Speaks : uint8_t { legacy, modern, both };

// How a child reacts to server/discover.
enum class WhenAsked : uint8_t {
  answers,  // a legacy child answers with an error
  exits,
  ignores,
  answers_late,
};

// The eras of one history.
struct SimEras {
  Speaks speaks = Speaks::legacy;
  WhenAsked when_asked = WhenAsked::answers;  // reaction of most children
  // Whether retries for modern children never reach legacy children, see can_serve_alone().
  bool keeps_answers_apart = true;
};

SimEras draw_eras(SimWorld& world);

// Whether the members of _meta make the request one of the modern era.
bool is_stamped(const rpc::Envelope& request);

class SimDialogue {
 public:
  SimDialogue(SimWorld& world, const SimEras& eras) : world_(world), eras_(eras) {}

  // Checks a message at the time when the gateway writes it.
  void check_sent(const rpc::Envelope& message);
  // Notes that the child's answer to server/discover reaches the gateway.
  void note_discovery();
  // Whether the first message came from a client, and not from the gateway on behalf of many
  // clients.
  [[nodiscard]] bool is_own() const { return is_own_; }
  [[nodiscard]] bool is_modern() const { return phase_ == Phase::modern; }
  [[nodiscard]] bool is_legacy() const { return phase_ == Phase::legacy; }

 private:
  enum class Phase : uint8_t { silent, asked, legacy, modern };

  void check_request(const rpc::Envelope& request, std::string_view method);
  void begin_legacy(const rpc::Envelope& request, std::string_view method);

  void check_bare(const rpc::Envelope& message) const;

  SimWorld& world_;
  const SimEras& eras_;
  Phase phase_ = Phase::silent;
  bool is_own_ = false;
};

}  // namespace stdgate::sim
