// AdoptionRecord: what a client's file was before `stdgate adopt`, and what has been written to it.
//
// Job: two files in the folder `adopted` beside the gateway's file, named after the client's file,
// for their owner alone. Owner: one call of the tool.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

namespace stdgate::tools {

class AdoptionRecord {
 public:
  // Both files by absolute paths.
  AdoptionRecord(const std::string& gateway_file, const std::string& client_file);

  [[nodiscard]] const std::string& former_file() const { return former_; }

  struct Texts {
    std::string former;
    std::string adopted;
  };
  // Nothing: there is no record. The errors are sentences.
  [[nodiscard]] tl::expected<std::optional<Texts>, std::string> read() const;
  [[nodiscard]] tl::expected<void, std::string> write(const Texts& texts) const;
  void remove() const;

 private:
  std::string former_;
  std::string adopted_;
};

}  // namespace stdgate::tools
