// Verification: whether an audit is as it was written: no line changed, taken out, moved or
// invented.
//
// A value, fed line by line; several files follow each other in the order of their writing. Two
// things escape it: lines taken from the end, and a chain that was rewritten from some line on.
// Both show in the digest of the last line, if that is kept elsewhere. Limit: kMaxFindings are told
// apart, further ones counted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/audit/audit_file.h"

namespace stdgate::audit {

class Verification {
 public:
  static constexpr size_t kMaxFindings = 100;

  // The following lines belong to this file.
  void begin_file(const std::string& name);
  // The next line, without its end. `is_whole`: it has one.
  void add_line(std::string_view line, bool is_whole = true);
  void end();

  // "audit.jsonl:12: …"
  [[nodiscard]] const std::vector<std::string>& findings() const { return findings_; }
  [[nodiscard]] uint64_t more_findings() const { return more_findings_; }
  // Remarks: worth knowing, and no fault.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] uint64_t lines() const { return lines_; }
  [[nodiscard]] const ChainEnd& chain_end() const { return end_; }

 private:
  [[nodiscard]] std::string place(uint64_t line) const;
  void find(std::string place, std::string_view what);
  void note(std::string place, std::string_view what);
  void judge(const LineHead& head);
  [[nodiscard]] bool explains_last(const LineHead& head) const;
  [[nodiscard]] bool explains_torn(const LineHead& head) const;

  Hasher hasher_;
  std::string file_;
  uint64_t line_ = 0;   // of the file
  uint64_t lines_ = 0;  // of all files
  bool has_begun_ = false;
  ChainEnd end_ = ChainEnd::beginning();
  std::string last_place_;  // of the line that end_ is about
  size_t last_size_ = 0;    // of it
  // A line that is none, which the next one may explain as torn.
  struct Unknown {
    std::string place;
    size_t size = 0;
    DigestText digest{};
    bool is_whole = true;
  };
  std::optional<Unknown> unknown_;
  std::vector<std::string> findings_;
  std::vector<std::string> notes_;
  uint64_t more_findings_ = 0;
};

// The result of a verification.
struct AuditReport {
  bool is_good = false;
  bool is_complete = true;  // all files could be read
  std::string text;         // lines for people
};

// Reads the files. With one that cannot be read, as it is not there or compressed, it is not good.
AuditReport verify_files(const std::vector<std::string>& files);

}  // namespace stdgate::audit
