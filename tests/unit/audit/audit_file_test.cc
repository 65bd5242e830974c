// The file of an audit: who may write it, and which kinds of file are allowed.
#include "metrics/audit/audit_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/test_folder.h"

namespace stdgate {
namespace {

using audit::AuditFile;
using testing::HasSubstr;

TEST(AuditFile, IsForItsUserAlone) {
  const test::TestFolder folder;
  const auto file = AuditFile::open(folder.path("a"));
  ASSERT_TRUE(file.has_value());
  struct stat facts {};
  ASSERT_EQ(stat(folder.path("a").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_EQ(file->found().sequence, 0U);
}

TEST(AuditFile, HasOneWriter) {
  const test::TestFolder folder;
  {
    const auto first = AuditFile::open(folder.path("a"));
    ASSERT_TRUE(first.has_value());
    const auto second = AuditFile::open(folder.path("a"));
    ASSERT_FALSE(second.has_value());
    EXPECT_THAT(second.error(), HasSubstr("another process writes this audit"));
  }
  EXPECT_TRUE(AuditFile::open(folder.path("a")).has_value());
}

TEST(AuditFile, IsNothingElse) {
  const test::TestFolder folder;
  EXPECT_THAT(AuditFile::open("/dev/full").error(), HasSubstr("no regular file"));
  EXPECT_THAT(AuditFile::open(folder.path("")).error(), HasSubstr("Is a directory"));
  EXPECT_THAT(AuditFile::open(folder.path("no/such")).error(), HasSubstr("No such file"));
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(AuditFile::open(folder.path("pipe")).error(), HasSubstr("no regular file"));
  for (const std::string text : {"root:x:0:0\n", "root:x:0:0", "{}\n{}\n", "\n", "a\n{\"seq"}) {
    const std::string path = folder.write("other", text);
    const auto file = AuditFile::open(path);
    ASSERT_FALSE(file.has_value()) << text;
    EXPECT_THAT(file.error(), HasSubstr("no audit"));
  }
}

TEST(AuditFile, IsCheckedWithoutBeingMade) {
  const test::TestFolder folder;
  EXPECT_TRUE(AuditFile::check(folder.path("a")).has_value());
  EXPECT_FALSE(std::filesystem::exists(folder.path("a")));
  const auto writer = AuditFile::open(folder.path("a"));
  EXPECT_TRUE(AuditFile::check(folder.path("a")).has_value());
  EXPECT_THAT(AuditFile::check(folder.path("no/such")).error(), HasSubstr("No such file"));
  EXPECT_THAT(AuditFile::check("/dev/full").error(), HasSubstr("no regular file"));
  EXPECT_THAT(AuditFile::check(folder.write("other", "root:x:0:0\n")).error(),
              HasSubstr("no audit"));
}

TEST(AuditFile, KnowsThatItWasMoved) {
  const test::TestFolder folder;
  const auto file = AuditFile::open(folder.path("a"));
  ASSERT_TRUE(file.has_value());
  EXPECT_FALSE(file->was_moved());
  std::filesystem::rename(folder.path("a"), folder.path("b"));
  EXPECT_TRUE(file->was_moved());
  folder.write("a", "");
  EXPECT_TRUE(file->was_moved());
}

}  // namespace
}  // namespace stdgate
