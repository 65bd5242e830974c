// MetricsText: the series of a scrape in the Prometheus text format, version 0.0.4.
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
  // Throws std::runtime_error if a line is malformed or a series is given twice.
  explicit MetricsText(std::string_view text);

  // The value of the series with exactly these labels.
  [[nodiscard]] std::optional<double> value(const std::string& name, const Labels& labels) const;

  // The sum of the series whose labels include these; 0 without such series.
  [[nodiscard]] double sum(const std::string& name, const Labels& labels = {}) const;

  // The number of series with this name.
  [[nodiscard]] size_t series(const std::string& name) const;

  // The announced type of a family ("counter"); empty: not announced.
  [[nodiscard]] std::string type(const std::string& family) const;

 private:
  void add_comment(std::string_view line);
  void add_sample(std::string_view line);

  std::map<std::string, std::map<Labels, double>> samples_;
  std::map<std::string, std::string> types_;
};

}  // namespace stdgate::harness
