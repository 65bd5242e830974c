// Diagnosis: what `stdgate doctor` has found out about a command. A value, with its texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/config/config.h"

namespace stdgate::tools {

struct Finding {
  enum class Weight : uint8_t {  // the worst first
    breaks,                      // it does not work behind stdgate
    warning,                     // it works, and users will notice
    note,
  };
  Weight weight = Weight::note;
  std::string_view code;                // for scripts: "noise-on-stdout"
  std::string message;                  // what is wrong, one sentence
  std::string advice{};                 // what to do; may be empty
  std::vector<std::string> evidence{};  // lines that it was seen in
};
std::string_view name_of(Finding::Weight weight);

// One thing that was tried, and how long it took.
struct Step {
  std::string name;
  Duration took{0};
  bool is_ok = false;
  std::string outcome{};  // for people: "5 tools"
};

// Names of what it offers.
struct Offer {
  std::string_view kind;  // "tools"
  std::vector<std::string> names{};
};

struct Diagnosis {
  config::BackendConfig backend;  // as it was tried, with what the findings change
  std::vector<Step> steps{};
  std::vector<Finding> findings{};
  std::vector<Offer> offers{};
  std::string server_name{};
  std::string server_version{};
  std::string revision{};        // of the handshake
  bool is_legacy = false;        // answers initialize
  bool is_modern = false;        // answers server/discover
  std::string modern_clients{};  // what they meet there, see config::modern_clients()
  // Variables that the configuration has to pass on.
  std::vector<std::string> variables{};
  std::string command{};  // as it may be shown
  // The text for gateway.yaml: a whole backend for a command, ...
  std::string config{};
  // ... or, of a backend that is there, nothing but what has to change: "backends.NAME.KEY: VALUE".
  std::vector<std::string> changes{};

  [[nodiscard]] bool is_healthy() const;
};

std::string text_of(const Diagnosis& diagnosis);
std::string json_of(const Diagnosis& diagnosis);

}  // namespace stdgate::tools
