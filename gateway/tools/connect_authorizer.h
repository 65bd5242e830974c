// ConnectAuthorizer: the header fields that identify the client: fields of the options, and a token
// from a file or a command.
//
// Owner: a ConnectSession. A token is read when it is needed first, and again after a 401. Limits:
// kMaxToken bytes, kCommandTime for the command.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/base/timers.h"
#include "gateway/remote/remote.h"
#include "gateway/tools/connect_plan.h"
#include "transports/net/loop.h"
#include "transports/stdio/command_output.h"

namespace stdgate::tools {

class ConnectAuthorizer final : public remote::Authorizer {
 public:
  static constexpr size_t kMaxToken = 64 << 10;
  static constexpr Duration kCommandTime = std::chrono::seconds(30);

  ConnectAuthorizer(net::Loop& loop, const ConnectPlan& plan);
  ~ConnectAuthorizer() override;
  ConnectAuthorizer(const ConnectAuthorizer&) = delete;
  ConnectAuthorizer& operator=(const ConnectAuthorizer&) = delete;

  [[nodiscard]] std::vector<std::string> fields() const override;
  [[nodiscard]] bool can_renew() const override;
  void renew(Done done) override;

 private:
  tl::expected<void, std::string> take(tl::expected<std::string, std::string> text,
                                       const std::string& source);

  void finish(tl::expected<void, std::string> read);

  net::Loop& loop_;
  const ConnectPlan& plan_;
  std::string token_;
  tl::expected<void, std::string> read_;  // from a file
  Done done_;
  Timer done_timer_;
  std::unique_ptr<stdio::CommandOutput> command_;  // while it runs
};

}  // namespace stdgate::tools
