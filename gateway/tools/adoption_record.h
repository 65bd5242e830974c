// AdoptionRecord: what a client's file and the gateway's file were before `stdgate adopt`, and what
// has been written to them.
//
// Job: four files in the folder `adopted` beside the gateway's file, named after the client's file,
// for their owner alone. Owner: one call of the tool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate::tools {

class AdoptionRecord {
 public:
  // Both files by absolute paths.
  AdoptionRecord(const std::string& gateway_file, const std::string& client_file);

  [[nodiscard]] const std::string& former_file() const { return former_; }

  struct GatewayTexts {
    std::optional<std::string> former;  // nothing: there was no file
    std::string adopted;
  };
  struct Texts {
    std::string former;
    std::string adopted;
    std::optional<GatewayTexts> gateway{};  // nothing: not recorded
  };
  // Nothing: there is no record. The errors are sentences.
  [[nodiscard]] tl::expected<std::optional<Texts>, std::string> read() const;
  [[nodiscard]] tl::expected<void, std::string> write(const Texts& texts) const;
  void remove() const;

  // What becomes of the gateway's file when this adoption is undone.
  enum class GatewayUndo : uint8_t {
    put_back,
    changed,  // it is not the one that this adoption has left
    in_use,   // a client may use what this adoption has added
  };
  [[nodiscard]] GatewayUndo judge(const Texts& texts, const std::string& present) const;
  // The gateway's file stays, and this record goes: whose undo puts back what this adoption has
  // left is to put back what was before it.
  [[nodiscard]] tl::expected<void, std::string> pass_on(const Texts& texts) const;

 private:
  AdoptionRecord() = default;
  // `path`: of its files, without their ends.
  static AdoptionRecord at(const std::string& path);
  [[nodiscard]] tl::expected<void, std::string> write_gateway(const GatewayTexts& texts) const;
  // Of the gateway's file. Nothing: not recorded, or not readable.
  [[nodiscard]] std::optional<GatewayTexts> read_gateway() const;
  // The records of other clients in the same folder.
  [[nodiscard]] std::vector<AdoptionRecord> others() const;

  std::string former_;
  std::string adopted_;
  std::string former_gateway_;
  std::string adopted_gateway_;
};

}  // namespace stdgate::tools
