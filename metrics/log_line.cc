#include "metrics/log_line.h"

#include <spdlog/pattern_formatter.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "gateway/base/copy_text.h"
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

bool consists_of(std::string_view text, const std::array<bool, 256>& table) {
  return std::all_of(text.begin(), text.end(),
                     [&table](char c) { return table[static_cast<uint8_t>(c)]; });
}

// More than the line can take.
size_t room_for(std::string_view prefix, std::string_view event,
                std::initializer_list<LogField> fields) {
  size_t texts = event.size();
  size_t rest = prefix.size() + (fields.size() + 1) * (kLongestNumber + kPunctuation);
  for (const LogField& field : fields) {
    rest += field.key.size();
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      texts += std::min(text->size(), LogLine::kTextLimit);
    }
  }
  return rest + kLongestEscape * texts;
}

// What follows writes to where room has been made, and gives the end of what it wrote. The place is
// handed on and not kept in an object, which would go to memory and back with each character.

template <class Number>
char* write_number(char* to, Number number) {
  if (number >= 0 && number < 10) {
    *to = static_cast<char>('0' + static_cast<char>(number));
    return to + 1;
  }
  return std::to_chars(to, to + kLongestNumber, number).ptr;
}

char* write_double(char* to, double number) {
  if (!std::isfinite(number)) return copy_text(to, "null");  // JSON has no infinity
  return std::to_chars(to, to + kLongestNumber, number).ptr;
}

// To whole microseconds, halves to the even one: std::chrono::round costs three times as much.
uint64_t round_to_us(Duration duration) {
  static_assert(std::is_same_v<Duration::period, std::nano>);
  const auto ns = static_cast<uint64_t>(std::max<int64_t>(0, duration.count()));
  const uint64_t us = ns / 1000;
  return us + (ns % 1000 + us % 2 > 500 ? 1 : 0);
}

// Whole microseconds are all that means something: up to three decimals, none that are zero.
char* write_milliseconds(char* to, Duration duration) {
  const uint64_t us = round_to_us(duration);
  to = write_number(to, us / 1000);
  const auto rest = static_cast<uint32_t>(us % 1000);
  if (rest == 0) return to;
  to[0] = '.';
  to[1] = static_cast<char>('0' + rest / 100);
  if (rest % 100 == 0) return to + 2;
  to[2] = static_cast<char>('0' + rest / 10 % 10);
  if (rest % 10 == 0) return to + 3;
  to[3] = static_cast<char>('0' + rest % 10);
  return to + 4;
}

char* write_quoted(char* to, std::string_view text, std::string& scratch) {
  if (!consists_of(text, kJsonPlain)) {
    scratch.clear();
    append_json_string(scratch, text);
    return copy_text(to, scratch);
  }
  *to++ = '"';
  to = copy_text(to, text);
  *to++ = '"';
  return to;
}

struct TextStyle {
  static constexpr std::string_view kLineEnd = "\n";

  static char* write_event(char* to, std::string_view event, std::string& /*scratch*/) {
    return copy_text(to, event);
  }
  static char* write_key(char* to, std::string_view key) {
    *to++ = ' ';
    to = copy_text(to, key);
    *to++ = '=';
    return to;
  }
  static char* write_text(char* to, std::string_view text, std::string& scratch) {
    const bool is_word = !text.empty() && consists_of(text, kWord);
    return is_word ? copy_text(to, text) : write_quoted(to, text, scratch);
  }
};

struct JsonStyle {
  static constexpr std::string_view kLineEnd = "}\n";

  static char* write_event(char* to, std::string_view event, std::string& scratch) {
    return write_quoted(to, event, scratch);
  }
  static char* write_key(char* to, std::string_view key) {
    to = copy_text(to, ",\"");
    to = copy_text(to, key);
    return copy_text(to, "\":");
  }
  static char* write_text(char* to, std::string_view text, std::string& scratch) {
    return write_quoted(to, text, scratch);
  }
};

template <class Style>
struct ValueWriter {
  char* to;
  std::string& scratch;

  char* operator()(std::monostate /*nothing*/) const { return to; }
  char* operator()(std::string_view text) const {
    return Style::write_text(to, text.substr(0, LogLine::kTextLimit), scratch);
  }
  char* operator()(int64_t number) const { return write_number(to, number); }
  char* operator()(uint64_t number) const { return write_number(to, number); }
  char* operator()(double number) const { return write_double(to, number); }
  char* operator()(bool is_so) const { return copy_text(to, is_so ? "true" : "false"); }
  char* operator()(Duration duration) const { return write_milliseconds(to, duration); }
};

template <class Style>
char* write_line(char* to, std::string_view prefix, std::string_view event,
                 std::initializer_list<LogField> fields, std::string& scratch) {
  to = Style::write_event(copy_text(to, prefix), event, scratch);
  for (const LogField& field : fields) {
    if (std::holds_alternative<std::monostate>(field.value)) continue;
    to = Style::write_key(to, field.key);
    to = std::visit(ValueWriter<Style>{to, scratch}, field.value);
  }
  return copy_text(to, Style::kLineEnd);
}

}  // namespace

LogLine::LogLine(LogFormat format)
    : format_(format), prefix_formatter_(make_prefix_formatter(format)) {}

LogLine::~LogLine() = default;

std::string_view LogLine::render(Time time, LogLevel level, std::string_view event,
                                 std::initializer_list<LogField> fields) {
  if (time != prefix_time_ || level != prefix_level_) make_prefix(time, level);
  line_.clear();
  char* const begin = line_.reserve(room_for(prefix_, event, fields));
  const auto write = format_ == LogFormat::json ? write_line<JsonStyle> : write_line<TextStyle>;
  const char* const end = write(begin, prefix_, event, fields, scratch_);
  return {begin, static_cast<size_t>(end - begin)};
}

void LogLine::make_prefix(Time time, LogLevel level) {
  spdlog::memory_buf_t text;
  prefix_formatter_->format(
      spdlog::details::log_msg(time, spdlog::source_loc(), {}, to_spdlog(level), {}), text);
  prefix_.assign(text.data(), text.size());
  prefix_time_ = time;
  prefix_level_ = level;
}

}  // namespace stdgate
