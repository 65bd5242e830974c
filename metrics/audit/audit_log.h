// AuditLog: the audit as lines of JSON in a file, each bound to the one before it (Chain).
//
// Job: one line for each covered call, refusal, failed login and session. Lines are written within
// kDelay. With `durable` they are written at once, and a call's line is on the disk when
// record_call() returns; the loop waits for it. Lines that the file does not take are kept and
// tried again; meanwhile can_record() is false. Owner: the worker, on whose loop everything is
// called. Limits: kMaxUnsent bytes are kept; further lines are lost, which a later line reports.
// kMaxRefusalsPerSecond lines that any client can cause; kMaxName, kMaxPath, kMaxArguments and
// kMaxKeys bytes of a text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/audit.h"
#include "gateway/base/byte_storage.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "metrics/audit/audit_file.h"

namespace stdgate::audit {

struct AuditServices {
  const Clock& clock;
  const WallClock& wall_clock;
  TimerQueue& timers;
  Log& log;
};

// The configuration was read again. Keys of the file, no values.
struct AuditedReload {
  std::string_view cause;  // "signal", "watch"
  bool is_good = false;    // else nothing has changed
  std::span<const std::string> changed{};
  std::span<const std::string> needs_restart{};
};

// For metrics.
struct AuditCounts {
  uint64_t lines = 0;     // written
  uint64_t failures = 0;  // attempts to write or sync
  uint64_t lost = 0;      // lines
  bool is_failing = false;
};

class AuditLog final : public Audit {
 public:
  static constexpr size_t kMaxUnsent = 16 << 20;
  static constexpr uint32_t kMaxRefusalsPerSecond = 100;
  static constexpr size_t kMaxName = 256;
  static constexpr size_t kMaxPath = 1024;  // of resources and requests
  static constexpr size_t kMaxArguments = 4096;
  static constexpr size_t kMaxKeys = 4096;  // of the configuration
  static constexpr Duration kDelay = std::chrono::milliseconds(20);
  static constexpr Duration kRetry = std::chrono::milliseconds(500);

  // `redact`: names of members whose values are hidden. `file` outlives it. Writes the first line.
  AuditLog(const config::AuditConfig& config, std::vector<std::string> redact, AuditFile& file,
           const AuditServices& services);
  ~AuditLog() override;
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // The gateway ends: writes a line that says so, and the chain's end to the log.
  void close();
  void set_redact(std::vector<std::string> redact) { redact_ = std::move(redact); }
  void on_reloaded(const AuditedReload& reload);
  // Goes on in a new file if the name no longer belongs to the present one.
  void reopen();
  [[nodiscard]] AuditCounts counts() const { return counts_; }

  [[nodiscard]] bool covers(std::string_view method) const override;
  [[nodiscard]] bool can_record() const override { return !counts_.is_failing; }
  void describe_call(const AuditedCall& call, bool is_covered, std::string& notes) override;
  [[nodiscard]] bool record_call(std::string_view backend, const CallRecord& call, bool is_covered,
                                 std::string_view notes) override;
  void record_notification(std::string_view backend, const CallRecord& notification,
                           bool is_covered, std::string_view notes) override;
  void on_child_message(const AuditedChildMessage& message) override;
  void on_session_opened(const AuditedSession& session) override;
  void on_session_ended(const AuditedSession& session) override;
  void on_refused(const AuditedRefusal& refusal) override;
  void on_handshake_refused(const AuditedHandshake& handshake) override;

 private:
  void begin_line(std::string_view event, size_t torn = 0);
  void append_client(std::string& out, const AuditedClient& client);
  void append_arguments(std::string& out, std::string_view params);
  void write_session(std::string_view event, const AuditedSession& session);
  void write_call(std::string_view event, std::string_view backend, const CallRecord& call,
                  std::string_view notes);
  // False: it is lost.
  bool end_line();
  void take_line();
  bool may_note_refusal();
  // Writes what is kept. False: some of it is left.
  bool flush();
  bool flush_durably();
  void set_failing(bool failing, std::string_view what = {});
  void schedule(Duration delay);
  void on_timer();
  void try_reopen();

  const config::AuditConfig config_;
  std::vector<std::string> redact_;
  AuditFile& file_;
  const AuditServices services_;
  Hasher hasher_;
  ChainEnd end_;
  ByteQueue unsent_;  // whole lines, but for the first one's written part
  std::string line_;  // the one that is being made
  uint64_t unreported_lost_ = 0;
  uint64_t refused_ = 0;  // calls, while it could not be written
  bool reopen_asked_ = false;
  RateLimit refusals_{kMaxRefusalsPerSecond};
  Timer flush_timer_;
  Timer left_out_timer_;  // armed while refusals have been left out
  AuditCounts counts_;
};

}  // namespace stdgate::audit
