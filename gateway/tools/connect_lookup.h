// ConnectLookup: where a backend of a running gateway is served, as the gateway lists it.
//
// Owner: a ConnectSession. Limits: kMaxList bytes of the list, kTime.
#pragma once

#include <functional>
#include <string>
#include <tl/expected.hpp>

#include "gateway/remote/problem.h"
#include "gateway/remote/remote.h"
#include "gateway/remote/remote_stream.h"
#include "gateway/tools/connect_plan.h"

namespace stdgate::tools {

class ConnectLookup final : private remote::RemoteStream::Owner {
 public:
  static constexpr size_t kMaxList = 4 << 20;
  static constexpr Duration kTime = std::chrono::seconds(10);
  // A URL, of http or of ws.
  using Found = tl::expected<std::string, remote::Problem>;

  // `done` is called once, from the outermost level of the loop.
  ConnectLookup(const ConnectPlan& plan, const remote::RemoteServices& services,
                std::function<void(Found)> done);

 private:
  void on_stream_head(const remote::WebHead& head) override;
  void on_stream_event(std::string_view /*name*/, std::span<char> /*data*/) override {}
  void on_stream_end(const remote::WebFailure* failure) override;
  [[nodiscard]] Found find() const;
  [[nodiscard]] std::string guessed() const;

  const ConnectPlan& plan_;
  const std::function<void(Found)> done_;
  remote::RemoteStream stream_;
};

}  // namespace stdgate::tools
