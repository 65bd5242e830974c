#include "gateway/tools/connect_authorizer.h"

#include <algorithm>
#include <utility>

#include "gateway/base/ascii.h"
#include "gateway/config/text_file.h"

namespace stdgate::tools {

ConnectAuthorizer::ConnectAuthorizer(net::Loop& loop, const ConnectPlan& plan)
    : loop_(loop), plan_(plan), done_timer_(loop.timers(), [this] { finish(read_); }) {}

ConnectAuthorizer::~ConnectAuthorizer() = default;

std::vector<std::string> ConnectAuthorizer::fields() const {
  std::vector<std::string> fields = plan_.fields;
  if (!token_.empty()) fields.push_back("Authorization: Bearer " + token_);
  return fields;
}

bool ConnectAuthorizer::can_renew() const {
  return !plan_.token_file.empty() || !plan_.token_command.empty();
}

void ConnectAuthorizer::renew(Done done) {
  done_ = std::move(done);
  if (!plan_.token_command.empty()) {
    command_ = std::make_unique<stdio::CommandOutput>(
        loop_, plan_.token_command, kCommandTime, [this](stdio::CommandOutput::Result output) {
          loop_.retire(std::move(command_));
          finish(take(std::move(output), "--token-command"));
        });
    return;
  }
  read_ = take(config::read_text_file(plan_.token_file, kMaxToken), "--token-file");
  done_timer_.arm(TimePoint{});
}

void ConnectAuthorizer::finish(tl::expected<void, std::string> read) {
  if (const Done done = std::exchange(done_, nullptr)) done(std::move(read));
}

tl::expected<void, std::string> ConnectAuthorizer::take(tl::expected<std::string, std::string> text,
                                                        const std::string& source) {
  if (!text) return tl::unexpected(source + ": " + text.error());
  const std::string_view line = trim(std::string_view(*text).substr(0, text->find('\n')), " \t\r");
  const auto fits = [](char c) { return c > ' ' && c <= '~'; };
  if (line.empty()) return tl::unexpected(source + " has no token");
  if (!std::ranges::all_of(line, fits)) {
    return tl::unexpected(source + ": a token has no blanks, and nothing but ASCII");
  }
  token_ = line;
  return {};
}

}  // namespace stdgate::tools
