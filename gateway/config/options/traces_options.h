// The keys of `traces`: spans of calls, and where they are sent.
#pragma once

#include <array>

#include "gateway/config/options/option.h"
#include "gateway/config/options/text_rules.h"

namespace stdgate::config {

inline constexpr auto kTracesOptions = std::to_array<Option<TracesConfig>>({
    {.key = "endpoint",
     .type = Text{&TracesConfig::endpoint},
     .flag = {.name = "--traces-endpoint", .placeholder = "URL"},
     .help = "collector for spans, by OTLP over HTTP with JSON; without it nothing is recorded",
     .details =
         "The collector's URL; a URL without a path gets `/v1/traces`. See [Traces](traces.md).",
     .missing = "name the URL of the collector"},
    {.key = "sample",
     .type = Ratio{&TracesConfig::sample},
     .help = "fraction that is recorded of the calls that come without a client's trace",
     .details = "If a call comes with a trace, the client's decision holds."},
    {.key = "service_name",
     .type = Text{&TracesConfig::service_name},
     .help = "name of this service in spans"},
    {.key = "headers",
     .type = Variables{&TracesConfig::headers, &TracesConfig::header_sources, kFieldName,
                       Shown::hidden},
     .help = "header fields sent to the collector, such as a credential",
     .details = "Like `{ Authorization: { file: token } }`. Their values are never printed."},
    {.key = "ca",
     .type = FileText{&TracesConfig::ca_file, &TracesConfig::certificates},
     .help = "a file with the certificate authorities to trust for the collector, in PEM",
     .default_words = "those of the system"},
    {.key = "queue",
     .type = Count{&TracesConfig::queue, {kMinSpanQueue, kMaxSpanQueue}},
     .help = "spans that wait to be sent, at most; a recorded call has three",
     .details = "Further ones are dropped and counted."},
});

template <>
struct OptionsOf<TracesConfig> {
  static constexpr std::span<const Option<TracesConfig>> kRows = kTracesOptions;
  static constexpr std::string_view kTitle = "Traces";
};

}  // namespace stdgate::config
