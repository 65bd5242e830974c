// FileStamps: whether files have changed on disk, without reading them.
//
// A file that is replaced has another inode, one that is written has other times or another size;
// links are followed. Blocking calls, of one stat() a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stdgate::net {

// What stat() says of a file: it differs when the file has changed.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: there is no such file
  int64_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

using FileStamps = std::vector<FileStamp>;

FileStamps stamps_of(const std::vector<std::string>& files);

}  // namespace stdgate::net
