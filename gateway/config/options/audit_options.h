// The keys of `audit`: the record of who did what.
#pragma once

#include <array>

#include "gateway/config/options/option.h"
#include "gateway/config/options/text_rules.h"

namespace stdgate::config {

inline constexpr auto kAuditOptions = std::to_array<Option<AuditConfig>>({
    {.key = "file",
     .type = Text{&AuditConfig::file, EmptyText::left_out, TextKind::path},
     .flag = {.name = "--audit-file", .placeholder = "FILE"},
     .help = "file of the record of who did what; without it nothing is recorded",
     .details = "One JSON object a line. SIGHUP opens it again, after a log rotation. See "
                "[Audit](audit.md).",
     .missing = "name the file of the audit"},
    {.key = "calls",
     .type = list_of<&AuditConfig::calls>(kPattern, {0, kMaxPatterns}),
     .help = "methods whose calls are recorded, as tools/call or resources/*",
     .details = "Refusals and sessions are always recorded. A call of such a method is refused if "
                "its line cannot be written."},
    {.key = "arguments",
     .type = Word{&AuditConfig::arguments},
     .help = "how a call's params are recorded",
     .details = "`digest`: their SHA-256. `full`: their text. `redacted`: the text, where the "
                "values that `log.redact` names are hidden."},
    {.key = "durable",
     .type = Switch{&AuditConfig::durable},
     .help = "answer a recorded call only when its line is on the disk",
     .details = "Each recorded call then waits for the disk."},
});

template <>
struct OptionsOf<AuditConfig> {
  static constexpr std::span<const Option<AuditConfig>> kRows = kAuditOptions;
  static constexpr std::string_view kTitle = "Audit";
};

}  // namespace stdgate::config
