#include "tests/integration/harness/metrics_text.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace stdgate::harness {
namespace {

// Parses a sample line from left to right.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : line_(line), rest_(line) {}

  std::string_view word() {
    const auto is_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == ':';
    };
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_word);
    const std::string_view found = rest_.substr(0, static_cast<size_t>(end - rest_.begin()));
    if (found.empty()) {
      malformed();
    }
    rest_.remove_prefix(found.size());
    return found;
  }

  bool take(char wanted) {
    if (!rest_.starts_with(wanted)) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) {
      malformed();
    }
  }

  // A label's value: from behind its opening quote to its closing quote.
  std::string quoted() {
    expect('"');
    std::string value;
    while (!take('"')) {
      const bool escaped = take('\\');
      if (rest_.empty()) {
        malformed();
      }
      value += escaped && rest_.front() == 'n' ? '\n' : rest_.front();
      rest_.remove_prefix(1);
    }
    return value;
  }

  double number() {
    const std::string text(rest_);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') {
      malformed();
    }
    return value;
  }

 private:
  [[noreturn]] void malformed() const {
    throw std::runtime_error("metrics: malformed line: " + std::string(line_));
  }

  std::string_view line_;
  std::string_view rest_;
};

Labels read_labels(LineReader& reader) {
  Labels labels;
  if (!reader.take('{')) {
    return labels;
  }
  while (!reader.take('}')) {
    const std::string name(reader.word());
    reader.expect('=');
    labels[name] = reader.quoted();
    reader.take(',');
  }
  return labels;
}

}  // namespace

MetricsText::MetricsText(std::string_view text) {
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) {
      add_comment(line);
    } else if (!line.empty()) {
      add_sample(line);
    }
  }
}

void MetricsText::add_comment(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string hash;
  std::string keyword;
  std::string family;
  std::string type;
  words >> hash >> keyword >> family >> type;
  if (keyword == "TYPE") {
    types_[family] = type;
  }
}

void MetricsText::add_sample(std::string_view line) {
  LineReader reader(line);
  const std::string name(reader.word());
  Labels labels = read_labels(reader);
  reader.expect(' ');
  if (!samples_[name].emplace(std::move(labels), reader.number()).second) {
    throw std::runtime_error("metrics: series given twice: " + std::string(line));
  }
}

std::optional<double> MetricsText::value(const std::string& name, const Labels& labels) const {
  const auto family = samples_.find(name);
  if (family == samples_.end()) {
    return std::nullopt;
  }
  const auto sample = family->second.find(labels);
  return sample == family->second.end() ? std::nullopt : std::optional(sample->second);
}

double MetricsText::sum(const std::string& name, const Labels& labels) const {
  const auto family = samples_.find(name);
  double total = 0;
  if (family == samples_.end()) {
    return total;
  }
  for (const auto& [own, value] : family->second) {
    if (std::includes(own.begin(), own.end(), labels.begin(), labels.end())) {
      total += value;
    }
  }
  return total;
}

size_t MetricsText::series(const std::string& name) const {
  const auto family = samples_.find(name);
  return family == samples_.end() ? 0 : family->second.size();
}

std::string MetricsText::type(const std::string& family) const {
  const auto found = types_.find(family);
  return found == types_.end() ? "" : found->second;
}

}  // namespace stdgate::harness
