// The flags of the command line, in one table: what is parsed, what help says and where in the
// configuration each value goes. Internal to command_line.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace stdgate {

// Whether a flag configures the gateway, or the backend that is given as a command.
enum class FlagScope : uint8_t { gateway, backend };
// yes and no: flags without a value that stand for true and false.
enum class FlagShape : uint8_t { text, list, pairs, yes, no };

struct FlagSpec {
  const char* name;
  FlagScope scope;
  FlagShape shape;
  std::array<const char*, 2> path;  // within the file, or within the backend
  const char* placeholder;
  const char* help;
};

// The name of a flag that has no place in the configuration: it is the key of the backend.
inline constexpr const char* kNameFlag = "--name";

inline constexpr std::array kFlags{
    FlagSpec{"--listen",
             FlagScope::gateway,
             FlagShape::list,
             {"listen"},
             "ADDRESS",
             "host:port, [v6]:port or unix:/path; repeatable (127.0.0.1:8080)"},
    FlagSpec{"--admin",
             FlagScope::gateway,
             FlagShape::text,
             {"admin"},
             "ADDRESS",
             "of metrics and health, or off (127.0.0.1:9464)"},
    FlagSpec{"--max-message",
             FlagScope::gateway,
             FlagShape::text,
             {"limits", "message"},
             "SIZE",
             "largest message, either direction (16MiB)"},
    FlagSpec{"--log-level",
             FlagScope::gateway,
             FlagShape::text,
             {"log", "level"},
             "LEVEL",
             "debug, info, warn, error or off (info)"},
    FlagSpec{"--log-format",
             FlagScope::gateway,
             FlagShape::text,
             {"log", "format"},
             "FORMAT",
             "text or json (text)"},
    FlagSpec{"--no-call-log",
             FlagScope::gateway,
             FlagShape::no,
             {"log", "calls"},
             "",
             "no log line per call"},

    FlagSpec{kNameFlag,
             FlagScope::backend,
             FlagShape::text,
             {},
             "NAME",
             "in metrics and logs (from the command)"},
    FlagSpec{"--protocol",
             FlagScope::backend,
             FlagShape::text,
             {"protocol"},
             "PROTOCOL",
             "mcp or jsonrpc (mcp)"},
    FlagSpec{"--framing",
             FlagScope::backend,
             FlagShape::text,
             {"framing"},
             "FRAMING",
             "newline or content-length (newline)"},
    FlagSpec{"--env",
             FlagScope::backend,
             FlagShape::pairs,
             {"env"},
             "NAME=VALUE",
             "set in the child's environment; repeatable"},
    FlagSpec{"--env-inherit",
             FlagScope::backend,
             FlagShape::list,
             {"env_inherit"},
             "NAME",
             "pass to the child, instead of PATH, HOME, LANG, ...; repeatable, PREFIX* allowed"},
    FlagSpec{"--cwd", FlagScope::backend, FlagShape::text, {"cwd"}, "DIRECTORY", "of the child"},
    FlagSpec{"--timeout",
             FlagScope::backend,
             FlagShape::text,
             {"timeout"},
             "TIME",
             "of a call, queue included (60s)"},
    FlagSpec{"--min",
             FlagScope::backend,
             FlagShape::text,
             {"pool", "min"},
             "N",
             "children kept running (0)"},
    FlagSpec{"--max",
             FlagScope::backend,
             FlagShape::text,
             {"pool", "max"},
             "N",
             "children at most (16)"},
    FlagSpec{"--max-in-flight",
             FlagScope::backend,
             FlagShape::text,
             {"pool", "max_in_flight"},
             "N",
             "calls in flight per child; 1: one at a time (256)"},
    FlagSpec{"--queue",
             FlagScope::backend,
             FlagShape::text,
             {"pool", "queue"},
             "N",
             "calls waiting for a child, at most (1024)"},
    FlagSpec{"--start-timeout",
             FlagScope::backend,
             FlagShape::text,
             {"pool", "start_timeout"},
             "TIME",
             "until a child is ready (30s)"},
    FlagSpec{"--idle-timeout",
             FlagScope::backend,
             FlagShape::text,
             {"pool", "idle_timeout"},
             "TIME",
             "until an idle child is ended (5m)"},
    FlagSpec{"--grace",
             FlagScope::backend,
             FlagShape::text,
             {"pool", "grace"},
             "TIME",
             "for a child to end by itself, then signals (2s)"},
    FlagSpec{"--cancel-method",
             FlagScope::backend,
             FlagShape::text,
             {"cancel_method"},
             "METHOD",
             "tells a jsonrpc child of a cancelled call; empty: none ($/cancelRequest)"},
    FlagSpec{"--expose-fault-details",
             FlagScope::backend,
             FlagShape::yes,
             {"expose_fault_details"},
             "",
             "show clients the cause of faults"},
};

std::string help_text();

}  // namespace stdgate
