#include "gateway/tools/findings.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "gateway/base/encodings.h"
#include "gateway/config/backend_facts.h"
#include "gateway/config/secret.h"
#include "gateway/tools/hints.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

namespace {

using Weight = Finding::Weight;

// Methods that a server need not know: what it says of them is no trouble of its own.
constexpr std::array<std::string_view, 2> kProbes = {"server/discover", "rpc.discover"};

// `broken`: as in Observations.
bool lacks_version(std::string_view broken) {
  return broken.starts_with("jsonrpc must be") &&
         broken.find("\"jsonrpc\"") == std::string_view::npos;
}

// Finds one kind of trouble after the other, and knows which explain why there was no answer.
class Judge {
 public:
  Judge(const Observations& seen, const FindingContext& context) : seen_(seen), context_(context) {}

  std::vector<Finding> findings() {
    judge_start();
    judge_question();
    judge_echo();
    judge_framing();
    judge_answers();
    judge_environment();
    judge_crash();
    judge_silence();
    judge_noise();
    judge_time_and_size();
    judge_end();
    return std::move(findings_);
  }

 private:
  void add(Weight weight, std::string_view code, std::string message, std::string advice = {},
           std::vector<std::string> evidence = {}) {
    findings_.push_back({weight, code, std::move(message), std::move(advice), std::move(evidence)});
  }
  // The reason why there was no answer.
  void explain(std::string_view code, std::string message, std::string advice = {},
               std::vector<std::string> evidence = {}) {
    is_explained_ = true;
    add(Weight::breaks, code, std::move(message), std::move(advice), std::move(evidence));
  }
  [[nodiscard]] bool needs_reason() const { return !context_.answered && !is_explained_; }

  void judge_start() {
    if (seen_.pid != 0) return;
    const std::string reason =
        seen_.exit ? seen_.exit->reason : "it did not start within " + text_of(context_.timeout);
    explain("not-started", "the command could not be started: " + reason, advice_of({reason}));
  }

  // Of npm, which has ended over it or waits.
  void judge_question() {
    std::vector<std::string> evidence;
    for (const std::string& line : seen_.last_words) {
      if (asks_to_install(line)) evidence.push_back(line);
    }
    asks_ = !evidence.empty() || asks_to_install(seen_.beginning);
    if (!asks_) return;
    explain("npx-asks", std::string(kAsks), std::string(kDoNotAsk), lines_shown(evidence));
  }

  void judge_echo() {
    if (!seen_.echoes) return;
    explain("echo", "it sends back what it is sent: it is no server of this protocol",
            "is it the right program? Some servers need an option for stdin and stdout (--stdio)");
  }

  // On the first line of each kind that says something; of the sandbox, which makes others
  // misleading, before all.
  [[nodiscard]] std::string advice_of(const std::vector<std::string>& lines) const {
    std::string of_sandbox;
    std::string usual;
    for (const std::string& line : lines) {
      if (of_sandbox.empty()) of_sandbox = sandbox_advice(context_.backend, line);
      if (usual.empty()) usual = advice_for(line);
    }
    if (of_sandbox.empty() || usual.empty()) return of_sandbox + usual;
    return of_sandbox + "; if it is not: " + usual;
  }

  void judge_framing() {
    if (seen_.has_length_headers) {
      explain("length-headers", "it writes Content-Length headers where stdgate expects lines",
              "set framing: content-length; if it is a language server, protocol: lsp",
              {lines_shown({seen_.beginning.substr(0, seen_.beginning.find('\n'))})});
    }
    if (seen_.lacks_length_headers) {
      explain("no-length-headers", "it writes lines where stdgate expects Content-Length headers",
              "set framing: newline; if it is no language server, protocol: mcp or jsonrpc");
    }
    if (!seen_.split.empty()) {
      explain("several-lines", "it writes a message over several lines: each has to be one line",
              "write it without line breaks: JSON.stringify(message) without an indent, "
              "json.dumps(message) without indent",
              seen_.split);
    }
    judge_byte_order_mark();
  }

  void judge_byte_order_mark() {
    if (!seen_.has_byte_order_mark) return;
    const std::string what = "its output has a UTF-8 byte order mark, which is no JSON";
    const std::string advice =
        "write UTF-8 without one: new UTF8Encoding(false) in .NET, utf-8 and not utf-8-sig in "
        "Python";
    if (context_.answered) return add(Weight::warning, "byte-order-mark", what, advice);
    explain("byte-order-mark", what + ": stdgate drops the message behind it", advice);
  }

  void judge_answers() {
    if (seen_.has_length_headers) return;  // its lines are no messages
    if (seen_.breaks_headers) {
      explain("no-messages", "it writes text where messages with Content-Length headers should be",
              "does it need a word or an option to serve its protocol on stdin and stdout (start, "
              "--stdio)? framing: newline, if its messages are lines",
              seen_.noise);
    } else if (!seen_.broken.empty()) {
      std::string advice =
          R"(each message is an object with "jsonrpc":"2.0"; an answer has the request's id, and )"
          R"(result or error)";
      if (std::ranges::any_of(seen_.broken, lacks_version)) {
        advice += R"(; if it leaves "jsonrpc" out on purpose, set envelope: lenient)";
      }
      explain("not-json-rpc", "it writes JSON that is no JSON-RPC 2.0", advice, seen_.broken);
    }
    if (!seen_.other_ids.empty()) {
      std::vector<std::string> ids;
      ids.reserve(seen_.other_ids.size());
      for (const std::string& id : seen_.other_ids) ids.push_back("id " + id);
      explain("other-id", "it answers with ids that nobody has sent",
              "an answer repeats the id of its request as it is: a number stays a number", ids);
    }
    for (const size_t size : seen_.oversized) {
      explain("oversized", "a message of " + std::to_string(size) + " bytes is over limits.message",
              "raise limits.message, or have the server answer in pages");
    }
  }

  void judge_environment() {
    if (context_.answered && !(seen_.exit && seen_.exited_by_itself)) return;
    for (const VariableChoice& choice : missing_variables(seen_.last_words)) {
      if (!choice.is_given_to(context_.backend)) explain_missing(choice);
    }
  }

  void explain_missing(const VariableChoice& choice) {
    const std::string name = choice.wanted(context_.has_variable);
    const bool is_set = context_.has_variable(name);
    const std::string what = choice.names.size() == 1
                                 ? "it misses the environment variable " + name
                                 : "it wants one of the environment variables " + choice.text();
    const std::string which = choice.names.size() == 1 ? "which" : "of which " + name;
    explain("missing-variable",
            what + (is_set ? ", " + which + " is set here but not passed on" : ""),
            "env: { " + name + ": \"${" + name + "}\" } in gateway.yaml, or --env " + name +
                (is_set ? "" : ", and set it for stdgate"),
            lines_shown(seen_.last_words));
  }

  void judge_crash() {
    if (!seen_.exit || !seen_.exited_by_itself || seen_.pid == 0 || asks_) return;
    if (seen_.echoes) return;  // why it ended does not matter
    std::string advice = advice_of(seen_.last_words);
    if (advice.empty() && seen_.last_words.empty()) {
      advice = context_.backend.sandbox.used
                   ? "run the command by hand, and without its sandbox: it says nothing on stderr"
                   : "run the command by hand: it says nothing on stderr";
    }
    const std::string when =
        context_.answered ? "it ended by itself with " : "it ended without an answer, with ";
    // Shown with the variable already.
    const bool is_shown =
        std::ranges::find(findings_, "missing-variable", &Finding::code) != findings_.end();
    explain("exited", when + text_of(*seen_.exit), advice,
            is_shown ? std::vector<std::string>() : lines_shown(seen_.last_words));
  }

  void judge_silence() {
    if (is_explained_) return;
    if (seen_.lacks_line_end) {
      return explain("no-line-end", "its message does not end with a line feed, so it is not read",
                     "write \\n behind each message, and flush");
    }
    if (seen_.after_end > 0) {
      explain("buffered", "its answers came only when its input had ended: it buffers its output",
              "flush stdout after each message; python3 -u or PYTHONUNBUFFERED=1 for Python, "
              "stdbuf -oL for C programs");
    } else if (!context_.answered && seen_.late > 0) {
      explain("late",
              "its answer to " + std::string(context_.request) + " came after " +
                  text_of(context_.timeout),
              context_.fetch ? "try again: " + context_.fetch->text() + ", and now has it"
                             : "give it longer: pool.start_timeout");
    }
    if (needs_reason() && !context_.refused) explain_silence();
  }

  void explain_silence() {
    constexpr std::string_view kQuestion =
        "does it speak its protocol on stdin and stdout? Some servers need an option for that "
        "(--stdio)";
    std::string what = "it did not answer " + std::string(context_.request) + " within " +
                       text_of(context_.timeout);
    std::string advice(kQuestion);
    if (context_.fetch) {
      what += ": " + context_.fetch->text() + ", and perhaps still does";
      advice = context_.fetch->advice() + ". If it is there already: " + advice;
    } else {
      advice += ". If it only starts slowly: stdgate doctor --timeout 2m";
    }
    const std::string hint = advice_of(seen_.last_words_before_end);
    explain("no-answer", what, hint.empty() ? advice : hint,
            lines_shown(seen_.last_words_before_end));
  }

  void judge_noise() {
    if (seen_.noise_lines == 0 || seen_.has_length_headers) return;
    add(Weight::warning, "noise-on-stdout",
        "it writes to stdout what is no JSON (" + std::to_string(seen_.noise_lines) +
            (seen_.noise_lines == 1 ? " line" : " lines") + "): stdgate drops it, others fail",
        "log to stderr: console.error, logging, print(..., file=sys.stderr)", seen_.noise);
  }

  void judge_time_and_size() {
    if (context_.answered && context_.first_answer >= kSlowStart && context_.fetch) {
      add(Weight::note, "slow-start",
          "its first answer took " + text_of(context_.first_answer) + ": " +
              context_.fetch->text() + ", if it is not in its cache");
    } else if (context_.answered && context_.first_answer >= kSlowStart) {
      add(Weight::warning, "slow-start", "its first answer took " + text_of(context_.first_answer),
          "keep one running (pool.warm: 1; where clients share it, pool.min: 1), and install it "
          "if it is fetched with each start");
    }
    if (seen_.oversized.empty() && seen_.largest >= kHugeMessage) {
      add(Weight::warning, "huge-message",
          "it wrote a message of " + std::to_string(seen_.largest >> 10) + " KiB",
          "clients and models have to take it whole: have it answer in pages");
    }
  }

  void judge_end() {
    if (!seen_.exit || seen_.pid == 0) return;
    if (seen_.left_behind > 0) {
      const uint64_t count = seen_.left_behind;
      add(Weight::warning, "left-behind",
          "it left " + std::to_string(count) + (count == 1 ? " process" : " processes") +
              " running, which stdgate ended",
          "it should wait for what it starts; without stdgate these would stay");
    }
    if (!seen_.ended_after) return;
    if (*seen_.ended_after < context_.grace) {
      if (seen_.exit->value == 0) return;
      return add(Weight::note, "exit-code",
                 "at the end of its input it ended with " + text_of(*seen_.exit), {},
                 lines_shown(seen_.last_words));
    }
    // A command that is still fetching its server reads no input.
    if (context_.fetch && !context_.answered) return;
    const bool was_killed = *seen_.ended_after >= 2 * context_.grace;
    add(Weight::warning, "ignores-end",
        was_killed ? "it minds neither the end of its input nor SIGTERM, and had to be killed"
                   : "it does not exit at the end of its input, but at SIGTERM " +
                         text_of(context_.grace) + " later",
        "exit when stdin ends: each session's end waits for it (pool.grace)");
  }

  const Observations& seen_;
  const FindingContext& context_;
  std::vector<Finding> findings_;
  bool is_explained_ = false;
  bool asks_ = false;
};

bool is_installed(const std::string& package, const std::string& cwd) {
  if (package.empty()) return false;
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(cwd, error);
  if (cwd.empty()) folder = std::filesystem::current_path(error);
  for (;; folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / "node_modules" / package, error)) return true;
    if (folder == folder.parent_path()) return false;
  }
}

}  // namespace

std::string PackageFetch::text() const {
  return runner + " fetches " + package + " before it starts it";
}

std::string PackageFetch::advice() const {
  return "run it once by hand until it waits for input (" + by_hand +
         "), or give it longer: stdgate doctor --timeout 5m";
}

std::optional<PackageFetch> package_fetch_of(const config::BackendConfig& backend) {
  const auto run = config::package_run_of(backend.command);
  if (!run || !run->fetches || is_installed(run->package, backend.cwd)) return std::nullopt;
  return PackageFetch{run->runner, run->package.empty() ? "its package" : run->package,
                      joined(config::hide_secret_arguments(backend.command), " ")};
}

std::vector<std::string> lines_shown(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  out.reserve(lines.size());
  for (const std::string& line : lines) {
    out.push_back(visible(line, VisibleText::line));
    const bool is_of_probe = std::ranges::any_of(
        kProbes, [&line](std::string_view probe) { return line.find(probe) != std::string::npos; });
    if (is_of_probe) out.back() += "  (doctor has asked that)";
  }
  return out;
}

std::vector<Finding> findings_of(const Observations& seen, const FindingContext& context) {
  return Judge(seen, context).findings();
}

std::string forced_end_text(const Observations& seen) {
  if (!seen.exit) return "still runs";
  const bool was_killed =
      seen.exit->kind == pool::ExitStatus::Kind::signaled && seen.exit->value == SIGKILL;
  if (was_killed) return "it went on, at SIGTERM too; doctor ended it by SIGKILL";
  return "it went on; doctor ended it by SIGTERM";
}

std::string text_of(const pool::ExitStatus& status) {
  switch (status.kind) {
    case pool::ExitStatus::Kind::exited:
      return "exit code " + std::to_string(status.value);
    case pool::ExitStatus::Kind::signaled: {
      const char* const name = sigabbrev_np(status.value);
      return "signal " + std::to_string(status.value) +
             (name == nullptr ? "" : " (SIG" + std::string(name) + ")");
    }
    case pool::ExitStatus::Kind::not_started:
      break;
  }
  return "no start: " + status.reason;
}

std::string text_of(Duration duration) {
  const double seconds = to_seconds(duration);
  std::array<char, 32> text{};
  if (seconds < 1) {
    std::snprintf(text.data(), text.size(), "%.0f ms", seconds * 1000);
  } else {
    std::snprintf(text.data(), text.size(), "%.1f s", seconds);
  }
  return text.data();
}

Duration DoctorTime::left(Duration wanted) const {
  return std::clamp(until_ - clock_.now(), std::min(wanted, kLeast), wanted);
}

std::optional<Finding> DoctorTime::shortage(const std::vector<Step>& steps) const {
  if (!is_over()) return std::nullopt;
  std::string waited;
  for (const Step& step : steps) {
    if (step.outcome != kNoAnswer) continue;
    waited.append(waited.empty() ? "" : ", ").append(step.name);
    waited.append(" (").append(text_of(step.took)).append(")");
  }
  if (waited.empty()) waited = "many steps";
  return Finding{Finding::Weight::note, "out-of-time",
                 "all steps together have " + text_of(whole_) +
                     ", so the last ones were cut short or left out; it was waited for: " + waited,
                 "stdgate doctor --timeout 5m gives it longer"};
}

}  // namespace stdgate::tools
