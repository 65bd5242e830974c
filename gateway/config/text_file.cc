// A configuration's files, read whole.
#include "gateway/config/text_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "gateway/config/value_parser.h"

namespace stdgate::config {
namespace {

tl::unexpected<std::string> cannot_read(const std::string& file, int error) {
  return tl::unexpected("cannot read " + file + ": " + std::generic_category().message(error));
}

}  // namespace

tl::expected<std::string, std::string> read_text_file(const std::string& file, size_t limit) {
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown)) {
    return tl::unexpected(file + " is a directory; a file is needed");
  }
  // A FIFO would be waited for.
  if (std::filesystem::is_fifo(file, unknown) || std::filesystem::is_socket(file, unknown)) {
    return tl::unexpected(file + " is no regular file");
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return cannot_read(file, errno);
  std::string text(limit + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return cannot_read(file, errno == 0 ? EIO : errno);
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.size() > limit) {
    return tl::unexpected(file + " is larger than " + print_size(limit) +
                          ", the limit for such a file");
  }
  return text;
}

bool is_readable_by_all(const std::string& file) {
  std::error_code unknown;
  const auto permissions = std::filesystem::status(file, unknown).permissions();
  return !unknown &&
         (permissions & std::filesystem::perms::others_read) != std::filesystem::perms::none;
}

}  // namespace stdgate::config
