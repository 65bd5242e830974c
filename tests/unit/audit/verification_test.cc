// Verification finds every change of an audit's lines, and the place of the change.
#include "metrics/audit/verification.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/test_folder.h"

namespace stdgate {
namespace {

using audit::Verification;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using Lines = std::vector<std::string>;

// A chain of `count` lines.
Lines chain(size_t count) {
  Lines lines;
  audit::Hasher hasher;
  audit::ChainEnd end = audit::ChainEnd::beginning();
  for (size_t i = 0; i < count; ++i) {
    std::string& line = lines.emplace_back();
    audit::append_line_head(line, end);
    line += R"(,"event":"e)" + std::to_string(i) + R"("})";
    end = {end.sequence + 1, hasher.of(line)};
  }
  return lines;
}

Lines findings_in(const Lines& lines) {
  Verification verification;
  verification.begin_file("a");
  for (const std::string& line : lines) verification.add_line(line);
  verification.end();
  return verification.findings();
}

TEST(Verification, TakesWhatWasWritten) {
  for (const size_t count : {0, 1, 2, 10}) EXPECT_THAT(findings_in(chain(count)), IsEmpty());
}

TEST(Verification, TakesTheRestOfAChain) {
  Lines lines = chain(5);
  lines.erase(lines.begin(), lines.begin() + 2);
  EXPECT_THAT(findings_in(lines), IsEmpty());
}

// Changes each byte of each line except the last line.
TEST(Verification, FindsEachChangedByte) {
  const Lines good = chain(3);
  for (size_t line = 0; line + 1 < good.size(); ++line) {
    for (size_t at = 0; at < good[line].size(); ++at) {
      Lines lines = good;
      lines[line][at] = static_cast<char>(lines[line][at] ^ 1);
      EXPECT_FALSE(findings_in(lines).empty()) << lines[line];
    }
  }
}

TEST(Verification, SaysWhichLineWasChanged) {
  Lines lines = chain(4);
  lines[1].replace(lines[1].find("e1"), 2, "xx");
  EXPECT_THAT(findings_in(lines), ElementsAre(HasSubstr("a:2: changed")));
  lines = chain(4);
  lines[1] = "what is this";
  EXPECT_THAT(findings_in(lines), ElementsAre(StartsWith("a:2: changed or invented")));
}

TEST(Verification, SaysWhereLinesAreMissing) {
  for (size_t line = 1; line + 1 < 5; ++line) {
    Lines lines = chain(5);
    lines.erase(lines.begin() + static_cast<ptrdiff_t>(line));
    EXPECT_THAT(findings_in(lines),
                ElementsAre("a:" + std::to_string(line + 1) + ": 1 line before it missing, from " +
                            std::to_string(line + 1) + " on"));
  }
}

TEST(Verification, FindsMovedLines) {
  for (size_t line = 0; line + 1 < 5; ++line) {
    Lines lines = chain(5);
    std::swap(lines[line], lines[line + 1]);
    EXPECT_FALSE(findings_in(lines).empty()) << line;
  }
}

TEST(Verification, FindsInventedLines) {
  for (size_t line = 0; line < 4; ++line) {
    Lines lines = chain(5);
    // The invented line is made by an attacker who knows the format: it fits the line before it.
    audit::Hasher hasher;
    const audit::ChainEnd end{line + 1, hasher.of(lines[line])};
    std::string invented;
    audit::append_line_head(invented, end);
    invented += R"(,"event":"invented"})";
    lines.insert(lines.begin() + static_cast<ptrdiff_t>(line + 1), invented);
    EXPECT_FALSE(findings_in(lines).empty()) << line;
  }
  Lines lines = chain(3);
  lines.insert(lines.begin() + 1, lines[0]);
  EXPECT_FALSE(findings_in(lines).empty());
}

TEST(Verification, FindsASecondChain) {
  Lines lines = chain(2);
  const Lines more = chain(1);
  lines.insert(lines.end(), more.begin(), more.end());
  EXPECT_THAT(findings_in(lines), ElementsAre("a:3: a new chain begins here"));
}

// An attacker cannot claim that a complete line was torn.
TEST(Verification, TornLinesAreThoseThatTheNextOneNames) {
  Lines lines = chain(2);
  const std::string torn = R"({"sequence":3,"prev)";
  audit::Hasher hasher;
  std::string next;
  audit::append_line_head(next, {2, hasher.of(torn)}, torn.size());
  next += R"(,"event":"started"})";
  lines.push_back(torn);
  lines.push_back(next);
  EXPECT_THAT(findings_in(lines), IsEmpty());
  Lines changed = lines;
  changed[2] = R"({"sequence":3,"prxv)";
  EXPECT_FALSE(findings_in(changed).empty());
  Lines missing = lines;
  missing.erase(missing.begin() + 2);
  EXPECT_THAT(findings_in(missing), ElementsAre("a:3: the torn line before it is missing"));
}

TEST(Verification, SaysOnlySoMuch) {
  const Lines lines(Verification::kMaxFindings + 5, "x");
  Verification verification;
  verification.begin_file("a");
  for (const std::string& line : lines) verification.add_line(line);
  verification.end();
  EXPECT_EQ(verification.findings().size(), Verification::kMaxFindings);
  EXPECT_EQ(verification.more_findings(), 5U);
}

TEST(Verification, AFileThatCannotBeReadIsNotGood) {
  const auto report = audit::verify_files({"/no/such/file"});
  EXPECT_FALSE(report.is_good);
  EXPECT_FALSE(report.is_complete);
  EXPECT_THAT(report.text, HasSubstr("/no/such/file: No such file"));
}

TEST(Verification, ACompressedFileIsNotTakenForAChangedOne) {
  const test::TestFolder folder;
  const std::vector<std::pair<std::string, std::string>> table = {{"\x1f\x8b\x08", "gzip"},
                                                                  {"\x28\xb5\x2f\xfd", "zstd"},
                                                                  {"\xfd"
                                                                   "7zXZ",
                                                                   "xz"},
                                                                  {"BZh9", "bzip2"}};
  for (const auto& [beginning, name] : table) {
    const std::string file = folder.write("a.1", beginning + "\nx\ny\n");
    const auto report = audit::verify_files({file});
    EXPECT_FALSE(report.is_good);
    EXPECT_FALSE(report.is_complete);
    EXPECT_THAT(report.text, HasSubstr(file + ": compressed (" + name + "); give it as <("));
    EXPECT_THAT(report.text, Not(HasSubstr("invented")));
  }
}

}  // namespace
}  // namespace stdgate
