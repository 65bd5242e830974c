#include "gateway/base/trace_context.h"

#include <algorithm>
#include <span>
#include <utility>

#include "gateway/base/text.h"

namespace stdgate {

namespace {

// Whether `test` holds for all parts of `text` between separators, empty ones included.
template <class Test>
bool all_parts(std::string_view text, char separator, Test&& test) {
  for (;;) {
    const size_t end = text.find(separator);
    if (!test(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

// Section 3.3.1.3. The separators have been removed.
bool is_value(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return c > ' ' && c <= '~' && c != '"' && c != ',' && c != '\\'; });
}

// A property needs no value.
bool is_property(std::string_view text) {
  const size_t equals = std::min(text.find('='), text.size());
  return is_token(trim(text.substr(0, equals))) &&
         is_value(trim(text.substr(std::min(equals + 1, text.size()))));
}

bool is_member(std::string_view text) {
  const std::string_view pair = text.substr(0, text.find(';'));
  return pair.find('=') != std::string_view::npos && all_parts(text, ';', is_property);
}

bool is_baggage(std::string_view text) {
  if (text.size() > Baggage::kMaxBytes) return false;
  size_t members = 0;
  return all_parts(text, ',', [&members](std::string_view member) {
    return ++members <= Baggage::kMaxMembers && is_member(member);
  });
}

constexpr size_t kLength = 55;  // "vv-" trace-id "-" parent-id "-ff"
constexpr size_t kTraceId = 3;
constexpr size_t kParentId = 36;
constexpr size_t kFlags = 53;
constexpr uint8_t kDefinedFlags = 3;
constexpr uint8_t kInvalidVersion = 0xff;

// The value of a hexadecimal digit; 16 for any other character, upper case included (section
// 3.2.2).
uint8_t hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  return 16;
}

// Two digits a byte.
template <size_t N>
bool read_hex(std::string_view digits, std::array<uint8_t, N>& bytes) {
  for (size_t i = 0; i < N; ++i) {
    const uint8_t high = hex_value(digits[2 * i]);
    const uint8_t low = hex_value(digits[2 * i + 1]);
    if (high > 15 || low > 15) return false;
    bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

// The reverse of read_hex().
void write_hex(std::span<const uint8_t> bytes, char* digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const uint8_t byte : bytes) {
    *digits++ = kDigits[byte >> 4];
    *digits++ = kDigits[byte & 15];
  }
}

bool is_zero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

// Section 3.3.1.3, and the white space around entries.
bool may_be_state(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 0x20 && c <= 0x7e) || c == '\t'; });
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t,");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t,") - first + 1);
}

}  // namespace

Baggage::Baggage(std::string text) {
  if (is_baggage(text)) text_ = std::make_shared<const std::string>(std::move(text));
}

bool TraceContext::read(std::string_view text) {
  clear();
  std::array<uint8_t, 1> version{};
  std::array<uint8_t, 1> flag_bits{};
  TraceContext read;
  if (text.size() < kLength || text[kTraceId - 1] != '-' || text[kParentId - 1] != '-' ||
      text[kFlags - 1] != '-' || !read_hex(text, version) || version[0] == kInvalidVersion ||
      !read_hex(text.substr(kTraceId), read.trace_id) ||
      !read_hex(text.substr(kParentId), read.parent_id) ||
      !read_hex(text.substr(kFlags), flag_bits) || is_zero(read.trace_id) ||
      is_zero(read.parent_id)) {
    return false;
  }
  // A later version may append fields; version 0 has none (section 3.2.4).
  if (text.size() > kLength && (version[0] == 0 || text[kLength] != '-')) return false;
  trace_id = read.trace_id;
  parent_id = read.parent_id;
  flags = flag_bits[0] & kDefinedFlags;
  return true;
}

void TraceContext::add_state(std::string_view field) {
  if (is_none() || !may_be_state(field)) return;
  for (field = trimmed(field); !field.empty();) {
    const size_t end = std::min(field.find(','), field.size());
    const std::string_view entry = trimmed(field.substr(0, end));
    const size_t comma = state.empty() ? 0 : 1;
    if (state.size() + comma + entry.size() > kMaxState) return;
    state.append(comma, ',');
    state += entry;
    field = trimmed(field.substr(end));
  }
}

void TraceContext::clear() {
  trace_id = {};
  parent_id = {};
  flags = 0;
  state.clear();
  baggage = {};
}

SpanId TraceContext::parent() const {
  SpanId span = 0;
  for (const uint8_t byte : parent_id) span = span << 8 | byte;
  return span;
}

TraceIdText::TraceIdText(const TraceContext& trace) { write_hex(trace.trace_id, digits.data()); }

SpanIdText::SpanIdText(SpanId span) {
  std::array<uint8_t, sizeof(span)> bytes{};
  for (size_t i = bytes.size(); i-- > 0; span >>= 8) bytes[i] = static_cast<uint8_t>(span);
  write_hex(bytes, digits.data());
}

TraceParentText::TraceParentText(const TraceContext& trace, SpanId span) {
  const std::array<uint8_t, 1> flag_bits{trace.flags};
  digits.fill('-');
  digits[0] = digits[1] = '0';
  write_hex(trace.trace_id, digits.data() + kTraceId);
  const SpanIdText parent(span);
  std::ranges::copy(parent.digits, digits.data() + kParentId);
  write_hex(flag_bits, digits.data() + kFlags);
}

}  // namespace stdgate
