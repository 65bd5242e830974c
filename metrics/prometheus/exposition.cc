#include "metrics/prometheus/exposition.h"

#include <dirent.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "metrics/prometheus/families.h"
#include "metrics/prometheus/open_metrics.h"

namespace stdgate::metrics {

namespace {

// Fields of /proc/self/stat, counted from 1 as in proc(5).
constexpr size_t kFirstFieldBehindName = 3;
constexpr size_t kUserTime = 14;
constexpr size_t kSystemTime = 15;
constexpr size_t kStartTime = 22;
constexpr size_t kVirtualSize = 23;
constexpr size_t kResidentPages = 24;

std::optional<uint64_t> to_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

// The word at `position`, counted from 0; empty when there are fewer.
std::string_view word_at(std::string_view line, size_t position) {
  for (;; --position) {
    const size_t space = line.find(' ');
    if (position == 0) return line.substr(0, space);
    if (space == std::string_view::npos) return {};
    line.remove_prefix(space + 1);
  }
}

// Seconds since the epoch at which the machine started; the line "btime 1700000000" of /proc/stat.
std::optional<uint64_t> read_boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return to_number(std::string_view(line).substr(6));
  }
  return std::nullopt;
}

uint64_t count_open_fds() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"), closedir);
  if (directory == nullptr) return 0;
  uint64_t count = 0;
  while (const dirent* entry = readdir(directory.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count > 0 ? count - 1 : 0;  // without the one that reads the directory
}

uint64_t read_max_fds() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

using prometheus::ClientMetric;

// Takes the series of one family.
class Adder {
 public:
  explicit Adder(CollectedFamily family) : family_(std::move(family)) {}

  // `labels`: sorted.
  template <class Number>
  void add(Number value, std::vector<ClientMetric::Label> labels = {}) {
    ClientMetric& metric = family_.family.metric.emplace_back();
    metric.label = std::move(labels);
    const bool is_counter = family_.family.type == prometheus::MetricType::Counter;
    (is_counter ? metric.counter.value : metric.gauge.value) = static_cast<double>(value);
  }

  CollectedFamily take() && { return std::move(family_); }

 private:
  CollectedFamily family_;
};

// Readings for one scrape.
struct Scrape {
  const ScrapeReadings& readings;
  const std::string& version;
  std::optional<ProcessStats> process;  // nothing: the kernel does not say
};

// A family that is not counted but read for each scrape. Without a series it is left out.
struct ReadFamily {
  std::string_view name;
  MetricKind kind;
  std::string_view labels;  // their names, for the page
  std::string_view help;
  std::string_view note;
  void (*read)(const Scrape& scrape, Adder& out);
};

void read_held(const Scrape& scrape, Adder& out) {
  for (const auto& [backend, bytes] : scrape.readings.held) {
    for (size_t i = 0; i < kHoldingCount; ++i) {
      std::vector<ClientMetric::Label> labels = {
          {"kind", std::string(holding_name(static_cast<Holding>(i)))}};
      if (!backend.empty()) labels.insert(labels.begin(), {"backend", backend});
      out.add(bytes.of[i], std::move(labels));
    }
  }
}

// A number of each backend.
template <auto member>
void read_usage(const Scrape& scrape, Adder& out) {
  for (const ScrapeReadings::BackendUsage& usage : scrape.readings.children) {
    out.add(usage.*member, {{"backend", usage.backend}});
  }
}

// A number of the audit; nothing without an audit.
template <auto member>
void read_audit(const Scrape& scrape, Adder& out) {
  if (scrape.readings.audit) out.add((*scrape.readings.audit).*member);
}

template <auto member>
void read_spans(const Scrape& scrape, Adder& out) {
  if (scrape.readings.spans) out.add((*scrape.readings.spans).*member);
}

template <auto member>
void read_process(const Scrape& scrape, Adder& out) {
  if (scrape.process) out.add((*scrape.process).*member);
}

constexpr auto kCounter = MetricKind::counter;
constexpr auto kGauge = MetricKind::gauge;
constexpr std::string_view kAudit = "Only with an [audit](audit.md).";
constexpr std::string_view kTraces = "Only with [traces](traces.md).";
constexpr std::string_view kProcess =
    "Of the gateway process, under the name that Prometheus clients use.";
using Usage = ScrapeReadings::BackendUsage;
using Audit = ScrapeReadings::Audit;

constexpr auto kReadFamilies = std::to_array<ReadFamily>({
    {"stdgate_child_cpu_seconds_total", kCounter, "backend",
     "CPU time of child processes and what they started", "", read_usage<&Usage::cpu_seconds>},
    {"stdgate_child_resident_memory_bytes", kGauge, "backend", "Resident memory of child processes",
     "", read_usage<&Usage::resident_bytes>},
    {"stdgate_child_incomplete_sandboxes_total", kCounter, "backend",
     "Child processes started without all of their sandbox",
     "This needs a [sandbox](children.md#sandbox) that is not `required`.",
     read_usage<&Usage::incomplete_sandboxes>},
    {"stdgate_member_up", kGauge, "backend, server",
     "1 while a member of a virtual server can be used",
     "`backend` is the member. See [servers](servers.md).",
     [](const Scrape& scrape, Adder& out) {
       for (const auto& member : scrape.readings.members) {
         out.add(member.is_up ? 1 : 0, {{"backend", member.backend}, {"server", member.server}});
       }
     }},
    {"stdgate_member_calls_total", kCounter, "backend, outcome, server",
     "Calls of a virtual server that have ended at a member",
     "`backend` is the member; `outcome` is `result`, `error` or `fault`. The count starts again "
     "from 0 after a reload that changes the server.",
     [](const Scrape& scrape, Adder& out) {
       for (const auto& member : scrape.readings.members) {
         for (size_t i = 0; i < member.ended.size(); ++i) {
           out.add(member.ended[i], {{"backend", member.backend},
                                     {"outcome", std::string(kMemberEndNames[i])},
                                     {"server", member.server}});
         }
       }
     }},
    {"stdgate_tls_certificate_expiry_timestamp_seconds", kGauge, "certificate, listener",
     "When a listener's certificate expires, in seconds since the epoch",
     "Certificates in use; `certificate` is the file.",
     [](const Scrape& scrape, Adder& out) {
       for (const auto& certificate : scrape.readings.certificates) {
         out.add(certificate.not_after,
                 {{"certificate", certificate.file}, {"listener", certificate.listener}});
       }
     }},
    {"stdgate_issuer_keys_age_seconds", kGauge, "issuer",
     "Time since the keys of an issuer of tokens were fetched", "Keys in use.",
     [](const Scrape& scrape, Adder& out) {
       for (const auto& keys : scrape.readings.issuers) {
         out.add(keys.age_seconds, {{"issuer", keys.issuer}});
       }
     }},
    {"stdgate_loop_lag_seconds", kGauge, "", "Delay of the event loop's last timer", "",
     [](const Scrape& scrape, Adder& out) { out.add(to_seconds(scrape.readings.loop_lag)); }},
    {"stdgate_memory_pressure", kGauge, "", "Fraction of limits.memory that is used",
     "See [overload](operations.md#overload).",
     [](const Scrape& scrape, Adder& out) { out.add(scrape.readings.memory_pressure); }},
    {"stdgate_held_bytes", kGauge, "backend, kind", "Memory that is kept for clients and backends",
     "A row without `backend` is memory that belongs to no backend. See "
     "[overload](operations.md#overload).",
     read_held},
    {"stdgate_held_limit_bytes", kGauge, "",
     "Limit of the memory kept for clients: limits.buffered, or its default", "",
     [](const Scrape& scrape, Adder& out) { out.add(scrape.readings.held_limit); }},
    {"stdgate_config_reloads_total", kCounter, "outcome",
     "Times that the configuration was read again", "See [reloading](operations.md#reloading).",
     [](const Scrape& scrape, Adder& out) {
       out.add(scrape.readings.reloads.good, {{"outcome", "ok"}});
       out.add(scrape.readings.reloads.failed, {{"outcome", "failed"}});
     }},
    {"stdgate_config_last_reload_successful", kGauge, "",
     "1 unless the configuration that was read last could not be used", "",
     [](const Scrape& scrape, Adder& out) {
       out.add(scrape.readings.reloads.last_was_good ? 1 : 0);
     }},
    {"stdgate_audit_lines_total", kCounter, "", "Lines of the audit", kAudit,
     read_audit<&Audit::lines>},
    {"stdgate_audit_failures_total", kCounter, "",
     "Failed attempts to write the audit, or to flush it to the disk", kAudit,
     read_audit<&Audit::failures>},
    {"stdgate_audit_lost_lines_total", kCounter, "",
     "Lines of the audit that were not written for lack of room", kAudit, read_audit<&Audit::lost>},
    {"stdgate_audit_failing", kGauge, "",
     "1 while calls are refused because the audit cannot be written", kAudit,
     read_audit<&Audit::is_failing>},
    {"stdgate_trace_spans_exported_total", kCounter, "",
     "Spans that the collector of traces has accepted", kTraces,
     read_spans<&SpanReadings::exported>},
    {"stdgate_trace_spans_dropped_total", kCounter, "reason",
     "Spans that were dropped, so no collector has accepted them", kTraces,
     [](const Scrape& scrape, Adder& out) {
       if (!scrape.readings.spans) return;
       for (const auto& [reason, count] : scrape.readings.spans->dropped) {
         out.add(count, {{"reason", std::string(reason)}});
       }
     }},
    {"stdgate_trace_spans_waiting", kGauge, "", "Spans that wait to be sent", kTraces,
     read_spans<&SpanReadings::waiting>},
    {"process_cpu_seconds_total", kCounter, "", "User and system CPU time of the gateway", kProcess,
     read_process<&ProcessStats::cpu_seconds>},
    {"process_resident_memory_bytes", kGauge, "", "Resident memory of the gateway", kProcess,
     read_process<&ProcessStats::resident_bytes>},
    {"process_virtual_memory_bytes", kGauge, "", "Virtual memory of the gateway", kProcess,
     read_process<&ProcessStats::virtual_bytes>},
    {"process_open_fds", kGauge, "", "Open file descriptors", kProcess,
     read_process<&ProcessStats::open_fds>},
    {"process_max_fds", kGauge, "", "Highest number of open file descriptors", kProcess,
     read_process<&ProcessStats::max_fds>},
    {"process_start_time_seconds", kGauge, "",
     "When the gateway started, in seconds since the epoch", kProcess,
     read_process<&ProcessStats::start_time_seconds>},
    {"stdgate_build_info", kGauge, "version", "The version that runs; always 1", "",
     [](const Scrape& scrape, Adder& out) {
       out.add(1, {{"version", scrape.version}});
     }},
});

std::string labels_of(const FamilyRow& row) {
  std::string names;
  const auto append = [&](std::string_view name) {
    if (!name.empty()) names.append(names.empty() ? "" : ", ").append(name);
  };
  if (row.scope >= Scope::backend) append("backend");
  if (row.scope == Scope::method) append("method");
  if (row.scope == Scope::tool) append("tool");
  if (row.scope == Scope::connection) append("transport");
  for (const ValueList& list : row.labels) append(list.label);
  return names;
}

void append_row(std::string& page, std::string_view name, MetricKind kind, std::string_view labels,
                std::string_view help, std::string_view note) {
  constexpr std::array<std::string_view, 3> kKinds = {"counter", "gauge", "histogram"};
  page.append("| `").append(name).append("` | ");
  page.append(kKinds[static_cast<size_t>(kind)]).append(" | ");
  page.append(labels).append(labels.empty() ? "| " : " | ").append(help).append(".");
  if (!note.empty()) page.append(" ").append(note);
  page.append(" |\n");
}

}  // namespace

std::optional<ProcessStats> read_process_stats() {
  std::ifstream file("/proc/self/stat");
  std::string stat;
  std::getline(file, stat);
  // The second field is the program's name in parentheses, which may hold both ')' and spaces.
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const std::string_view behind_name = std::string_view(stat).substr(name_end + 2);
  const auto field = [&](size_t number) {
    return to_number(word_at(behind_name, number - kFirstFieldBehindName));
  };
  const auto user = field(kUserTime);
  const auto system = field(kSystemTime);
  const auto start = field(kStartTime);
  const auto virtual_size = field(kVirtualSize);
  const auto resident_pages = field(kResidentPages);
  const auto boot = read_boot_time();
  if (!user || !system || !start || !virtual_size || !resident_pages || !boot) return std::nullopt;

  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  ProcessStats stats;
  stats.cpu_seconds = static_cast<double>(*user + *system) / ticks;
  stats.start_time_seconds = static_cast<double>(*boot) + static_cast<double>(*start) / ticks;
  stats.resident_bytes = *resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  stats.virtual_bytes = *virtual_size;
  stats.open_fds = count_open_fds();
  stats.max_fds = read_max_fds();
  return stats;
}

MetricsSnapshot MetricsExposition::take() const {
  MetricsSnapshot snapshot;
  snapshot.readings = read_();  // first: it may bring the stores up to date
  snapshot.stores.reserve(stores_.size());
  for (const MetricsStore* store : stores_) snapshot.stores.push_back(*store);
  snapshot.version = version_;
  return snapshot;
}

std::string metrics_text(const MetricsSnapshot& snapshot, MetricsFormat format) {
  std::vector<CollectedFamily> families = collect(snapshot.stores);
  const Scrape scrape = {snapshot.readings, snapshot.version, read_process_stats()};
  for (const ReadFamily& row : kReadFamilies) {
    Adder out(family_of(row.name, row.help, row.kind));
    row.read(scrape, out);
    CollectedFamily collected = std::move(out).take();
    if (!collected.family.metric.empty()) families.push_back(std::move(collected));
  }
  if (format == MetricsFormat::open_metrics) return open_metrics_text(families);
  std::vector<prometheus::MetricFamily> plain;
  plain.reserve(families.size());
  for (CollectedFamily& collected : families) plain.push_back(std::move(collected.family));
  return prometheus::TextSerializer().Serialize(plain);
}

std::string metrics_page() {
  std::string page;
  for (const FamilyRow& row : metrics::families()) {
    append_row(page, row.name, row.kind, labels_of(row), row.help, row.note);
  }
  for (const ReadFamily& row : kReadFamilies) {
    append_row(page, row.name, row.kind, row.labels, row.help, row.note);
  }
  return page;
}

}  // namespace stdgate::metrics
