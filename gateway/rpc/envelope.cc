#include "gateway/rpc/envelope.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "gateway/base/check.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_scanner.h"

namespace stdgate::rpc {
namespace {

enum EnvelopeMember : uint8_t { kJsonrpc, kId, kMethod, kParams, kResult, kError, kMemberCount };

constexpr std::array<std::string_view, kMemberCount> kKeys{"jsonrpc", "id",     "method",
                                                           "params",  "result", "error"};

constexpr std::string_view kVersion = "\"2.0\"";
constexpr std::string_view kWrittenVersion = R"("jsonrpc":"2.0")";
constexpr std::string_view kVersionMember = R"("jsonrpc":"2.0",)";

// By size first: most keys differ there already.
EnvelopeMember member_of(std::string_view key) {
  switch (key.size()) {
    case 2:
      return key == "id" ? kId : kMemberCount;
    case 5:
      return key == "error" ? kError : kMemberCount;
    case 6:
      return key == "method"   ? kMethod
             : key == "params" ? kParams
             : key == "result" ? kResult
                               : kMemberCount;
    case 7:
      return key == "jsonrpc" ? kJsonrpc : kMemberCount;
    default:
      return kMemberCount;
  }
}

bool resembles_member(std::string_view key) {
  return std::ranges::any_of(
      kKeys, [key](std::string_view known) { return json_string_resembles(key, known); });
}

EnvelopeMember member_of_escaped(std::string_view key) {
  const auto* const found = std::find_if(kKeys.begin(), kKeys.end(), [key](std::string_view known) {
    return json_string_equals(key, known);
  });
  return static_cast<EnvelopeMember>(found - kKeys.begin());
}

// The envelope's members that one object has, before they are judged.
struct Members {
  std::array<std::string_view, kMemberCount> values{};  // raw; empty when absent
  uint8_t repeated = 0;                                 // a bit for each member
  uint8_t escaped = 0;                                  // its key was spelled with escapes
  bool method_has_escapes = false;
  bool has_lookalikes = false;

  [[nodiscard]] bool has(EnvelopeMember member) const { return !values[member].empty(); }
  [[nodiscard]] char first(EnvelopeMember member) const {
    return has(member) ? values[member][0] : '\0';
  }
  [[nodiscard]] bool readable(EnvelopeMember member) const {
    return has(member) && (((repeated | escaped) >> member) & 1) == 0;
  }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_integer(std::string_view number) {
  return (number[0] == '-' || is_digit(number[0])) &&
         number.find_first_of(".eE") == std::string_view::npos;
}

// JSON-RPC 2.0 section 5.1.
bool is_error_object(std::string_view error) {
  const auto code = find_member(error, "code");
  const auto message = find_member(error, "message");
  return code && is_integer(*code) && message && message->front() == '"';
}

const char* judge_id(const Members& members, const EnvelopeLimits& limits) {
  if (!members.has(kId)) return nullptr;
  if (!is_id_value(members.values[kId])) return "id must be a string, a number or null";
  if (members.values[kId].size() > limits.id) return "id is too long";
  return nullptr;
}

// Editors and servers send null for no params, against section 4.2. Null params count as omitted,
// and are passed on as received.
bool has_null_params(const Members& members) { return members.values[kParams] == "null"; }

const char* judge_call(const Members& members, const EnvelopeLimits& limits) {
  if (members.has(kResult) || members.has(kError)) return "method beside result or error";
  if (members.first(kMethod) != '"') return "method must be a string";
  if (members.values[kMethod].size() - 2 > limits.method) return "method is too long";
  const char params = members.first(kParams);
  if (params != '\0' && params != '{' && params != '[' && !has_null_params(members)) {
    return "params must be an array or an object";
  }
  return nullptr;
}

const char* judge_response(const Members& members) {
  if (members.has(kResult) && members.has(kError)) return "both result and error";
  if (!members.has(kId)) return "response without id";
  if (members.has(kError) && !is_error_object(members.values[kError])) {
    return "error has no integer code and string message";
  }
  return nullptr;
}

// JSON-RPC 2.0 sections 4 and 5, and what makes a message mean the same to every reader.
const char* judge(const Members& members, const EnvelopeLimits& limits) {
  if (members.escaped != 0) return "escapes in the key of an envelope member";
  if (members.repeated != 0) return "envelope member occurs twice";
  if (members.values[kJsonrpc] != kVersion && (members.has(kJsonrpc) || !limits.version_optional)) {
    return "jsonrpc must be the string 2.0";
  }
  if (const char* rejection = judge_id(members, limits)) return rejection;
  if (members.has(kMethod)) return judge_call(members, limits);
  if (members.has(kResult) || members.has(kError)) return judge_response(members);
  return "no method, result or error";
}

MessageKind kind_of(const Members& members, bool with_id) {
  if (!members.has(kMethod) && members.has(kError)) return MessageKind::error;
  if (!members.has(kMethod) && members.has(kResult)) return MessageKind::result;
  return with_id ? MessageKind::request : MessageKind::notification;
}

void fill(ParsedMessage& message, const Members& members, const EnvelopeLimits& limits) {
  Envelope& envelope = message.envelope;
  message.rejection = judge(members, limits);
  // In a good message the id has been judged.
  if (members.readable(kId) && (message.ok() || judge_id(members, limits) == nullptr)) {
    envelope.id = members.values[kId];
  }
  envelope.kind = kind_of(members, !envelope.id.empty());
  if (!message.ok()) return;
  envelope.has_lookalikes = members.has_lookalikes;
  if (members.has(kMethod)) {
    envelope.method = members.values[kMethod].substr(1, members.values[kMethod].size() - 2);
    envelope.method_has_escapes = members.method_has_escapes;
    if (!has_null_params(members)) envelope.params = members.values[kParams];
  } else {
    envelope.payload = members.values[members.has(kError) ? kError : kResult];
  }
}

// Reads a document with a scanner. Each function returns false if the text is not JSON or is nested
// too deeply.
class DocumentReader {
 public:
  DocumentReader(std::span<char> text, std::span<char> nesting, const EnvelopeLimits& limits,
                 std::vector<ParsedMessage>& messages, std::vector<RawMember>* params)
      : text_(text),
        scanner_(text, nesting),
        limits_(limits),
        messages_(messages),
        params_(params) {}

  tl::expected<Document, DocumentError> read() {
    char* at = scanner_.skip_space(scanner_.begin());
    const bool batch = scanner_.peek(at) == '[';
    if (batch) params_ = nullptr;
    at = batch ? read_batch(at) : read_message(at);
    if (at == nullptr) return failure();
    at = scanner_.skip_space(at);
    scanner_.stop(at);
    if (at != scanner_.end()) return failure();
    if (scanner_.has_non_ascii() && !valid_utf8({text_.data(), text_.size()})) {
      return refuse(Fault::parse_error, "invalid UTF-8");
    }
    if (messages_.empty()) return refuse(Fault::invalid_request, "empty batch");
    return Document{batch, messages_};
  }

 private:
  char* read_batch(char* at) {
    return read_container(at, [this](char* entry) {
      if (messages_.size() < limits_.batch) return read_message(entry);
      too_many_ = true;
      return scanner_.stop(entry);
    });
  }

  char* read_message(char* at) {
    ParsedMessage& message = messages_.emplace_back();
    char* behind = read_usual(at, message.envelope);
    if (behind == nullptr) behind = read_any(at, message);
    if (behind == nullptr) return nullptr;
    message.envelope.text = {at, static_cast<size_t>(behind - at)};
    return behind;
  }

  // A request or a result as most programs write it: without space, an integer as the id, version
  // and id in front of the other members or behind them. Null: it is written in another way, or
  // wrong; the envelope is as it was.
  char* read_usual(char* start, Envelope& envelope) {
    std::string_view id;
    char* at = behind_text(start, R"({"jsonrpc":"2.0","id":)");
    const bool is_id_first = at != nullptr;
    at = is_id_first ? read_usual_id(at, id) : start;
    if (at == nullptr || scanner_.peek(at) != (is_id_first ? ',' : '{')) return nullptr;
    std::string_view method;
    char* value = behind_text(++at, R"("result":)");
    const bool is_result = value != nullptr;
    if (!is_result) value = read_usual_method(at, method);
    if (value == nullptr) return nullptr;
    at = read_usual_value(value, start, !is_result);
    const size_t size = static_cast<size_t>(at - value);
    if (!is_id_first && at != nullptr) {
      at = behind_text(at, R"(,"jsonrpc":"2.0","id":)");
      if (at != nullptr) at = read_usual_id(at, id);
    }
    if (at == nullptr || scanner_.peek(at) != '}') return nullptr;
    envelope.kind = is_result ? MessageKind::result : MessageKind::request;
    envelope.id = id;
    envelope.method = method;
    (is_result ? envelope.payload : envelope.params) = {value, size};
    return at + 1;
  }

  char* read_usual_id(char* start, std::string_view& id) {
    char* at = start;
    while (is_digit(scanner_.peek(at))) ++at;
    id = {start, static_cast<size_t>(at - start)};
    const bool is_number = !id.empty() && (id[0] != '0' || id.size() == 1);
    return is_number && id.size() <= limits_.id ? at : nullptr;
  }

  // Answers where params, which are an object, begin.
  char* read_usual_method(char* at, std::string_view& method) {
    JsonScanner::String string;
    at = behind_text(at, R"("method":)");
    if (at != nullptr) at = scanner_.scan_string(at, string);
    if (at != nullptr) at = behind_text(at, R"(,"params":)");
    if (at == nullptr || string.escapes || string.raw.size() > limits_.method) return nullptr;
    method = string.raw;
    return scanner_.peek(at) == '{' ? at : nullptr;
  }

  char* read_usual_value(char* at, char* message, bool is_params) {
    const size_t depth = scanner_.depth();
    if (scanner_.enter(message) == nullptr) return nullptr;
    at = is_params && params_ != nullptr ? note_params(at) : scanner_.scan_value(at);
    scanner_.leave_to(depth);
    return at;
  }

  // The byte behind `text`, if it stands at `at`; else null.
  [[nodiscard]] char* behind_text(char* at, std::string_view text) const {
    return scanner_.rest(at).starts_with(text) ? at + text.size() : nullptr;
  }

  [[gnu::noinline]] char* read_any(char* at, ParsedMessage& message) {
    if (scanner_.peek(at) == '{') {
      Members members;
      at = read_container(at, [this, &members](char* key) { return read_member(key, members); });
      if (at != nullptr) fill(message, members, limits_);
      return at;
    }
    message.rejection = "not an object";
    return scanner_.scan_value(at);
  }

  // Reads an array or object. `read_entry` reads what stands between two commas.
  template <class ReadEntry>
  char* read_container(char* at, ReadEntry&& read_entry) {
    at = scanner_.enter(at);
    if (at == nullptr) return nullptr;
    at = scanner_.skip_space(at);
    if (scanner_.peek(at) != scanner_.closer()) {
      for (;;) {
        at = read_entry(at);
        if (at == nullptr) return nullptr;
        at = scanner_.skip_space(at);
        if (scanner_.peek(at) == scanner_.closer()) break;
        at = scanner_.take(at, ',');
        if (at == nullptr) return nullptr;
        at = scanner_.skip_space(at);
      }
    }
    scanner_.leave();
    return at + 1;
  }

  // The envelope member whose key starts at `at`, if no space precedes its colon. Most keys are
  // written so and need no search for their end.
  [[nodiscard]] EnvelopeMember member_at(const char* at) const {
    const std::string_view rest = scanner_.rest(at);
    if (rest.size() < 2) return kMemberCount;
    switch (rest[1]) {
      case 'j':
        return rest.starts_with("\"jsonrpc\":") ? kJsonrpc : kMemberCount;
      case 'i':
        return rest.starts_with("\"id\":") ? kId : kMemberCount;
      case 'm':
        return rest.starts_with("\"method\":") ? kMethod : kMemberCount;
      case 'p':
        return rest.starts_with("\"params\":") ? kParams : kMemberCount;
      case 'r':
        return rest.starts_with("\"result\":") ? kResult : kMemberCount;
      case 'e':
        return rest.starts_with("\"error\":") ? kError : kMemberCount;
      default:
        return kMemberCount;
    }
  }

  // Nearly every message has its version, written so.
  [[nodiscard]] bool begins_with_version(const char* at) const {
    return static_cast<size_t>(scanner_.end() - at) >= kWrittenVersion.size() &&
           std::memcmp(at, kWrittenVersion.data(), kWrittenVersion.size()) == 0;
  }

  char* read_member(char* at, Members& members) {
    if (begins_with_version(at) && !members.has(kJsonrpc)) {
      members.values[kJsonrpc] = {at + kKeys[kJsonrpc].size() + 3, kVersion.size()};
      return at + kWrittenVersion.size();
    }
    JsonScanner::String key;
    EnvelopeMember member = member_at(at);
    if (member != kMemberCount) {
      at = scanner_.skip_space(at + kKeys[member].size() + 3);
    } else {
      at = scanner_.scan_key(at, key);
      if (at == nullptr) return nullptr;
      member = key.escapes ? member_of_escaped(key.raw) : member_of(key.raw);
      if (member == kMemberCount && resembles_member(key.raw)) members.has_lookalikes = true;
    }
    char* const start = at;
    at = read_value(at, member, members);
    if (at == nullptr || member == kMemberCount) return at;
    const auto bit = static_cast<uint8_t>(1 << member);
    if (members.has(member)) members.repeated |= bit;
    if (key.escapes) members.escaped |= bit;
    members.values[member] = {start, static_cast<size_t>(at - start)};
    return at;
  }

  char* read_value(char* at, EnvelopeMember member, Members& members) {
    const char first = scanner_.peek(at);
    if (first == '"') {
      JsonScanner::String string;
      at = scanner_.scan_string(at, string);
      if (member == kMethod) members.method_has_escapes = string.escapes;
      return at;
    }
    // Most ids are small integers.
    if (first < '1' || first > '9') {
      const bool is_noted = first == '{' && member == kParams && params_ != nullptr;
      return is_noted ? note_params(at) : scanner_.scan_value(at);
    }
    char* behind = at + 1;
    while (is_digit(scanner_.peek(behind))) ++behind;
    return scanner_.peek(behind) == ',' ? behind : scanner_.scan_number(at);
  }

  [[gnu::noinline]] char* note_params(char* at) {
    params_->clear();
    size_t count = 0;
    at = read_container(at, [this, &count](char* behind) {
      JsonScanner::String key;
      char* const value = scanner_.scan_key(behind, key);
      behind = value == nullptr ? nullptr : scanner_.scan_value(value);
      if (behind != nullptr && ++count <= EnvelopeParser::kMaxNoted) {
        params_->push_back({key.raw, {value, static_cast<size_t>(behind - value)}});
      }
      return behind;
    });
    if (at == nullptr || count > EnvelopeParser::kMaxNoted) params_->clear();
    return at;
  }

  [[nodiscard]] tl::unexpected<DocumentError> failure() const {
    if (too_many_) return refuse(Fault::too_large, "more messages in a batch than limits.batch");
    if (scanner_.too_deep()) return refuse(Fault::invalid_request, "nested too deeply");
    return refuse(Fault::parse_error, "invalid JSON");
  }
  [[nodiscard]] tl::unexpected<DocumentError> refuse(Fault fault, const char* reason) const {
    return tl::unexpected(DocumentError{fault, reason, scanner_.stopped_at()});
  }

  const std::span<char> text_;
  JsonScanner scanner_;
  const EnvelopeLimits& limits_;
  std::vector<ParsedMessage>& messages_;
  std::vector<RawMember>* params_;  // null: they are not noted
  bool too_many_ = false;
};

// Whether a message omits the version. It then has another member, so the version can be added
// before that one.
bool omits_version(const ParsedMessage& message) {
  return message.ok() && is_absent(find_member(message.envelope.text, kKeys[kJsonrpc]));
}

}  // namespace

FaultReport report_of(const DocumentError& error) {
  FaultReport report = faults::because(error.fault, error.reason);
  if (error.fault == Fault::parse_error) {
    report.message += " at byte " + std::to_string(error.offset);
  }
  return report;
}

tl::expected<Document, DocumentError> EnvelopeParser::parse(std::span<char> text) {
  messages_.clear();
  if (limits_.notes_params) params_.clear();
  std::vector<RawMember>* const params = limits_.notes_params ? &params_ : nullptr;
  auto document = DocumentReader(text, nesting_, limits_, messages_, params).read();
  const bool may_omit = limits_.version_optional && document.has_value();
  if (may_omit && std::ranges::any_of(messages_, omits_version)) {
    add_versions({text.data(), text.size()});
    messages_.clear();
    params_.clear();
    document = DocumentReader(completed_, nesting_, limits_, messages_, params).read();
    STDGATE_CHECK(document.has_value());
    document->omits_version = true;
  }
  return document;
}

void EnvelopeParser::add_versions(std::string_view text) {
  std::string completed;  // `text` may stand in completed_
  completed.reserve(text.size() + kVersionMember.size() * messages_.size());
  const char* at = text.data();
  for (const ParsedMessage& message : messages_) {
    if (!omits_version(message)) continue;
    const char* const behind_brace = message.envelope.text.data() + 1;
    completed.append(at, behind_brace).append(kVersionMember);
    at = behind_brace;
  }
  completed.append(at, text.data() + text.size());
  completed_ = std::move(completed);
}

std::optional<WireId> parse_wire_id(std::string_view raw) {
  constexpr size_t kMaxDigits = 10;
  if (raw.empty() || raw.size() > kMaxDigits || (raw[0] == '0' && raw.size() > 1)) {
    return std::nullopt;
  }
  uint64_t value = 0;
  for (const char c : raw) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  if (value > INT32_MAX) return std::nullopt;
  return static_cast<WireId>(value);
}

std::optional<int64_t> error_code(const Envelope& envelope) {
  if (envelope.kind != MessageKind::error) return std::nullopt;
  const auto raw = find_member(envelope.payload, "code");
  if (!raw) return std::nullopt;
  int64_t code = 0;
  const auto parsed = std::from_chars(raw->data(), raw->data() + raw->size(), code);
  if (parsed.ec != std::errc() || parsed.ptr != raw->data() + raw->size()) return std::nullopt;
  return code;
}

}  // namespace stdgate::rpc
