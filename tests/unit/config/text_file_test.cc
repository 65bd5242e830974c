// Files of a configuration, read whole: what is none is an error that names it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "gateway/config/config_files.h"
#include "tests/support/test_folder.h"

namespace stdgate::test {
namespace {

using testing::HasSubstr;

constexpr size_t kLimit = 100;

TEST(TextFile, IsReadUpToItsLimit) {
  const TestFolder folder;
  const std::string most(kLimit, 'x');
  EXPECT_EQ(config::read_text_file(folder.write("most", most), kLimit), most);
  EXPECT_THAT(config::read_text_file(folder.write("more", most + "x"), kLimit).error(),
              HasSubstr("more is larger than"));
}

TEST(TextFile, IsThereAndNoFolder) {
  const TestFolder folder;
  EXPECT_THAT(config::read_text_file(folder.path("none"), kLimit).error(),
              HasSubstr("cannot read"));
  EXPECT_THAT(config::read_text_file(folder.path(""), kLimit).error(), HasSubstr("is a directory"));
}

// To open it would wait for somebody who writes.
TEST(TextFile, IsNoFifo) {
  const TestFolder folder;
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(config::read_text_file(fifo, kLimit).error(), fifo + " is no regular file");
  std::filesystem::create_symlink(fifo, folder.path("link"));
  EXPECT_THAT(config::read_text_file(folder.path("link"), kLimit).error(),
              HasSubstr("is no regular file"));
}

TEST(TextFile, IsNoSocket) {
  const TestFolder folder;
  const std::string path = folder.path("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::ranges::copy(path, address.sun_path);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(config::read_text_file(path, kLimit).error(), path + " is no regular file");
  close(socket);
}

}  // namespace
}  // namespace stdgate::test
