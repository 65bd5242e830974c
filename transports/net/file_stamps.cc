#include "transports/net/file_stamps.h"

#include <sys/stat.h>

namespace stdgate::net {

namespace {

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileStamps stamps_of(const std::vector<std::string>& files) {
  FileStamps stamps;
  for (const std::string& file : files) {
    FileStamp& stamp = stamps.emplace_back();
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) continue;
    stamp = {status.st_dev, status.st_ino, status.st_size, nanoseconds(status.st_mtim),
             nanoseconds(status.st_ctim)};
  }
  return stamps;
}

}  // namespace stdgate::net
