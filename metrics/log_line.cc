#include "metrics/log_line.h"

#include <spdlog/pattern_formatter.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "gateway/rpc/json_string.h"

namespace stdgate {
namespace {

// %N: the level as the configuration spells it; spdlog has "warning".
constexpr const char* kJsonPrefix = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%N","event":)";
constexpr const char* kTextPrefix = "%Y-%m-%dT%H:%M:%S.%eZ %N ";
constexpr size_t kLongestNumber = 32;
constexpr size_t kLongestEscape = 6;  // of one byte, "\u0000"
constexpr size_t kPunctuation = 8;    // of a field, a line

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
    case LogLevel::off:
      break;
  }
  return spdlog::level::err;
}

class LevelName final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const std::string_view name = name_of(message.level);
    out.append(name.data(), name.data() + name.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelName>();
  }

 private:
  static std::string_view name_of(spdlog::level::level_enum level) {
    switch (level) {
      case spdlog::level::debug:
        return "debug";
      case spdlog::level::info:
        return "info";
      case spdlog::level::warn:
        return "warn";
      default:
        return "error";
    }
  }
};

std::unique_ptr<spdlog::formatter> make_prefix_formatter(LogFormat format) {
  auto formatter =
      std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc, std::string());
  formatter->add_flag<LevelName>('N').set_pattern(format == LogFormat::json ? kJsonPrefix
                                                                            : kTextPrefix);
  return formatter;
}

// What a JSON string holds as it is.
constexpr std::array<bool, 256> kJsonPlain = [] {
  std::array<bool, 256> table{};
  for (size_t c = 0x20; c < 0x7f; ++c) table[c] = c != '"' && c != '\\';
  return table;
}();

// Text that a reader of key=value takes as one word, and a terminal as nothing but text.
constexpr std::array<bool, 256> kWord = [] {
  std::array<bool, 256> table = kJsonPlain;
  table[' '] = table['='] = false;
  return table;
}();

// More than the field can take.
size_t room_for(const LogField& field) {
  const auto* text = std::get_if<std::string_view>(&field.value);
  const size_t value = text == nullptr
                           ? kLongestNumber
                           : kLongestEscape * std::min(text->size(), LogLine::kTextLimit);
  return field.key.size() + value + kPunctuation;
}

// Most texts of a line are short: a call of memcpy would cost more than they do.
char* copy(char* to, std::string_view text) {
  const char* const from = text.data();
  const size_t size = text.size();
  if (size > 16) {
    std::memcpy(to, from, size);
  } else if (size >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + size - 8, from + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + size - 4, from + size - 4, 4);
  } else {
    for (size_t i = 0; i < size; ++i) to[i] = from[i];
  }
  return to + size;
}

bool consists_of(std::string_view text, const std::array<bool, 256>& table) {
  return std::all_of(text.begin(), text.end(),
                     [&table](char c) { return table[static_cast<uint8_t>(c)]; });
}

}  // namespace

LogLine::LogLine(LogFormat format)
    : format_(format), prefix_formatter_(make_prefix_formatter(format)) {}

LogLine::~LogLine() = default;

std::string_view LogLine::render(Time time, LogLevel level, std::string_view event,
                                 std::initializer_list<LogField> fields) {
  if (time != prefix_time_ || level != prefix_level_) make_prefix(time, level);
  size_t room = prefix_.size() + kLongestEscape * event.size() + kPunctuation;
  for (const LogField& field : fields) room += room_for(field);
  line_.clear();
  char* const begin = end_ = line_.reserve(room);
  append(prefix_);
  if (format_ == LogFormat::json) {
    append_quoted(event);
  } else {
    append(event);
  }
  for (const LogField& field : fields) append(field);
  append(format_ == LogFormat::json ? "}\n" : "\n");
  return {begin, static_cast<size_t>(end_ - begin)};
}

void LogLine::make_prefix(Time time, LogLevel level) {
  spdlog::memory_buf_t text;
  prefix_formatter_->format(
      spdlog::details::log_msg(time, spdlog::source_loc(), {}, to_spdlog(level), {}), text);
  prefix_.assign(text.data(), text.size());
  prefix_time_ = time;
  prefix_level_ = level;
}

void LogLine::append(const LogField& field) {
  if (std::holds_alternative<std::monostate>(field.value)) return;
  const bool json = format_ == LogFormat::json;
  append(json ? ",\"" : " ");
  append(field.key);
  append(json ? "\":" : "=");
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    append_text(*text);
  } else if (const auto* number = std::get_if<int64_t>(&field.value)) {
    append_number(*number);
  } else if (const auto* count = std::get_if<uint64_t>(&field.value)) {
    append_number(*count);
  } else if (const auto* real = std::get_if<double>(&field.value)) {
    append_double(*real);
  } else if (const auto* duration = std::get_if<Duration>(&field.value)) {
    append_milliseconds(*duration);
  } else {
    append(std::get<bool>(field.value) ? "true" : "false");
  }
}

void LogLine::append_text(std::string_view text) {
  text = text.substr(0, kTextLimit);
  if (format_ == LogFormat::text && !text.empty() && consists_of(text, kWord)) {
    append(text);
  } else {
    append_quoted(text);
  }
}

void LogLine::append_quoted(std::string_view text) {
  if (consists_of(text, kJsonPlain)) {
    append("\"");
    append(text);
    append("\"");
  } else {
    scratch_.clear();
    append_json_string(scratch_, text);
    append(scratch_);
  }
}

void LogLine::append(std::string_view text) { end_ = copy(end_, text); }

template <class Number>
void LogLine::append_number(Number number) {
  end_ = std::to_chars(end_, end_ + kLongestNumber, number).ptr;
}

void LogLine::append_double(double number) {
  if (std::isfinite(number)) {
    append_number(number);
  } else {
    append("null");  // JSON has no infinity
  }
}

// Whole microseconds are all that means something: up to three decimals, none that are zero.
void LogLine::append_milliseconds(Duration duration) {
  const auto us =
      std::max<int64_t>(0, std::chrono::round<std::chrono::microseconds>(duration).count());
  append_number(us / 1000);
  auto rest = static_cast<unsigned>(us % 1000);
  if (rest == 0) return;
  std::array<char, 4> decimals{'.'};
  size_t size = 1;
  for (unsigned place = 100; rest > 0; place /= 10) {
    decimals[size++] = static_cast<char>('0' + rest / place);
    rest %= place;
  }
  append(std::string_view(decimals.data(), size));
}

}  // namespace stdgate
