#include "gateway/pool/child_log.h"

#include <string>

#include "gateway/base/encodings.h"

namespace stdgate::pool {

namespace {

// A text is searched for secrets before it is cut. No known secret that begins in the shown part is
// longer than this.
constexpr size_t kMaxSearched = 8 << 10;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text.append(text.empty() ? "" : " | ").append(line);
  return text;
}

}  // namespace

std::string ChildLog::shown(const DroppedOutput& output) const {
  const std::string_view searched = cut_utf8(output.text, kMaxSearched);
  const std::string safe =
      services_.hide_secrets ? services_.hide_secrets(searched) : std::string(searched);
  const bool is_message = output.reason != DropReason::not_json;
  return std::string(cut_utf8(safe, is_message ? kMaxShownMessage : kMaxShown));
}

void ChildLog::started() const {
  services_.core.log.write(LogLevel::info, "child started",
                           {{"backend", services_.config.name},
                            {"child", name_.number},
                            {"pid", int64_t{name_.pid}},
                            {"session", if_any(name_.session.view())},
                            {"client", if_any(name_.client)},
                            {"principal", if_any(name_.principal)}});
}

void ChildLog::served() const {
  if (!services_.logs_messages) return;
  services_.core.log.write(LogLevel::debug, "session has a child",
                           {{"backend", services_.config.name},
                            {"child", name_.number},
                            {"pid", if_any(static_cast<uint64_t>(name_.pid))},
                            {"session", if_any(name_.session.view())},
                            {"client", if_any(name_.client)},
                            {"principal", if_any(name_.principal)}});
}

void ChildLog::ended(const ChildEnd& end, bool is_fine, bool never_served) const {
  const std::string last_words = never_served ? joined(end.last_words) : std::string();
  services_.core.log.write(is_fine ? LogLevel::info : LogLevel::warn, "child ended",
                           {{"backend", services_.config.name},
                            {"child", name_.number},
                            {"pid", int64_t{name_.pid}},
                            {"session", if_any(name_.session.view())},
                            {"client", if_any(name_.client)},
                            {"principal", if_any(name_.principal)},
                            {"reason", exit_reason_name(end.reason)},
                            {"status", end.detail},
                            {"hint", if_any(is_fine ? std::string_view() : end.hint)},
                            {"stderr", if_any(last_words)},
                            {"in_flight", uint64_t{end.in_flight}}});
}

void ChildLog::withheld(size_t abandoned) const {
  services_.core.log.write(
      LogLevel::info, "child output withheld",
      {{"backend", services_.config.name},
       {"child", name_.number},
       {"pid", int64_t{name_.pid}},
       {"why", "it may belong to a call that was given up and not answered yet"},
       {"abandoned", uint64_t{abandoned}}});
}

void ChildLog::does_not_fit(std::string_view hint) const {
  services_.core.log.write(LogLevel::warn, "child output does not fit",
                           {{"backend", services_.config.name},
                            {"child", name_.number},
                            {"pid", int64_t{name_.pid}},
                            {"session", if_any(name_.session.view())},
                            {"client", if_any(name_.client)},
                            {"principal", if_any(name_.principal)},
                            {"hint", hint}});
}

void ChildLog::dropped(const DroppedOutput& output) {
  if (muted_ || !bad_lines_.allow(services_.core.clock.now())) return;
  const std::string text = shown(output);
  services_.core.log.write(LogLevel::warn, "child output dropped",
                           {{"backend", services_.config.name},
                            {"child", name_.number},
                            {"pid", int64_t{name_.pid}},
                            {"session", if_any(name_.session.view())},
                            {"client", if_any(name_.client)},
                            {"principal", if_any(name_.principal)},
                            {"reason", drop_reason_name(output.reason)},
                            {"why", output.why},
                            {"id", if_any(cut_utf8(output.id, kMaxShown))},
                            {"bytes", uint64_t{output.size}},
                            {"text", text},
                            {"suppressed", bad_lines_.take_suppressed()}});
}

void ChildLog::begun_anew() const {
  services_.core.log.write(
      LogLevel::info, "child is started again, to be greeted in the modern era",
      {{"backend", services_.config.name},
       {"child", name_.number},
       {"pid", int64_t{name_.pid}},
       {"why", "it has answered the question for its era late, after it was greeted"}});
}

void ChildLog::late_answer(std::string_view id, CancelReason why) const {
  if (muted_ || !services_.logs_messages) return;
  services_.core.log.write(LogLevel::debug, "answer is late",
                           {{"backend", services_.config.name},
                            {"child", name_.number},
                            {"pid", int64_t{name_.pid}},
                            {"session", if_any(name_.session.view())},
                            {"wire_id", id},
                            {"why", cancel_reason_text(why)}});
}

}  // namespace stdgate::pool
