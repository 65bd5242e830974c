// Option: one key of the configuration, a row in the table of its section (pool_options.h, …).
//
// The rows alone define which keys exist. The parser, `stdgate check`, the flags, --help, the JSON
// Schema and docs/configuration.md are made from them. A row has no default: the default is the
// member's initializer in the section's struct.
//
// A new type of option is a struct here, an alternative of OptionType, and an overload wherever the
// compiler then misses one: option_reader.cc, option_value.h, option_info.cc, config_schema.cc. One
// that holds secrets has an overload in config_printer.cc too, which hides them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/config_ranges.h"

namespace stdgate::config {

// A whole number.
template <class S>
struct Count {
  std::variant<uint32_t S::*, uint64_t S::*, std::optional<uint64_t> S::*> member;
  CountRange range;
};
template <class S, class T>
Count(T S::*, CountRange) -> Count<S>;

// A part of a whole, 0 to 1: 0.1.
template <class S>
struct Ratio {
  double S::*member;
};
template <class S>
Ratio(double S::*) -> Ratio<S>;

// Bytes: 512, 64KiB.
template <class S>
struct Size {
  std::variant<uint64_t S::*, std::optional<uint64_t> S::*> member;
  SizeRange range;
};
template <class S, class T>
Size(T S::*, SizeRange) -> Size<S>;

// 250ms, 30s.
template <class S>
struct Time {
  Duration S::*member;
  DurationRange range;
};
template <class S>
Time(Duration S::*, DurationRange) -> Time<S>;

// A duration that the struct keeps in whole seconds.
template <class S>
struct Seconds {
  std::optional<uint64_t> S::*member;
  DurationRange range;
};
template <class S>
Seconds(std::optional<uint64_t> S::*, DurationRange) -> Seconds<S>;

// 20/s, 100/m, 5000/h.
template <class S>
struct PerTime {
  Rate S::*member;
};
template <class S>
PerTime(Rate S::*) -> PerTime<S>;

// true or false.
template <class S>
struct Switch {
  bool S::*member;
};
template <class S>
Switch(bool S::*) -> Switch<S>;

// Whether `stdgate check` prints a text that is empty.
enum class EmptyText : uint8_t { left_out, printed };

// Whether a text names a file or a directory.
enum class TextKind : uint8_t { plain, path };

// One text.
template <class S>
struct Text {
  std::string S::*member;
  EmptyText empty = EmptyText::left_out;
  TextKind kind = TextKind::plain;
};
template <class S>
Text(std::string S::*) -> Text<S>;
template <class S>
Text(std::string S::*, EmptyText) -> Text<S>;
template <class S>
Text(std::string S::*, EmptyText, TextKind) -> Text<S>;

// One word of a table in value_names.h.
template <class S>
struct Word {
  std::variant<Protocol S::*, rpc::Framing S::*, EnvelopeForm S::*, Isolation S::*, Revision S::*,
               Bridge S::*, LogLevel S::*, LogFormat S::*, ClientCertificate S::*,
               AuditArguments S::*, Pins S::*, SignatureMethod S::*>
      member;
};
template <class S, class T>
Word(T S::*) -> Word<S>;

// The rule for the texts of a list, or for the keys of a map.
struct TextRule {
  bool (*accepts)(std::string_view text);
  std::string_view expected;  // for "expected …; found 'x'"; of a map's keys: the whole message
};

inline constexpr CountRange kAnyNumber{0, UINT64_MAX};

// A list of texts, or of what they stand for; made by list_of().
template <class S>
struct List {
  void (*clear)(S& out);
  bool (*append)(S& out, const std::string& text);  // false: not what is expected
  std::vector<std::string> (*texts)(const S& section);
  TextRule rule;
  CountRange items;
};

// Which values are printed: values that do not look secret, or none.
enum class Shown : uint8_t { harmless, hidden };

// Names with a text each, or { file: … } (environment_variables.h): variables of the environment.
// Values from files are never shown.
template <class S>
struct Variables {
  std::map<std::string, std::string> S::*values;
  std::map<std::string, VariableSource> S::*sources;
  TextRule names;
  Shown shown = Shown::harmless;
};
template <class S>
Variables(std::map<std::string, std::string> S::*, std::map<std::string, VariableSource> S::*,
          TextRule) -> Variables<S>;
template <class S>
Variables(std::map<std::string, std::string> S::*, std::map<std::string, VariableSource> S::*,
          TextRule, Shown) -> Variables<S>;

// Files of variables (environment_variables.h), one or several; a single one need not be a list.
// Their names are printed, and which variables they set.
template <class S>
struct EnvFiles {
  std::vector<std::string> S::*files;
  std::map<std::string, std::string> S::*variables;
  size_t max_files;
};
template <class S>
EnvFiles(std::vector<std::string> S::*, std::map<std::string, std::string> S::*, size_t)
    -> EnvFiles<S>;

// A file of keys (config_files.h). Its name is printed, and how many keys there are.
template <class S>
struct KeyFile {
  std::string S::*file;
  std::vector<SecretKey> S::*keys;
};
template <class S>
KeyFile(std::string S::*, std::vector<SecretKey> S::*) -> KeyFile<S>;

// A file of API keys (config_files.h). Its name is printed, and how many keys there are.
template <class S>
struct ApiKeyFile {
  std::string S::*file;
  std::vector<std::string> S::*keys;
};
template <class S>
ApiKeyFile(std::string S::*, std::vector<std::string> S::*) -> ApiKeyFile<S>;

// A file whose content is kept. Its name is printed.
template <class S>
struct FileText {
  std::string S::*file;
  std::string S::*content;
};
template <class S>
FileText(std::string S::*, std::string S::*) -> FileText<S>;

// Names of variables, added to the default ones (environment_variables.h).
template <class S>
struct Inherited {
  std::vector<std::string> S::*member;
};
template <class S>
Inherited(std::vector<std::string> S::*) -> Inherited<S>;

// A program and its arguments; what looks secret in them is hidden when they are printed.
template <class S>
struct Command {
  std::vector<std::string> S::*member;
};
template <class S>
Command(std::vector<std::string> S::*) -> Command<S>;

// Names of files, one or several; a single one need not be a list.
template <class S>
struct Paths {
  std::vector<std::string> S::*member;
  CountRange items;
};
template <class S>
Paths(std::vector<std::string> S::*, CountRange) -> Paths<S>;

// Where to listen: an address, or a map of it and what else is said of the listener; `none` stands
// for no address.
template <class S>
struct ListenAddress {
  ListenerConfig S::*member;
  std::string_view none;
};
template <class S>
ListenAddress(ListenerConfig S::*, std::string_view) -> ListenAddress<S>;

// One or several of them; a single one need not be a list.
template <class S>
struct ListenAddresses {
  std::vector<ListenerConfig> S::*member;
  CountRange items;
};
template <class S>
ListenAddresses(std::vector<ListenerConfig> S::*, CountRange) -> ListenAddresses<S>;

// Ascending numbers of seconds, above 0.
template <class S>
struct Buckets {
  std::vector<double> S::*member;
  CountRange items;
  double max;
};
template <class S>
Buckets(std::vector<double> S::*, CountRange, double) -> Buckets<S>;

// A map of names to lists of texts.
template <class S>
struct TextLists {
  std::map<std::string, std::vector<std::string>> S::*member;
  TextRule texts;
  size_t most;  // names
};
template <class S>
TextLists(std::map<std::string, std::vector<std::string>> S::*, TextRule, size_t) -> TextLists<S>;

// A map of names to a text each.
template <class S>
struct TextMap {
  std::map<std::string, std::string> S::*member;
  size_t most;
};
template <class S>
TextMap(std::map<std::string, std::string> S::*, size_t) -> TextMap<S>;

// A map of names to maps of names to any values.
template <class S>
struct Arguments {
  ToolArguments S::*member;
  size_t most;  // of the outer names
};
template <class S>
Arguments(ToolArguments S::*, size_t) -> Arguments<S>;

// A map with keys of its own: OptionsOf<its type>.
template <class S>
struct Part {
  std::variant<PoolConfig S::*, ResourceLimits S::*, LimitsConfig S::*, TimeoutsConfig S::*,
               LogConfig S::*, MetricsConfig S::*, SessionsConfig S::*, TlsConfig S::*,
               AuthConfig S::*, MtlsConfig S::*, JwksConfig S::*, ClientLimits S::*,
               CallLimits S::*, AuditConfig S::*, FilesystemConfig S::*, TracesConfig S::*,
               SelectionConfig S::*, MemberToolsConfig S::*, SearchConfig S::*, CheckConfig S::*>
      member;
};
template <class S, class T>
Part(T S::*) -> Part<S>;

// Such a map, or a word that stands for a whole one (option_rules.h).
template <class S>
struct WordOrPart {
  std::variant<SandboxConfig S::*, NetworkConfig S::*, ExposeConfig S::*> member;
};

// A list of maps, each with keys of its own: OptionsOf<their type>.
template <class S>
struct Items {
  std::variant<std::vector<ApiKeyConfig> S::*, std::vector<JwtConfig> S::*,
               std::vector<SignatureConfig> S::*, std::vector<RuleConfig> S::*,
               std::vector<MemberConfig> S::*>
      member;
  CountRange items;
};
template <class S, class T>
Items(std::vector<T> S::*, CountRange) -> Items<S>;

// A map of names to maps with keys of their own.
template <class S>
struct NamedItems {
  std::variant<std::vector<RoleConfig> S::*, std::vector<ServerConfig> S::*> member;
  TextRule names;
  size_t most;
};
template <class S, class T>
NamedItems(std::vector<T> S::*, TextRule, size_t) -> NamedItems<S>;

// A map of names to backends.
template <class S>
struct Backends {
  std::vector<BackendConfig> S::*member;
};
template <class S>
Backends(std::vector<BackendConfig> S::*) -> Backends<S>;

template <class S>
using OptionType =
    std::variant<Count<S>, Ratio<S>, Size<S>, Time<S>, Seconds<S>, PerTime<S>, Switch<S>, Text<S>,
                 Word<S>, List<S>, Variables<S>, EnvFiles<S>, KeyFile<S>, ApiKeyFile<S>,
                 FileText<S>, Paths<S>, TextLists<S>, TextMap<S>, Arguments<S>, Inherited<S>,
                 Command<S>, ListenAddress<S>, ListenAddresses<S>, Buckets<S>, Part<S>,
                 WordOrPart<S>, Items<S>, NamedItems<S>, Backends<S>>;

// The flag that says the same on the command line. Beside a switch it takes no value, and turns
// into what is not the default.
struct OptionFlag {
  std::string_view name = {};         // "--max"; empty: none
  std::string_view placeholder = {};  // empty: the type's ("N", "TIME"), else the key in capitals
  std::string_view help = {};         // empty: the option's
};

// A row of a table of options: one key of the section S.
template <class S>
struct Option {
  std::string_view key;
  OptionType<S> type;
  OptionFlag flag = {};
  // The help, a phrase that also fits a terminal: no capital, no full stop, no Markdown.
  std::string_view help;
  // Further sentences for the reference, in Markdown.
  std::string_view details = {};
  // In words where the default depends on something else, or where absent means no value.
  std::string_view default_words = {};
  // Why the key must be there, for "missing; …"; empty: it need not.
  std::string_view missing = {};
  // Where the key has a meaning; printed there alone. Null: everywhere.
  bool (*applies)(const S& section) = nullptr;
  // The remark of `stdgate check` beside the value; empty: none. Null: there is never a remark.
  std::string (*remark)(const S& section) = nullptr;
};

// Specialised beside each table: kRows, kTitle (of the group in --help and in the reference).
template <class S>
struct OptionsOf;

// Any text will do.
inline constexpr TextRule kAnyText{[](std::string_view) { return true; }, {}};

template <class S, class T>
S section_of(std::vector<T> S::*);  // for decltype

// The type of an option whose member is a list of texts, or of a T. T has T::to_string() and
// T::parse(std::string_view), which gives an optional or expected T. `rule` is checked before
// T::parse().
//   {.key = "redact", .type = list_of<&LogConfig::redact>(), …}
template <auto Member>
constexpr auto list_of(TextRule rule = kAnyText, CountRange items = kAnyNumber) {
  using S = decltype(section_of(Member));
  using T = typename std::remove_cvref_t<decltype(std::declval<S>().*Member)>::value_type;
  List<S> list{};
  list.clear = [](S& out) { (out.*Member).clear(); };
  list.append = [](S& out, const std::string& text) {
    if constexpr (std::is_same_v<T, std::string>) {
      (out.*Member).push_back(text);
      return true;
    } else {
      auto item = T::parse(text);
      if (!item) return false;
      (out.*Member).push_back(*std::move(item));
      return true;
    }
  };
  list.texts = [](const S& section) {
    if constexpr (std::is_same_v<T, std::string>) {
      return section.*Member;
    } else {
      std::vector<std::string> texts;
      for (const T& item : section.*Member) texts.push_back(item.to_string());
      return texts;
    }
  };
  list.rule = rule;
  list.items = items;
  return list;
}

}  // namespace stdgate::config
