// The resolved configuration as YAML, for people and for parse_config().
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "gateway/base/encodings.h"
#include "gateway/config/config_parser.h"
#include "gateway/config/environment_variables.h"
#include "gateway/config/options/gateway_options.h"
#include "gateway/config/options/option_value.h"
#include "gateway/config/secret.h"

namespace stdgate::config {
namespace {

struct Printing {
  YAML::Emitter& out;
  const std::map<std::string, std::set<std::string>>& secrets;  // as in Config

  // Without what secret variables have brought into it.
  [[nodiscard]] std::string hidden(const std::string& value) const {
    const auto parts = secrets.find(value);
    return parts == secrets.end() ? value : hide_parts(value, parts->second);
  }
};

// A key of the user's own.
void print_key(const Printing& to, const std::string& name) {
  const bool is_ascii = std::all_of(name.begin(), name.end(), [](char c) { return c > 0; });
  to.out << YAML::Key << (is_ascii ? YAML::Auto : YAML::DoubleQuoted) << name << YAML::Value;
}

// Texts are always quoted, so that none can be taken for something else.
struct ValuePrinter {
  const Printing& to;

  void operator()(std::monostate) const {}
  void operator()(bool value) const { to.out << value; }
  void operator()(const Number& value) const { to.out << value.text; }
  void operator()(const Plain& value) const { to.out << value.text; }
  void operator()(const std::string& value) const {
    to.out << YAML::DoubleQuoted << escape_variables(to.hidden(value));
  }
  // The keys are the user's own.
  void operator()(const std::map<std::string, std::string>& values) const {
    to.out << YAML::BeginMap;
    for (const auto& [name, value] : values) {
      print_key(to, name);
      (*this)(value);
    }
    to.out << YAML::EndMap;
  }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    to.out << YAML::Flow << YAML::BeginSeq;
    for (const T& value : values) (*this)(value);
    to.out << YAML::EndSeq;
  }
};

template <class S>
void print_section(const Printing& to, const S& section);

void print_value(const Printing& to, std::string_view key, const OptionValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return;
  to.out << YAML::Key << std::string(key) << YAML::Value;
  std::visit(ValuePrinter{to}, value);
}

// One that names the principal is shown as it is written: nothing in it has been expanded.
void print_source(const Printing& to, const VariableSource& source) {
  const std::string text = source.of_principal ? source.text : escape_variables(source.text);
  if (source.is_file) {
    to.out << YAML::Flow << YAML::BeginMap << YAML::Key << "file" << YAML::Value
           << YAML::DoubleQuoted << text << YAML::EndMap;
  } else {
    to.out << YAML::DoubleQuoted << text;
  }
}

template <class S, class Type>
void print_option(const Printing& to, const Option<S>& option, const Type& type, const S& section) {
  print_value(to, option.key, value_of(type, section));
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const Command<S>& type,
                  const S& section) {
  std::vector<std::string> shown;
  for (const std::string& argument : section.*type.member) shown.push_back(to.hidden(argument));
  print_value(to, option.key, hide_secret_arguments(shown));
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const Variables<S>& type,
                  const S& section) {
  const auto& sources = section.*type.sources;
  std::map<std::string, const VariableSource*> shown;
  for (const auto& [name, value] : section.*type.values) shown.emplace(name, nullptr);
  for (const auto& [name, source] : sources) shown[name] = &source;
  if (shown.empty()) return;
  to.out << YAML::Key << std::string(option.key) << YAML::Value << YAML::BeginMap;
  for (const auto& [name, source] : shown) {
    print_key(to, name);
    if (source == nullptr) {
      const std::string& value = (section.*type.values).find(name)->second;
      ValuePrinter{to}(type.shown == Shown::hidden ? std::string(kHidden)
                                                   : hide_secret_variable(name, to.hidden(value)));
    } else {
      print_source(to, *source);
    }
  }
  to.out << YAML::EndMap;
}

// The names of what the files set; the values are not shown.
template <class S>
void print_option(const Printing& to, const Option<S>& option, const EnvFiles<S>& type,
                  const S& section) {
  if ((section.*type.files).empty()) return;
  print_value(to, option.key, section.*type.files);
  std::string names;
  for (const auto& [name, value] : section.*type.variables) {
    names += (names.empty() ? "" : ", ") + name;
  }
  to.out << YAML::Comment("sets " + (names.empty() ? "nothing" : names) +
                          " (values are not shown)");
}

// Whether more than the address is said of it.
bool is_map(const ListenerConfig& listener) {
  return listener.tls.is_used() || listener.anonymous || !listener.roles.empty();
}

void print_listener(const Printing& to, const ListenerConfig& listener) {
  if (!is_map(listener)) return ValuePrinter{to}(listener.address);
  to.out << YAML::BeginMap << YAML::Key << "address" << YAML::Value;
  ValuePrinter{to}(listener.address);
  if (listener.tls.is_used()) {
    to.out << YAML::Key << "tls" << YAML::Value << YAML::BeginMap;
    print_section(to, listener.tls);
    to.out << YAML::EndMap;
  }
  if (listener.anonymous) print_value(to, "anonymous", true);
  if (!listener.roles.empty()) print_value(to, "roles", listener.roles);
  to.out << YAML::EndMap;
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const ListenAddress<S>& type,
                  const S& section) {
  if (!is_map(section.*type.member)) {
    return print_value(to, option.key, value_of(type, section));
  }
  to.out << YAML::Key << std::string(option.key) << YAML::Value;
  print_listener(to, section.*type.member);
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const ListenAddresses<S>& type,
                  const S& section) {
  const auto& listeners = section.*type.member;
  if (std::ranges::none_of(listeners, is_map)) {
    return print_value(to, option.key, value_of(type, section));
  }
  to.out << YAML::Key << std::string(option.key) << YAML::Value << YAML::BeginSeq;
  for (const ListenerConfig& listener : listeners) print_listener(to, listener);
  to.out << YAML::EndSeq;
}

void print_key_file(const Printing& to, std::string_view key, const std::string& file,
                    size_t count) {
  if (file.empty()) return;
  print_value(to, key, file);
  to.out << YAML::Comment(std::to_string(count) + (count == 1 ? " key" : " keys"));
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const KeyFile<S>& type,
                  const S& section) {
  print_key_file(to, option.key, section.*type.file, (section.*type.keys).size());
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const ApiKeyFile<S>& type,
                  const S& section) {
  print_key_file(to, option.key, section.*type.file, (section.*type.keys).size());
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const TextLists<S>& type,
                  const S& section) {
  to.out << YAML::Key << std::string(option.key) << YAML::Value << YAML::BeginMap;
  for (const auto& [name, texts] : section.*type.member) {
    to.out << YAML::Key << YAML::DoubleQuoted << name << YAML::Value;
    ValuePrinter{to}(texts);
  }
  to.out << YAML::EndMap;
}

// Prints a JSON value as YAML.
void print_json(const Printing& to, const YAML::Node& node) {
  if (node.IsMap()) {
    to.out << YAML::Flow << YAML::BeginMap;
    for (const auto& entry : node) {
      to.out << YAML::Key << YAML::DoubleQuoted << entry.first.Scalar() << YAML::Value;
      print_json(to, entry.second);
    }
    to.out << YAML::EndMap;
  } else if (node.IsSequence()) {
    to.out << YAML::Flow << YAML::BeginSeq;
    for (const auto& item : node) print_json(to, item);
    to.out << YAML::EndSeq;
  } else if (node.IsScalar() && node.Tag() == "!") {
    ValuePrinter{to}(node.Scalar());
  } else if (node.IsScalar()) {
    to.out << node.Scalar();
  } else {
    to.out << YAML::Null;
  }
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const Arguments<S>& type,
                  const S& section) {
  if ((section.*type.member).empty()) return;
  to.out << YAML::Key << std::string(option.key) << YAML::Value << YAML::BeginMap;
  for (const auto& [tool, arguments] : section.*type.member) {
    print_key(to, tool);
    to.out << YAML::BeginMap;
    for (const auto& [name, value] : arguments) {
      print_key(to, name);
      print_json(to, YAML::Load(value));
    }
    to.out << YAML::EndMap;
  }
  to.out << YAML::EndMap;
}

template <class S>
bool has_items(const Option<S>& option, const S& section) {
  const auto* const items = std::get_if<Items<S>>(&option.type);
  if (items == nullptr) return false;
  return visit_member(*items, [&](auto member) { return !(section.*member).empty(); });
}

template <class S>
bool has_values(const S& section) {
  return std::ranges::any_of(OptionsOf<S>::kRows, [&](const Option<S>& option) {
    if (option.applies != nullptr && !option.applies(section)) return false;
    return !std::holds_alternative<std::monostate>(value_of(option, section));
  });
}

template <class S>
bool is_printed(const S& section) {
  if constexpr (std::is_same_v<S, MemberToolsConfig> || std::is_same_v<S, SelectionConfig> ||
                std::is_same_v<S, CheckConfig>) {
    return section != S();
  } else if constexpr (std::is_same_v<S, SearchConfig>) {
    return true;
  } else if constexpr (std::is_same_v<S, MtlsConfig> || std::is_same_v<S, FilesystemConfig>) {
    return section.used;  // that it is there says something
  } else if constexpr (std::is_same_v<S, AuthConfig> || std::is_same_v<S, AuditConfig> ||
                       std::is_same_v<S, TracesConfig>) {
    return section.is_used();
  } else {
    return has_values(section);
  }
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const Part<S>& type,
                  const S& section) {
  visit_member(type, [&](auto member) {
    if (!is_printed(section.*member)) return;
    to.out << YAML::Key << std::string(option.key) << YAML::Value << YAML::BeginMap;
    print_section(to, section.*member);
    to.out << YAML::EndMap;
  });
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const WordOrPart<S>& type,
                  const S& section) {
  const OptionValue word = value_of(type, section);
  if (!std::holds_alternative<std::monostate>(word)) return print_value(to, option.key, word);
  to.out << YAML::Key << std::string(option.key) << YAML::Value << YAML::BeginMap;
  visit_member(type, [&](auto member) { print_section(to, section.*member); });
  to.out << YAML::EndMap;
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const Items<S>& type,
                  const S& section) {
  if (!has_items(option, section)) return;
  to.out << YAML::Key << std::string(option.key) << YAML::Value << YAML::BeginSeq;
  visit_member(type, [&](auto member) {
    for (const auto& item : section.*member) {
      to.out << YAML::BeginMap;
      print_section(to, item);
      to.out << YAML::EndMap;
    }
  });
  to.out << YAML::EndSeq;
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const NamedItems<S>& type,
                  const S& section) {
  visit_member(type, [&](auto member) {
    if ((section.*member).empty()) return;
    to.out << YAML::Key << std::string(option.key) << YAML::Value << YAML::BeginMap;
    for (const auto& named : section.*member) {
      to.out << YAML::Key << YAML::DoubleQuoted << named.name << YAML::Value << YAML::BeginMap;
      print_section(to, named);
      to.out << YAML::EndMap;
    }
    to.out << YAML::EndMap;
  });
}

template <class S>
void print_option(const Printing& to, const Option<S>& option, const Backends<S>& type,
                  const S& section) {
  to.out << YAML::Key << std::string(option.key) << YAML::Value << YAML::BeginMap;
  for (const BackendConfig& backend : section.*type.member) {
    to.out << YAML::Key << backend.name << YAML::Value << YAML::BeginMap;
    print_section(to, backend);
    to.out << YAML::EndMap;
  }
  to.out << YAML::EndMap;
}

template <class S>
void print_row(const Printing& to, const Option<S>& option, const S& section) {
  if (option.applies != nullptr && !option.applies(section)) return;
  visit_type(option, [&](const auto& type) { print_option(to, option, type, section); });
  if (option.remark == nullptr) return;
  if (const std::string remark = option.remark(section); !remark.empty()) {
    to.out << YAML::Comment(remark);
  }
}

template <class S>
void print_section(const Printing& to, const S& section) {
  for (const Option<S>& option : OptionsOf<S>::kRows) print_row(to, option, section);
}

// Backends come before the sections, as people look for them first.
void print_root(const Printing& to, const Config& config) {
  for (const bool sections : {false, true}) {
    for (const Option<Config>& option : OptionsOf<Config>::kRows) {
      if (std::holds_alternative<Part<Config>>(option.type) == sections) {
        print_row(to, option, config);
      }
    }
  }
}

}  // namespace

std::string print_config(const Config& config) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  print_root({out, config.secrets}, config);
  out << YAML::EndMap << YAML::Newline;
  // YAML takes these escapes within double quotes, and nothing else here has such characters.
  return visible(out.c_str(), VisibleText::lines);
}

}  // namespace stdgate::config
