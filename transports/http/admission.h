// AdmissionPolicy: the one place that decides, by a request's head, whether its sender may call.
//
// Each route declares its Guards, all of them unless it says otherwise; the connection checks the
// head against them before an endpoint sees it. The sender is judged beside that, with every
// request (Authentication). Owner: the generation; outlives the routers. Every change of the rules
// begins a new epoch, which invalidates earlier judgements.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/observer.h"
#include "transports/http/authentication.h"
#include "transports/http/origin_rules.h"
#include "transports/http/request_head.h"

namespace stdgate::http {

// The audience of a route.
enum class Audience : uint8_t {
  clients,    // of the listener, which may have to say who they are
  everyone,   // who sends a request is not looked at
  operators,  // see Authentication; for others nothing is there
};

// The guards of a route; see OriginRules.
struct Guards {
  bool host = true;
  bool origin = true;
  bool site = true;
  // GET and HEAD must be deliberate. Off for routes that only read, and for routes that require
  // something that no page can send.
  bool deliberate_get = true;
  bool takes_tickets = false;  // of GETs that can send no header fields; they are deliberate then
  bool gives_tickets = false;
  Audience audience = Audience::clients;

  // For routes whose GET changes nothing, and for unknown paths.
  static constexpr Guards reading(Audience audience = Audience::clients) {
    return {.deliberate_get = false, .audience = audience};
  }
};

struct Denial {
  std::string message;  // for people
  Refusal reason = Refusal::forbidden;
};

class AdmissionPolicy {
 public:
  explicit AdmissionPolicy(OriginRules rules, Authentication authentication = {})
      : rules_(std::move(rules)), authentication_(std::move(authentication)) {}

  [[nodiscard]] const OriginRules& rules() const { return rules_; }
  [[nodiscard]] const Authentication& authentication() const { return authentication_; }
  void replace(OriginRules rules) {
    rules_ = std::move(rules);
    begin_epoch();
  }
  // The parts of the former authentication are not used any more when this returns.
  void replace(OriginRules rules, Authentication authentication) {
    authentication_ = std::move(authentication);
    replace(std::move(rules));
  }
  // Every earlier judgement is made again.
  void begin_epoch() { ++epoch_; }
  [[nodiscard]] uint32_t epoch() const { return epoch_; }

  // Why the request is refused with 403; nothing if it is admitted. Depends on the head, the
  // connection and the epoch only.
  [[nodiscard]] std::optional<Denial> judge(const RequestHead& head, const ConnectionTraits& traits,
                                            const Guards& guards) const;
  // Judges reading of what differs between the paths of clients, and is told to no one else.
  [[nodiscard]] std::optional<Denial> judge_reading(const RequestHead& head,
                                                    const ConnectionTraits& traits,
                                                    const Guards& guards) const;

 private:
  OriginRules rules_;
  Authentication authentication_;
  uint32_t epoch_ = 1;
};

// The client of a connection by its certificate, as the policy of today says. Owner: the
// connection.
class CertificateIdentity {
 public:
  // Nobody without one. Valid until the next call.
  const auth::Identity& identity(const net::Stream& stream, const AdmissionPolicy& policy);

 private:
  std::unique_ptr<const auth::Identity> known_;  // null: nobody
  uint32_t epoch_ = 0;                           // of the policy that it was found under
};

}  // namespace stdgate::http
