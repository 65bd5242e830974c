// Suggestions: near enough, and never a wild guess.
#include <gtest/gtest.h>

#include "gateway/config/value_names.h"

namespace stdgate {
namespace {

TEST(NearestWord, Table) {
  const std::vector<std::string_view> words{"min", "max", "max_in_flight", "queue", "queue_bytes"};
  const std::pair<std::string, std::optional<std::string_view>> cases[] = {
      {"max", "max"},
      {"maxx", "max"},
      {"mxa", "max"},
      {"mni", "min"},
      {"qeueu", "queue"},
      {"queue-bytes", "queue_bytes"},
      {"maxInFlight", "max_in_flight"},
      {"x", std::nullopt},
      {"", std::nullopt},
      {"isolation", std::nullopt},
      {std::string(65, 'm'), std::nullopt},
  };
  for (const auto& [word, expected] : cases)
    EXPECT_EQ(config::nearest_word(word, words), expected) << word;
  EXPECT_EQ(config::nearest_word("max", {}), std::nullopt);
}

}  // namespace
}  // namespace stdgate
