// AuditWorld: an audit in a folder. The test controls the clock.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "metrics/audit/audit_log.h"
#include "metrics/audit/verification.h"
#include "tests/support/manual_clock.h"
#include "tests/support/recording_log.h"
#include "tests/support/test_folder.h"

namespace stdgate::test {

// Shows 2026-01-02T03:04:05.678Z when the clock begins.
class FixedWallClock final : public WallClock {
 public:
  [[nodiscard]] WallTime at(TimePoint time) const override {
    using namespace std::chrono_literals;
    const auto day = std::chrono::sys_days(std::chrono::year(2026) / 1 / 2);
    return WallTime(day + 3h + 4min + 5s + 678ms) +
           (time.time_since_epoch() - Duration(std::chrono::hours(1)));
  }
};

class AuditWorld {
 public:
  void open(config::AuditConfig config = {}, std::vector<std::string> redact = {}) {
    config.file = path();
    auto opened = audit::AuditFile::open(path());
    ASSERT_TRUE(opened.has_value()) << opened.error();
    file = std::make_unique<audit::AuditFile>(*std::move(opened));
    log = std::make_unique<audit::AuditLog>(
        config, std::move(redact), *file,
        audit::AuditServices{clock, wall_clock, timers, gateway_log});
  }
  void close() {
    log->close();
    log.reset();
    file.reset();
  }
  // The state after kill -9: nothing more is written.
  void advance(Duration duration) {
    clock.set(clock.now() + duration);
    timers.run_due(clock.now());
  }
  void settle() { advance(std::chrono::milliseconds(50)); }

  // Reports a call to the audit, as the core does.
  bool call(const std::string& method, Outcome outcome = Outcome::ok(),
            const AuditedCall& about = {}) {
    CallRecord record;
    record.method_name = method;
    record.outcome = outcome;
    record.total = std::chrono::microseconds(1234);
    record.connection = 7;
    const bool is_covered = log->covers(method);
    std::string notes;
    log->describe_call(about, is_covered, notes);
    return log->record_call("files", record, is_covered, notes);
  }

  [[nodiscard]] std::string path(const std::string& name = "audit.jsonl") const {
    return folder.path(name);
  }
  [[nodiscard]] std::string text(const std::string& name = "audit.jsonl") const {
    std::ostringstream out;
    out << std::ifstream(path(name), std::ios::binary).rdbuf();
    return out.str();
  }
  [[nodiscard]] std::vector<std::string> lines(const std::string& name = "audit.jsonl") const {
    std::istringstream in(text(name));
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  [[nodiscard]] audit::AuditReport verify() const { return audit::verify_files({path()}); }

  TestFolder folder;
  ManualClock clock;
  FixedWallClock wall_clock;
  TimerQueue timers;
  RecordingLog gateway_log;
  std::unique_ptr<audit::AuditFile> file;
  std::unique_ptr<audit::AuditLog> log;
};

// Files of this process cannot grow beyond `bytes`, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(size_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace stdgate::test
