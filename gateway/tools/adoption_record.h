// AdoptionRecord: what a client's file and the gateway's file were before `stdgate adopt`, and what
// has been written to them.
//
// Job: four files in the folder `adopted` beside the gateway's file, named after the client's file,
// for their owner alone. Owner: one call of the tool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace stdgate::tools {

class AdoptionRecord {
 public:
  // Both files by absolute paths.
  AdoptionRecord(const std::string& gateway_file, const std::string& client_file);

  // The client's file as it was.
  [[nodiscard]] std::string former_file() const;

  // The gateway's file before and after the adoption.
  struct GatewayTexts {
    std::optional<std::string> former;  // nothing: there was no file
    std::string adopted;
  };
  // The client's file before and after the adoption, and the gateway's.
  struct Texts {
    std::string former;
    std::string adopted;
    std::optional<GatewayTexts> gateway{};  // nothing: not recorded
  };
  // Nothing: there is no record. The errors are sentences.
  [[nodiscard]] tl::expected<std::optional<Texts>, std::string> read() const;
  [[nodiscard]] tl::expected<void, std::string> write(const Texts& texts) const;
  void remove() const;

  // The treatment of the gateway's file by an undo of this adoption.
  enum class GatewayUndo : uint8_t {
    put_back,
    changed,  // it is not the one that this adoption has left
    in_use,   // a client may use what this adoption has added
  };
  [[nodiscard]] GatewayUndo judge(const Texts& texts, const std::string& present) const;
  // Passes the former text on, for an undo that removes this record but keeps the gateway's file.
  // Each record whose adoption began with the file that this one wrote gets the file from before
  // this adoption, so that its undo restores that file.
  [[nodiscard]] tl::expected<void, std::string> pass_on(const Texts& texts) const;

 private:
  explicit AdoptionRecord(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] std::string file(std::string_view ending) const;
  [[nodiscard]] tl::expected<void, std::string> write_gateway(const GatewayTexts& texts) const;
  // The recorded texts of the gateway's file. Nothing: not recorded, or not readable.
  [[nodiscard]] std::optional<GatewayTexts> read_gateway() const;
  // The records of other clients in the same folder.
  [[nodiscard]] std::vector<AdoptionRecord> others() const;

  std::string path_;  // of its files, without their endings
};

}  // namespace stdgate::tools
