#include "gateway/pool/child_facts.h"

#include <cstring>

#include "gateway/base/encodings.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::pool {

namespace {

// Empty when the member is missing or repeated.
std::string_view member(std::string_view object, std::string_view key) {
  return rpc::find_member(object, key).value_or(std::string_view());
}

}  // namespace

std::string fact_text(std::string_view raw) {
  if (raw.size() < 2 || raw.front() != '"') return {};
  std::string scratch;
  const std::string_view text = rpc::decode_string(raw.substr(1, raw.size() - 2), scratch);
  return std::string(cut_utf8(text, ChildFacts::kMaxNameBytes));
}

ChildFacts greeting_facts(std::string_view result) {
  ChildFacts facts;
  const std::string_view server = member(result, "serverInfo");
  facts.server_name = fact_text(member(server, "name"));
  facts.server_version = fact_text(member(server, "version"));
  const std::string_view capabilities = member(result, "capabilities");
  if (capabilities.size() <= ChildFacts::kMaxRawBytes) facts.capabilities = capabilities;
  return facts;
}

std::string_view replace_wait_name(ReplaceWait wait) {
  switch (wait) {
    case ReplaceWait::none:
      break;
    case ReplaceWait::work:
      return "work";
    case ReplaceWait::room:
      return "room";
    case ReplaceWait::successor:
      return "successor";
  }
  return "none";
}

std::string exit_text(const ExitStatus& status) {
  switch (status.kind) {
    case ExitStatus::Kind::exited:
      return "exited with code " + std::to_string(status.value);
    case ExitStatus::Kind::signaled: {
      const char* name = sigabbrev_np(status.value);
      return "was killed by signal " + std::to_string(status.value) +
             (name == nullptr ? "" : std::string(" (SIG") + name + ")");
    }
    case ExitStatus::Kind::not_started:
      break;
  }
  return "could not be started";
}

ChildEnd end_by_itself(const ExitStatus& status, bool was_ready) {
  const std::string text = exit_text(status);
  ChildEnd end;
  end.was_ready = was_ready;
  end.message = "the child " + text;
  end.detail = status.reason.empty() ? text : text + ": " + status.reason;
  if (!end.was_ready) {
    end.reason = ExitReason::start_failed;
  } else if (status.kind == ExitStatus::Kind::signaled) {
    end.reason = ExitReason::signal;
  } else {
    end.reason = status.value == 0 ? ExitReason::exit_zero : ExitReason::exit_nonzero;
  }
  return end;
}

}  // namespace stdgate::pool
