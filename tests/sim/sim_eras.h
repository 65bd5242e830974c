// SimEras: which of MCP's two eras the children of a history speak. SimDialogue: the era in which
// the gateway talks with one child, held against every message that it writes.
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
  answers,  // a legacy one with an error
  exits,
  ignores,
  answers_late,
};

// Of one history.
struct SimEras {
  Speaks speaks = Speaks::legacy;
  WhenAsked when_asked = WhenAsked::answers;  // most of its children
  // Retries for modern children do not reach legacy ones: see can_serve_alone().
  bool keeps_answers_apart = true;
};

SimEras draw_eras(SimWorld& world);

// The members of _meta that make a request one of the modern era.
bool is_stamped(const rpc::Envelope& request);

class SimDialogue {
 public:
  SimDialogue(SimWorld& world, const SimEras& eras) : world_(world), eras_(eras) {}

  // Each message, when the gateway writes it.
  void check_sent(const rpc::Envelope& message);
  // The child's discovery reaches the gateway.
  void note_discovery();
  // The child was begun with by a client, and not by the gateway for many.
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
