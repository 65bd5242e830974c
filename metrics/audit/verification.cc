#include "metrics/audit/verification.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

namespace stdgate::audit {

namespace {

std::string lines_text(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " line" : " lines");
}

}  // namespace

std::string Verification::place(uint64_t line) const { return file_ + ":" + std::to_string(line); }

void Verification::find(std::string place, std::string_view what) {
  if (findings_.size() == kMaxFindings) {
    ++more_findings_;
    return;
  }
  findings_.push_back(std::move(place.append(": ").append(what)));
}

void Verification::note(std::string place, std::string_view what) {
  if (notes_.size() < kMaxFindings) notes_.push_back(std::move(place.append(": ").append(what)));
}

void Verification::begin_file(const std::string& name) {
  file_ = name;
  line_ = 0;
}

void Verification::add_line(std::string_view line, bool is_whole) {
  ++line_;
  ++lines_;
  const auto head = is_whole ? read_line_head(line) : std::nullopt;
  if (!head) {
    if (unknown_) find(unknown_->place, "changed or invented: no line of an audit");
    unknown_ = {place(line_), line.size(), hasher_.of(line), is_whole};
    return;
  }
  judge(*head);
  end_ = {head->sequence, hasher_.of(line)};
  last_size_ = line.size();
  last_place_ = place(line_);
  has_begun_ = true;
}

// Nothing but the end of the last line was missing, so it has a number, and this one has it again.
bool Verification::explains_last(const LineHead& head) const {
  return !unknown_ && has_begun_ && head.torn == last_size_ && head.sequence == end_.sequence &&
         head.previous == view_of(end_.digest);
}

bool Verification::explains_torn(const LineHead& head) const {
  if (!unknown_ || head.torn != unknown_->size || head.previous != view_of(unknown_->digest)) {
    return false;
  }
  return !has_begun_ || head.sequence == end_.sequence + 1;
}

void Verification::judge(const LineHead& head) {
  if (head.torn > 0 && (explains_last(head) || explains_torn(head))) {
    note(unknown_ ? unknown_->place : last_place_,
         "torn: " + std::to_string(head.torn) +
             " bytes of a line that was being written when the gateway was killed");
    unknown_.reset();
    return;
  }
  if (unknown_) {
    find(unknown_->place, "changed or invented: no line of an audit");
  } else if (head.torn > 0) {
    find(place(line_), "the torn line before it is missing");
    return;
  }
  const bool was_unknown = std::exchange(unknown_, std::nullopt).has_value();
  if (!has_begun_) {
    if (head.sequence > 1) {
      note(place(line_), "continues an earlier file, of " + lines_text(head.sequence - 1));
    } else if (!was_unknown && head.previous != view_of(ChainEnd::beginning().digest)) {
      find(place(line_), "what came before the first line is missing");
    }
    return;
  }
  if (head.sequence == 1) return find(place(line_), "a new chain begins here");
  const uint64_t expected = end_.sequence + 1;
  // The line that could not be read had a number itself.
  if (was_unknown && head.sequence == expected + 1) return;
  if (head.sequence > expected) {
    return find(place(line_), lines_text(head.sequence - expected) + " before it missing, from " +
                                  std::to_string(expected) + " on");
  }
  if (head.sequence < expected) {
    return find(place(line_), "moved or invented: it has the number " +
                                  std::to_string(head.sequence) + ", where " +
                                  std::to_string(expected) + " was to come");
  }
  if (head.previous != view_of(end_.digest) && !was_unknown) {
    find(last_place_, "changed: " + place(line_) + " has another digest of it");
  }
}

void Verification::end() {
  if (!unknown_) return;
  if (unknown_->is_whole) {
    find(unknown_->place, "changed or invented: no line of an audit");
  } else {
    note(unknown_->place, "not written to its end");
  }
  unknown_.reset();
}

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct Compression {
  std::string_view beginning;  // of a file
  std::string_view name;
  std::string_view command;  // that prints it as it was
};
constexpr std::array kCompressions{
    Compression{"\x1f\x8b", "gzip", "zcat"},
    Compression{"\x28\xb5\x2f\xfd", "zstd", "zstdcat"},
    Compression{"\xfd"
                "7zXZ",
                "xz", "xzcat"},
    Compression{"BZh", "bzip2", "bzcat"},
};

// Empty: it is not compressed, as far as its beginning says.
std::string compression_of(const std::string& name, std::string_view beginning) {
  for (const Compression& known : kCompressions) {
    if (!beginning.starts_with(known.beginning)) continue;
    std::string text = "compressed (";
    text.append(known.name).append("); give it as <(").append(known.command).append(" ");
    return text + name + ")";
  }
  return {};
}

// Empty: the whole file was read. Of a line that is too long, only enough is kept to see that it
// is.
std::string read_lines(const std::string& name, Verification& verification) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(name.c_str(), "rbe"));
  if (file == nullptr) return std::strerror(errno);
  std::array<char, 64 << 10> chunk{};
  std::string line;
  bool is_first = true;
  while (const size_t count = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    std::string_view rest(chunk.data(), count);
    if (std::exchange(is_first, false)) {
      if (auto problem = compression_of(name, rest); !problem.empty()) return problem;
    }
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      line.append(
          rest.substr(0, std::min(end, kMaxLine + 1 - std::min(line.size(), kMaxLine + 1))));
      if (end == rest.size()) break;
      verification.add_line(line);
      line.clear();
      rest.remove_prefix(end + 1);
    }
  }
  if (std::ferror(file.get()) != 0) return std::strerror(errno);
  if (!line.empty()) verification.add_line(line, false);
  return {};
}

}  // namespace

AuditReport verify_files(const std::vector<std::string>& files) {
  Verification verification;
  AuditReport report;
  std::string unreadable;
  for (const std::string& file : files) {
    verification.begin_file(file);
    const std::string problem = read_lines(file, verification);
    if (!problem.empty()) unreadable.append(file).append(": ").append(problem).append("\n");
  }
  verification.end();
  for (const std::string& note : verification.notes()) report.text += "note: " + note + "\n";
  for (const std::string& finding : verification.findings()) report.text += finding + "\n";
  if (verification.more_findings() > 0) {
    report.text += "… and " + std::to_string(verification.more_findings()) + " more\n";
  }
  report.text += unreadable;
  report.is_complete = unreadable.empty();
  report.is_good = verification.findings().empty() && report.is_complete;
  const ChainEnd& end = verification.chain_end();
  report.text += (report.is_good ? "ok: " : "NOT ok: ") + lines_text(verification.lines());
  report.text += ", the last is number " + std::to_string(end.sequence) + ", its SHA-256 " +
                 std::string(view_of(end.digest)) + "\n";
  return report;
}

}  // namespace stdgate::audit
