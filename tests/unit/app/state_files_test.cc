// The files of state_dir: which files are read back, and which are refused.

#include "gateway/app/state_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>

#include "tests/support/loop_runner.h"
#include "tests/support/recording_log.h"
#include "tests/support/test_folder.h"

namespace stdgate::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

const std::string kKey = "a key\nof two lines";
const std::string kText = R"({"jsonrpc":"2.0","method":"memory","params":{}})";

class StateFilesTest : public testing::Test {
 protected:
  StateFilesTest() { EXPECT_TRUE(app::prepare_state_dir(path()).has_value()); }
  [[nodiscard]] std::string path() const { return folder_.path("state"); }

  TestFolder folder_;
  net::Loop loop_;
  RecordingLog log_;
};

TEST(StateFile, IsReadAsItWasWritten) {
  EXPECT_EQ(app::read_state_file(kKey, app::state_file(kKey, kText)), kText);
  EXPECT_EQ(app::read_state_file("", app::state_file("", "")), "");
}

TEST(StateFile, IsNothingWhenItIsCut) {
  const std::string whole = app::state_file(kKey, kText);
  for (size_t end = 0; end < whole.size(); ++end) {
    EXPECT_FALSE(app::read_state_file(kKey, whole.substr(0, end))) << end;
  }
  EXPECT_FALSE(app::read_state_file(kKey, whole + " "));
}

TEST(StateFile, IsNothingWhenABitHasChanged) {
  const std::string whole = app::state_file(kKey, kText);
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string other = whole;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(app::read_state_file(kKey, other)) << bit;
  }
}

TEST(StateFile, IsNothingToOthers) {
  const std::string whole = app::state_file(kKey, kText);
  EXPECT_FALSE(app::read_state_file(kKey + " ", whole));
  EXPECT_FALSE(app::read_state_file("", whole));
  std::string later = whole;
  later[later.find('1')] = '2';
  EXPECT_FALSE(app::read_state_file(kKey, later)) << "of another version";
  EXPECT_FALSE(app::read_state_file(kKey, kText)) << "of another program";
  EXPECT_FALSE(app::read_state_file(kKey, ""));
}

TEST_F(StateFilesTest, OutliveTheProcess) {
  {
    app::StateFiles files(path(), loop_, log_);
    EXPECT_FALSE(files.load(kKey));
    files.save(kKey, "first");
    files.save(kKey, kText);  // texts that wait are written at the end
    files.save("another", "text");
  }
  app::StateFiles files(path(), loop_, log_);
  EXPECT_EQ(files.load(kKey), kText);
  EXPECT_EQ(files.load("another"), "text");
  struct stat facts {};
  for (const auto& file : fs::directory_iterator(path())) {
    EXPECT_EQ(file.path().extension(), ".state");
    ASSERT_EQ(::stat(file.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  }
}

TEST_F(StateFilesTest, AreWrittenWhereTheyCanBe) {
  app::StateFiles files(path(), loop_, log_);
  fs::remove_all(path());
  files.save(kKey, kText);
  ASSERT_TRUE(run_until(loop_, [this] { return !log_.lines.empty(); }));
  EXPECT_NE(log_.lines[0].find("what is remembered of servers cannot be written"),
            std::string::npos);
  EXPECT_FALSE(files.load(kKey));
}

TEST_F(StateFilesTest, AreNotTooManyNorTooLarge) {
  constexpr size_t kTooMany = app::StateFiles::kMaxFiles + 10;
  for (size_t i = 0; i < kTooMany; ++i) folder_.write("state/" + std::to_string(i) + ".state", "x");
  folder_.write("state/mine", "x");
  folder_.write("state/0000.1.new.new", "x");
  app::StateFiles files(path(), loop_, log_);
  const auto left = std::distance(fs::directory_iterator(path()), fs::directory_iterator());
  EXPECT_EQ(left, app::StateFiles::kMaxFiles + 1) << "and the one that is none of these";
  files.save(kKey, std::string(app::StateFiles::kMaxFile, 'x'));
  EXPECT_FALSE(files.load(kKey));
}

TEST_F(StateFilesTest, AreNotTooManyWhileTheGatewayRuns) {
  for (size_t i = 0; i < app::StateFiles::kMaxFiles; ++i) {
    folder_.write("state/" + std::to_string(i) + ".state", "x");
  }
  const auto count = [this] {
    return std::distance(fs::directory_iterator(path()), fs::directory_iterator());
  };
  app::StateFiles files(path(), loop_, log_);
  files.save(kKey, kText);
  ASSERT_TRUE(run_until(loop_, [&] { return files.load(kKey).has_value(); }));
  EXPECT_TRUE(run_until(loop_, [&] { return count() == app::StateFiles::kMaxFiles; }));
}

TEST_F(StateFilesTest, StayWhileTheyAreUsed) {
  { app::StateFiles(path(), loop_, log_).save(kKey, kText); }
  const fs::path file = fs::directory_iterator(path())->path();
  fs::last_write_time(file, fs::file_time_type::clock::now() - hours(24 * 365));
  EXPECT_EQ(app::StateFiles(path(), loop_, log_).load(kKey), kText);
  for (size_t i = 0; i < app::StateFiles::kMaxFiles; ++i) {
    const std::string other = folder_.write("state/" + std::to_string(i) + ".state", "x");
    fs::last_write_time(other, fs::file_time_type::clock::now() - hours(1));
  }
  EXPECT_EQ(app::StateFiles(path(), loop_, log_).load(kKey), kText);
}

// Anything else in the file's place counts as a missing file.
TEST_F(StateFilesTest, AreNothingElse) {
  app::StateFiles files(path(), loop_, log_);
  files.save(kKey, kText);
  ASSERT_TRUE(run_until(loop_, [&] { return files.load(kKey).has_value(); }));
  const fs::path file = fs::directory_iterator(path())->path();
  const auto becomes = [&](const auto& make) {
    fs::remove_all(file);
    make();
    return files.load(kKey).has_value();
  };
  EXPECT_FALSE(becomes([&] { fs::create_directory(file); }));
  EXPECT_FALSE(becomes([&] { fs::create_symlink("/dev/zero", file); }));
  EXPECT_FALSE(becomes([&] { fs::create_symlink(file, file); }));
  EXPECT_FALSE(becomes([&] { ::mkfifo(file.c_str(), 0600); }));
  EXPECT_FALSE(becomes([&] {
    folder_.write("state/" + file.filename().string(), "");
    fs::resize_file(file, uintmax_t{1} << 40U);
  }));
}

TEST(StateDirectory, IsTheGatewaysAlone) {
  TestFolder folder;
  EXPECT_TRUE(app::prepare_state_dir(folder.path("new")));
  struct stat facts {};
  ASSERT_EQ(::stat(folder.path("new").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0700U);
  EXPECT_TRUE(app::prepare_state_dir(folder.path("new"))) << "it may be there";
  fs::permissions(folder.path("new"), fs::perms::others_read, fs::perm_options::add);
  EXPECT_FALSE(app::prepare_state_dir(folder.path("new")));
  EXPECT_FALSE(app::prepare_state_dir(folder.path("no/such/parent")));
  folder.write("file", "x");
  EXPECT_FALSE(app::prepare_state_dir(folder.path("file")));
}

TEST(StateDirectory, IsLookedAtWithoutBeingMade) {
  TestFolder folder;
  EXPECT_TRUE(app::check_state_dir(folder.path("new")));
  EXPECT_TRUE(app::check_state_dir(folder.path("new/")));
  EXPECT_FALSE(fs::exists(folder.path("new")));
  EXPECT_FALSE(app::check_state_dir(folder.path("no/such/parent")));
  folder.write("file", "x");
  EXPECT_FALSE(app::check_state_dir(folder.path("file")));
  fs::create_symlink("nowhere", folder.path("link"));
  EXPECT_FALSE(app::check_state_dir(folder.path("link")));
  fs::create_directory(folder.path("open"));
  fs::permissions(folder.path("open"), fs::perms::all);
  EXPECT_FALSE(app::check_state_dir(folder.path("open")));
}

TEST(MemoryKey, NamesWhatDecidesWhatAServerIs) {
  TestFolder folder;
  pool::LaunchSpec launch;
  launch.command = {"/bin/sh", folder.write("script", "x"), "--flag"};
  launch.environment = {{"NAME", "secret"}};
  const std::string key = app::memory_key(launch, 1);
  EXPECT_EQ(app::memory_key(launch, 1), key);
  EXPECT_EQ(key.find("secret"), std::string::npos);
  const auto differs = [&](const auto& change) {
    pool::LaunchSpec other = launch;
    change(other);
    return app::memory_key(other, 1) != key;
  };
  EXPECT_TRUE(differs([](auto& other) { other.command.push_back("more"); }));
  EXPECT_TRUE(differs([](auto& other) { other.command[2] = "--other"; }));
  EXPECT_TRUE(differs([](auto& other) { other.environment["MORE"] = ""; }));
  EXPECT_TRUE(differs([](auto& other) { other.working_directory = "/"; }));
  EXPECT_FALSE(differs([](auto& other) { other.environment["NAME"] = "other"; }))
      << "it may be inherited, and differ with each start";
  EXPECT_NE(app::memory_key(launch, 2), key);
  EXPECT_NE(app::memory_key(launch, 1, "ada"), key);
  EXPECT_NE(app::memory_key(launch, 1, "ada"), app::memory_key(launch, 1, "bob"));
  config::BackendConfig backend;
  backend.env = {{"NAME", "secret"}};
  const uint16_t values = app::digest_of_values(backend);
  EXPECT_EQ(app::digest_of_values(backend), values);
  backend.env["NAME"] = "other";
  EXPECT_NE(app::digest_of_values(backend), values) << "it may decide what is offered";
  backend.env.clear();
  backend.env_from_files = {{"NAME", "other"}};
  EXPECT_NE(app::digest_of_values(backend), values);
  folder.write("script", "xy");
  EXPECT_NE(app::memory_key(launch, 1), key) << "the script has changed";
}

}  // namespace
}  // namespace stdgate::test
