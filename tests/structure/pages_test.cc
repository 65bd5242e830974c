// The rules for pages find planted faults, and nothing else.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/structure/rules.h"

namespace stdgate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Pages, Anchors) {
  EXPECT_THAT(
      anchors_of("# Bird's-eye view\n"
                 "## Limits, by name\n"
                 "text\n"
                 "### `backends.<name>.pool`\n"
                 "#hashtag\n"
                 "```sh\n# a comment\n```\n"
                 "## Log\n## Log\n"),
      UnorderedElementsAre("birds-eye-view", "limits-by-name", "backendsnamepool", "log", "log-1"));
}

// A project with three files: the page docs/a.md with this text, docs/b.md with the heading "Here",
// and tests/run.
Pages around(const std::string& text) {
  return {{{"docs/a.md", text}, {"docs/b.md", "# Here\n"}},
          {"docs/a.md", "docs/b.md", "gateway/rpc/fault.cc", "tests/run"}};
}

TEST(Pages, Links) {
  const struct {
    const char* text;
    const char* violation;  // without the path; null: no violation
  } cases[] = {
      {"[b](b.md), [b](b.md#here), [run](../tests/run), [tests](../tests)", nullptr},
      {"# Top\n[top](#top)", nullptr},
      {"[x](https://example.org/nothing.md#at-all)", nullptr},
      {"`[b](c.md)`\n```\n[b](c.md)\n```\n", nullptr},
      {"[b](c.md)", "links to c.md, which does not exist"},
      {"[b\nc](../c.md)", "links to ../c.md, which does not exist"},
      {"[b](b.md#there)", "links to b.md#there, a heading that does not exist"},
      {"[b](#here)", "links to #here, a heading that does not exist"},
      {"[run](../tests/run#here)", "links to ../tests/run#here, a heading that does not exist"},
      {"[`run`](../tests/walk)", "links to ../tests/walk, which does not exist"},
      {"a ` alone\n\n[b](c.md)", "links to c.md, which does not exist"},
  };
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.text);
    const std::vector<std::string> found = broken_links(around(expected.text));
    if (expected.violation == nullptr) {
      EXPECT_THAT(found, IsEmpty());
    } else {
      EXPECT_THAT(found, ElementsAre(std::string("docs/a.md: ") + expected.violation));
    }
  }
}

TEST(Pages, FilesInBackticks) {
  const struct {
    const char* text;
    const char* missing;  // null: nothing is missing
  } cases[] = {
      {"`gateway/rpc/fault.cc`, `fault.cc`, `tests/run --quick`, `tests`, `gateway/rpc`", nullptr},
      {"`gateway/config/options/<section>_options.h`, `tests/fuzz_*`, `std::string.h`", nullptr},
      {"```\n`gateway/rpc/none.cc`\n```\n", nullptr},
      {"gateway/rpc/none.cc", nullptr},
      {"`gateway/rpc/none.cc`", "gateway/rpc/none.cc"},
      {"`none.h`", "none.h"},
      {"`tests/walk --quick`", "tests/walk"},
  };
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.text);
    const std::vector<std::string> found = missing_files(around(expected.text));
    if (expected.missing == nullptr) {
      EXPECT_THAT(found, IsEmpty());
    } else {
      EXPECT_THAT(found, ElementsAre(std::string("docs/a.md: names ") + expected.missing +
                                     ", which does not exist"));
    }
  }
}

TEST(Pages, ChangelogMayNameWhatWas) {
  EXPECT_THAT(missing_files({{{"CHANGELOG.md", "`gateway/gone.cc`"}}, {"CHANGELOG.md"}}),
              IsEmpty());
}

TEST(Pages, Keys) {
  const std::string reference =
      "## `limits`\n\n| key | values |\n|---|---|\n| `message` | size |\n"
      "## `backends.<name>.pool`\n\n| `max` | number |\n";
  const struct {
    const char* text;
    const char* missing;  // null: nothing is missing
  } cases[] = {
      {"`limits.message`, `pool.max: 3`, `limits.*`, `pool.cc.x`, limits.none", nullptr},
      {"`limits.max`", "limits.max"},
      {"`pool.message: 3`", "pool.message"},
  };
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.text);
    const std::vector<std::string> found =
        unknown_keys({{{"README.md", expected.text}, {"docs/configuration.md", reference}}, {}});
    if (expected.missing == nullptr) {
      EXPECT_THAT(found, IsEmpty());
    } else {
      EXPECT_THAT(found, ElementsAre(std::string("README.md: names the key ") + expected.missing +
                                     ", which does not exist"));
    }
  }
}

TEST(Pages, Decisions) {
  const std::string form = "does not begin with its number and title, then date and state";
  const std::string row = "| 1 | [One thing](0001-one.md) | 2026-01-02 |\n";
  const std::string page = "# 1. One thing\n\n2026-01-02 · accepted\n\nText.\n";
  const struct {
    std::string file;
    std::string text;
    std::string table;
    std::string violation;  // without the path; empty: no violation
  } cases[] = {
      {"0001-one.md", page, row, ""},
      {"0007-one.md", "# 7. One thing\n\n2026-01-02 · accepted\n\nText.\n",
       "| 7 | [One thing](0007-one.md) | 2026-01-02 |\n", ""},
      {"0001-one.md", "# 1. One thing\n\n2026-01-02 · superseded by 3\n\nText.\n", row, form},
      {"0001-one.md", "# One thing\n\n2026-01-02 · accepted\n\nText.\n", row, form},
      {"0001-one.md", "# 1. One thing\n\n2026-01-02 · done\n\nText.\n", row, form},
      {"0002-one.md", page, row, "is number 1, unlike its file"},
      {"0001-one.md", "# 1. One thing\n\n2026-01-03 · accepted\n\nText.\n", row,
       "is not listed in docs/decisions/README.md as: "
       "| 1 | [One thing](0001-one.md) | 2026-01-03 |"},
      {"0001-one.md", page, "", "is not listed in docs/decisions/README.md as: " + row},
  };
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.file + ": " + expected.text);
    const std::string path = "docs/decisions/" + expected.file;
    std::string violation = expected.violation;
    if (violation.ends_with('\n')) violation.pop_back();
    const std::vector<std::string> found = decision_faults(
        {{{path, expected.text}, {"docs/decisions/README.md", expected.table}}, {}});
    if (violation.empty()) {
      EXPECT_THAT(found, IsEmpty());
    } else {
      EXPECT_THAT(found, ElementsAre(path + ": " + violation));
    }
  }
}

TEST(Pages, NumbersOfDecisions) {
  const std::string page = "# 1. One thing\n\n2026-01-02 · accepted\n\nText.\n";
  const std::string other = "# 1. Other\n\n2026-01-02 · accepted\n\nText.\n";
  const std::string one = "| 1 | [One thing](0001-one.md) | 2026-01-02 |\n";
  const std::string two = "| 1 | [Other](0001-two.md) | 2026-01-02 |\n";
  EXPECT_THAT(decision_faults({{{"docs/decisions/0001-one.md", page},
                                {"docs/decisions/0001-two.md", other},
                                {"docs/decisions/README.md", one + two}},
                               {}}),
              UnorderedElementsAre(
                  "docs/decisions/0001-two.md: has the number of another page",
                  "docs/decisions/README.md: its rows are not in the order of their numbers"));
  EXPECT_THAT(
      decision_faults({{{"docs/decisions/0001-one.md", page},
                        {"docs/decisions/README.md", "| 3 | [x](0003-x.md) | d |\n" + one}},
                       {}}),
      ElementsAre("docs/decisions/README.md: its rows are not in the order of their numbers"));
}

}  // namespace
}  // namespace stdgate
