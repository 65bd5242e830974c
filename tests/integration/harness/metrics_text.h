// MetricsText: a scrape in the Prometheus text format, version 0.0.4, to look series up in.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stdgate::harness {

using Labels = std::map<std::string, std::string>;

class MetricsText {
 public:
  // Throws std::runtime_error at a line that is malformed or a series that is given twice.
  explicit MetricsText(std::string_view text);

  // The series with exactly these labels.
  [[nodiscard]] std::optional<double> value(const std::string& name, const Labels& labels) const;

  // The sum of the series whose labels include these; 0 when there is none.
  [[nodiscard]] double sum(const std::string& name, const Labels& labels = {}) const;

  // How many series the name has.
  [[nodiscard]] size_t series(const std::string& name) const;

  // The type that a family was announced with ("counter"); empty when it was not.
  [[nodiscard]] std::string type(const std::string& family) const;

 private:
  void add_comment(std::string_view line);
  void add_sample(std::string_view line);

  std::map<std::string, std::map<Labels, double>> samples_;
  std::map<std::string, std::string> types_;
};

}  // namespace stdgate::harness
