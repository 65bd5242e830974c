// StateFiles: texts that outlive the process, in files of `state_dir`.
//
// Each file has the version of this form, its length and a digest, and the key that it is for. A
// file that is cut, changed, foreign or of another version counts as missing. A file is written
// whole, beside the one that it replaces, and synced before it takes its name; libuv's thread pool
// does that. Owner: the worker. Limits: kMaxFile bytes of a file; kMaxFiles files: at the start and
// with each new one those go that were used longest ago.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/base/log.h"
#include "gateway/config/config.h"
#include "gateway/mcp/server_memory.h"
#include "gateway/pool/child_link.h"
#include "transports/net/loop.h"

namespace stdgate::app {

// Digest of the values of env and env_file, for memory_key(). The values may be secrets, and the
// key is stored in a file. So the digest is short: it shows a change, but no value.
uint16_t digest_of_values(const config::BackendConfig& backend);

// The key of what is remembered about a server: it identifies the program that the server's
// children run. Command, directory, user, names of the environment's variables, `values`, and size
// and time of the program and of each file that the command names, as a script is one. A package
// that a runner fetches is known by its name alone. Looks at the files. `principal`: whose children
// alone they are, so that nobody is shown what another one's have answered; else empty.
std::string memory_key(const pool::LaunchSpec& launch, uint16_t values,
                       const std::string& principal = {});

// What is wrong with the directory, or why it cannot be made.
tl::expected<void, std::string> check_state_dir(const std::string& path);
// Like check_state_dir(), but creates the directory.
tl::expected<void, std::string> prepare_state_dir(const std::string& path);

// state_file(): the bytes of a file. The reverse gives the text in them; nothing: the bytes are not
// the intact file of this key.
std::string state_file(std::string_view key, std::string_view text);
std::optional<std::string> read_state_file(std::string_view key, std::string_view bytes);

class StateFiles final : public mcp::MemoryStore {
 public:
  static constexpr size_t kMaxFile = 9 << 20;
  static constexpr size_t kMaxFiles = 256;

  // `directory` has been prepared; empty: nothing is kept.
  StateFiles(std::string directory, net::Loop& loop, Log& log);
  // Writes texts that have not been written yet.
  ~StateFiles() override;
  StateFiles(const StateFiles&) = delete;
  StateFiles& operator=(const StateFiles&) = delete;

  std::optional<std::string> load(std::string_view key) override;
  void save(std::string_view key, std::string text) override;

 private:
  // The content of a file.
  struct Content {
    std::string key;
    std::string text;
  };

  [[nodiscard]] std::string path_of(std::string_view key) const;
  void write_next();
  void note_failure(const std::string& problem);

  const std::string directory_;
  net::Loop& loop_;
  Log& log_;
  net::Errands errands_;
  std::map<std::string, Content> waiting_;  // by path
  bool is_writing_ = false;
  std::future<std::string> written_;  // while a file is written: what is wrong
  RateLimit failures_{1};
};

}  // namespace stdgate::app
