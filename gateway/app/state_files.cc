#include "gateway/app/state_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/config/config_files.h"
#include "gateway/mcp/server_memory.h"
#include "transports/net/file_descriptor.h"
#include "transports/stdio/program_search.h"

namespace stdgate::app {

namespace {

void append_part(std::string& key, std::string_view part) {
  key.append(std::to_string(part.size())).append(":").append(part).append("\n");
}

// Nothing if it is no file.
void append_file(std::string& key, const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return;
  key.append(std::to_string(facts.st_size)).append(" ");
  key.append(std::to_string(facts.st_mtim.tv_sec)).append(".");
  key.append(std::to_string(facts.st_mtim.tv_nsec)).append("\n");
}

constexpr std::string_view kFileMark = "stdgate-state 1 ";
constexpr std::string_view kSuffix = ".state";
constexpr std::string_view kUnfinished = ".new";
constexpr size_t kDigits = 16;
// Beside key and text: the mark, three numbers, a space and the end of the line.
constexpr size_t kFrame = kFileMark.size() + 3 * kDigits + 2;

std::string hex_of(uint64_t number) {
  std::array<char, kDigits> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + kDigits, number, 16).ptr;
  const std::string_view text(digits.data(), static_cast<size_t>(end - digits.data()));
  return std::string(kDigits - text.size(), '0').append(text);
}

// Of this many digits at the beginning of `text`, which are taken from it.
std::optional<uint64_t> take_hex(std::string_view& text) {
  if (text.size() < kDigits) return std::nullopt;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + kDigits, number, 16);
  if (error != std::errc() || end != text.data() + kDigits) return std::nullopt;
  text.remove_prefix(kDigits);
  return number;
}

std::string problem_of(const std::string& path) { return path + ": " + std::strerror(errno); }

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Empty: it is there, whatever happens from now on.
std::string write_file(const std::string& path, std::string_view bytes) {
  const std::string fresh = path + "." + std::to_string(::getpid()) + std::string(kUnfinished);
  std::string problem;
  {
    const net::FileDescriptor file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.get() < 0) return problem_of(fresh);
    if (!write_all(file.get(), bytes) || ::fsync(file.get()) != 0) problem = problem_of(fresh);
  }
  if (problem.empty() && ::rename(fresh.c_str(), path.c_str()) != 0) problem = problem_of(path);
  if (!problem.empty()) {
    ::unlink(fresh.c_str());
    return problem;
  }
  const std::string folder = std::filesystem::path(path).parent_path();
  const net::FileDescriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
  return {};
}

// Calls visit(entry) for each file whose name ends so.
template <class Visitor>
void for_each_file(const std::string& directory, std::string_view suffix, Visitor&& visit) {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().string().ends_with(suffix)) visit(*entry);
  }
}

// Of a process that has ended; or of one that writes now, and says so.
void remove_unfinished(const std::string& directory) {
  for_each_file(directory, kUnfinished, [](const std::filesystem::directory_entry& file) {
    std::error_code ignored;
    std::filesystem::remove(file.path(), ignored);
  });
}

void remove_old(const std::string& directory) {
  using File = std::pair<std::filesystem::file_time_type, std::filesystem::path>;
  std::vector<File> files;
  std::error_code ignored;
  for_each_file(directory, kSuffix, [&](const std::filesystem::directory_entry& file) {
    files.emplace_back(file.last_write_time(ignored), file.path());
  });
  if (files.size() <= StateFiles::kMaxFiles) return;
  std::ranges::sort(files);
  files.resize(files.size() - StateFiles::kMaxFiles);
  for (const auto& [time, path] : files) std::filesystem::remove(path, ignored);
}

}  // namespace

uint16_t digest_of_values(const config::BackendConfig& backend) {
  std::string all;
  for (const auto* const variables : {&backend.env, &backend.env_from_files}) {
    for (const auto& [name, value] : *variables) {
      append_part(all, std::string(name).append("=").append(value));
    }
  }
  const uint64_t digest = mcp::digest_of(all);
  return static_cast<uint16_t>(digest ^ digest >> 16U ^ digest >> 32U ^ digest >> 48U);
}

std::string memory_key(const pool::LaunchSpec& launch, uint16_t values,
                       const std::string& principal) {
  std::string key;
  append_part(key, launch.working_directory);
  append_part(key, launch.user);
  const std::string program = stdio::locate_program(launch);
  append_part(key, program);
  append_file(key, program);
  for (const std::string& word : launch.command) {
    append_part(key, word);
    const bool is_relative = !word.starts_with('/') && !launch.working_directory.empty();
    append_file(key, is_relative ? launch.working_directory + "/" + word : word);
  }
  for (const auto& [name, value] : launch.environment) append_part(key, name);
  append_part(key, std::to_string(values));
  if (!principal.empty()) append_part(key, principal);
  return key;
}

tl::expected<void, std::string> check_state_dir(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    const std::string problem = problem_of(path) + "; make it, or change state_dir";
    const bool is_link = ::lstat(path.c_str(), &facts) == 0;
    std::filesystem::path made = std::filesystem::path(path).lexically_normal();
    if (!made.has_filename()) made = made.parent_path();
    const std::string parent = made.has_parent_path() ? made.parent_path() : ".";
    if (!is_link && ::access(parent.c_str(), W_OK | X_OK) == 0) return {};
    return tl::unexpected(problem);
  }
  if (!S_ISDIR(facts.st_mode)) return tl::unexpected(path + " is no directory");
  if (facts.st_uid != ::geteuid() || (facts.st_mode & 077) != 0) {
    return tl::unexpected(path +
                          " is not the gateway's alone; chmod 700 it, chown it to the user "
                          "that the gateway runs as, or name a new directory within it");
  }
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) return tl::unexpected(problem_of(path));
  return {};
}

tl::expected<void, std::string> prepare_state_dir(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return tl::unexpected(problem_of(path) + "; make it, or change state_dir");
  }
  return check_state_dir(path);
}

// The content of a file: a mark, a digest, and the text that it is the digest of.
std::string state_file(std::string_view key, std::string_view text) {
  std::string body = hex_of(key.size());
  body.append(hex_of(text.size())).append("\n").append(key).append(text);
  return std::string(kFileMark).append(hex_of(mcp::digest_of(body))).append(" ").append(body);
}

std::optional<std::string> read_state_file(std::string_view key, std::string_view bytes) {
  if (!bytes.starts_with(kFileMark)) return std::nullopt;
  bytes.remove_prefix(kFileMark.size());
  if (bytes.size() <= kDigits || bytes[kDigits] != ' ') return std::nullopt;
  const std::string_view digest = bytes.substr(0, kDigits);
  bytes.remove_prefix(kDigits + 1);
  if (hex_of(mcp::digest_of(bytes)) != digest) return std::nullopt;
  const auto of_key = take_hex(bytes);
  const auto of_text = take_hex(bytes);
  if (!of_key || !of_text || !bytes.starts_with('\n')) return std::nullopt;
  bytes.remove_prefix(1);
  const bool is_whole = bytes.size() <= StateFiles::kMaxFile && *of_key <= bytes.size() &&
                        bytes.size() - *of_key == *of_text;
  if (!is_whole || bytes.substr(0, *of_key) != key) return std::nullopt;
  return std::string(bytes.substr(*of_key));
}

StateFiles::StateFiles(std::string directory, net::Loop& loop, Log& log)
    : directory_(std::move(directory)), loop_(loop), log_(log), errands_(loop) {
  if (directory_.empty()) return;
  remove_unfinished(directory_);
  remove_old(directory_);
}

StateFiles::~StateFiles() {
  // An older text is not to take its name after a newer one.
  if (is_writing_) written_.wait();
  for (const auto& [path, content] : waiting_)
    write_file(path, state_file(content.key, content.text));
}

std::string StateFiles::path_of(std::string_view key) const {
  return directory_ + "/" + hex_of(mcp::digest_of(key)) + std::string(kSuffix);
}

std::optional<std::string> StateFiles::load(std::string_view key) {
  if (directory_.empty()) return std::nullopt;
  const std::string path = path_of(key);
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kMaxFile) return std::nullopt;
  const auto bytes = config::read_text_file(path, size);
  auto text = bytes ? read_state_file(key, *bytes) : std::nullopt;
  // The file of a server that never changes is in use as well.
  if (text)
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), error);
  return text;
}

void StateFiles::save(std::string_view key, std::string text) {
  if (directory_.empty() || kFrame + key.size() + text.size() > kMaxFile) return;
  waiting_[path_of(key)] = {std::string(key), std::move(text)};
  write_next();
}

void StateFiles::write_next() {
  if (is_writing_ || waiting_.empty()) return;
  is_writing_ = true;
  auto next = waiting_.extract(waiting_.begin());
  const auto problem = std::make_shared<std::promise<std::string>>();
  written_ = problem->get_future();
  errands_.start(
      [directory = directory_, path = std::move(next.key()), content = std::move(next.mapped()),
       problem] {
        std::error_code ignored;
        const bool is_new = !std::filesystem::exists(path, ignored);
        std::string what = write_file(path, state_file(content.key, content.text));
        if (is_new) remove_old(directory);
        problem->set_value(std::move(what));
      },
      [this] {
        is_writing_ = false;
        if (const std::string what = written_.get(); !what.empty()) note_failure(what);
        write_next();
      });
}

void StateFiles::note_failure(const std::string& problem) {
  if (!failures_.allow(loop_.now())) return;
  log_.write(LogLevel::warn, "what is remembered of servers cannot be written",
             {{"why", problem},
              {"hint",
               "check state_dir and its disk; until then, a restart has to start sleeping servers "
               "to ask them again"},
              {"suppressed", failures_.take_suppressed()}});
}

}  // namespace stdgate::app
