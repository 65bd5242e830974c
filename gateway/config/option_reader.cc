// The options of a YAML tree: one overload of read() for each type of option. Each gives false
// after an error, which has been recorded then.
#include "gateway/config/option_reader.h"

#include <algorithm>
#include <set>

#include "gateway/config/backend_facts.h"
#include "gateway/config/config_files.h"
#include "gateway/config/environment_variables.h"
#include "gateway/config/foreign_keys.h"
#include "gateway/config/options/gateway_options.h"
#include "gateway/config/options/option_rules.h"
#include "gateway/config/options/option_value.h"
#include "gateway/config/value_names.h"
#include "gateway/config/value_parser.h"

namespace stdgate::config {
namespace {

template <class S>
void read_section(Section& section, S& out);

template <class Type, class S>
void assign(uint64_t number, const Type& type, S& out) {
  visit_member(type, [&](auto member) {
    using T = std::remove_cvref_t<decltype(out.*member)>;
    out.*member = static_cast<T>(number);
  });
}

template <class S>
bool read(const Count<S>& type, const Value& value, Section&, S& out) {
  const auto count = value.count(type.range);
  if (count) assign(*count, type, out);
  return count.has_value();
}

template <class S>
bool read(const Ratio<S>& type, const Value& value, Section&, S& out) {
  const auto ratio = value.decimal();
  if (!ratio) return false;
  out.*type.member = *ratio;
  if (*ratio >= 0 && *ratio <= 1) return true;
  value.fail("expected a number from 0 to 1, found " + value.found());
  return false;
}

template <class S>
bool read(const Size<S>& type, const Value& value, Section&, S& out) {
  const auto size = value.size(type.range);
  if (size) assign(*size, type, out);
  return size.has_value();
}

template <class S>
bool read(const Time<S>& type, const Value& value, Section&, S& out) {
  const auto duration = value.duration(type.range);
  if (duration) out.*type.member = *duration;
  return duration.has_value();
}

template <class S>
bool read(const Seconds<S>& type, const Value& value, Section&, S& out) {
  const auto duration = value.duration(type.range);
  if (!duration) return false;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*duration);
  out.*type.member = static_cast<uint64_t>(seconds.count());
  if (seconds == *duration) return true;
  value.fail("must be whole seconds");
  return false;
}

template <class S>
bool read(const PerTime<S>& type, const Value& value, Section&, S& out) {
  const auto text = value.text();
  if (!text) return false;
  const auto rate = parse_rate(*text);
  if (!rate) {
    value.fail("expected a rate of 1 to 1000000, written like 20/s, 100/m or 5000/h; found " +
               value.found());
    return false;
  }
  out.*type.member = *rate;
  return true;
}

template <class S>
bool read(const Switch<S>& type, const Value& value, Section&, S& out) {
  const auto flag = value.flag();
  if (flag) out.*type.member = *flag;
  return flag.has_value();
}

template <class S>
bool read(const Text<S>& type, const Value& value, Section&, S& out) {
  auto text = type.kind == TextKind::path ? value.path_text() : value.text();
  if (!text) return false;
  out.*type.member = *std::move(text);
  return true;
}

template <class S>
bool read(const Word<S>& type, const Value& value, Section&, S& out) {
  const auto text = value.text();
  if (!text) return false;
  return visit_member(type, [&](auto member) {
    using Enum = std::remove_cvref_t<decltype(out.*member)>;
    for (const Named<Enum>& word : names_of(Enum())) {
      if (word.name != *text) continue;
      out.*member = word.value;
      return true;
    }
    value.fail("expected one of " + words_of<Enum>() + "; found '" + *text + "'");
    return false;
  });
}

template <class S>
bool read(const List<S>& type, const Value& value, Section&, S& out) {
  const auto items = value.list();
  if (!items) return false;
  if (items->size() < type.items.min || items->size() > type.items.max) {
    const std::string max = std::to_string(type.items.max) + " items";
    value.fail(type.items.min == 0 ? "expected at most " + max
                                   : "expected " + std::to_string(type.items.min) + " to " + max);
    return false;
  }
  type.clear(out);
  bool good = true;
  for (const Value& item : *items) {
    const auto text = item.text();
    if (text && type.rule.accepts(*text) && type.append(out, *text)) continue;
    good = false;
    if (text) {
      item.fail("expected " + std::string(type.rule.expected) + "; found " + item.found());
    }
  }
  return good;
}

template <class S>
bool read(const Variables<S>& type, const Value& value, Section&, S& out) {
  const auto entries = value.entries();
  if (!entries) return false;
  bool good = true;
  for (const Value& entry : *entries) {
    if (!type.names.accepts(entry.name())) {
      entry.fail_at_key(std::string(type.names.expected));
      good = false;
    }
    good = read_variable(entry, out.*type.values, out.*type.sources) && good;
  }
  return good;
}

template <class S>
bool read(const TextLists<S>& type, const Value& value, Section&, S& out) {
  return read_text_lists(value, type.most, type.texts, out.*type.member);
}

template <class S>
bool read(const TextMap<S>& type, const Value& value, Section&, S& out) {
  return read_texts(value, type.most, out.*type.member);
}

template <class S>
bool read(const Arguments<S>& type, const Value& value, Section&, S& out) {
  return read_arguments(value, type.most, out.*type.member);
}

template <class S>
bool read(const EnvFiles<S>& type, const Value& value, Section&, S& out) {
  return read_env_files(value, type.max_files, out.*type.files, out.*type.variables);
}

// A file of keys, one a line, which `parse` reads.
template <class Parse, class Keys>
bool read_key_file(const Value& value, Parse&& parse, std::string& out_file, Keys& out_keys) {
  auto file = value.path_text();
  if (!file) return false;
  if (file->empty()) {
    value.fail("expected the path of a file");
    return false;
  }
  const auto content = value.read_file(*file, kMaxKeyFile);
  if (!content) return false;
  auto keys = parse(*content);
  if (!keys) {
    value.fail(keys.error().to_string(*file));
    return false;
  }
  out_file = *std::move(file);
  out_keys = *std::move(keys);
  return true;
}

template <class S>
bool read(const KeyFile<S>& type, const Value& value, Section&, S& out) {
  return read_key_file(value, parse_key_file, out.*type.file, out.*type.keys);
}

template <class S>
bool read(const ApiKeyFile<S>& type, const Value& value, Section&, S& out) {
  return read_key_file(value, parse_api_key_file, out.*type.file, out.*type.keys);
}

template <class S>
bool read(const FileText<S>& type, const Value& value, Section&, S& out) {
  auto file = value.path_text();
  if (!file) return false;
  if (file->empty()) {
    value.fail("expected the path of a file");
    return false;
  }
  auto content = value.read_file(*file, kMaxTextFile);
  if (!content) return false;
  out.*type.file = *std::move(file);
  out.*type.content = *std::move(content);
  return true;
}

template <class S>
bool read(const Inherited<S>& type, const Value& value, Section&, S& out) {
  return read_inherited(value, out.*type.member);
}

template <class S>
bool read(const Command<S>& type, const Value& value, Section& section, S& out) {
  if (const auto line = command_with_args(section); value.is_scalar() && line) {
    value.fail("expected a list of the program and its arguments. Write " + *line);
    return false;
  }
  if (value.is_scalar()) {
    // As it is written: a variable may be a secret.
    value.fail("expected a list, found a text; no shell splits it. Write: " +
               list_form(value.spelled()));
    return false;
  }
  auto command = value.texts();
  if (!command) return false;
  if (command->empty() || command->front().empty()) {
    value.fail("must start with the program to run");
    return false;
  }
  if (const std::string wrong = wrong_with_path(command->front()); !wrong.empty()) {
    value.fail(wrong);
    return false;
  }
  out.*type.member = *std::move(command);
  return true;
}

template <class S>
bool read(const ListenAddress<S>& type, const Value& value, Section&, S& out) {
  ListenerConfig& listener = out.*type.member;
  listener = {};
  if (value.is_map()) return read_listener_map(value, nullptr, listener);
  auto text = value.text();
  if (!text) return false;
  if (*text == type.none) return true;
  const bool good = check_address(value, *text, nullptr);
  listener.address = *std::move(text);
  return good;
}

template <class S>
bool read(const ListenAddresses<S>& type, const Value& value, Section&, S& out) {
  auto items = value.is_scalar() ? std::vector<Value>{value} : value.list();
  (out.*type.member).clear();
  if (!items) return false;
  bool good = items->size() >= type.items.min && items->size() <= type.items.max;
  if (!good) {
    value.fail("expected " + std::to_string(type.items.min) + " to " +
               std::to_string(type.items.max) + " addresses");
  }
  std::set<std::string> used;
  for (const Value& item : *items) {
    good = read_listener(item, &used, (out.*type.member).emplace_back()) && good;
  }
  return good;
}

template <class S>
bool read(const Paths<S>& type, const Value& value, Section&, S& out) {
  const auto items = value.is_scalar() ? std::vector<Value>{value} : value.list();
  if (!items) return false;
  (out.*type.member).clear();
  bool good = items->size() >= type.items.min && items->size() <= type.items.max;
  if (!good) {
    value.fail("expected " + std::to_string(type.items.min) + " to " +
               std::to_string(type.items.max) + " files");
  }
  for (const Value& item : *items) {
    auto text = item.path_text();
    if (text && text->empty()) item.fail("expected the name of a file");
    good = good && text && !text->empty();
    if (text) (out.*type.member).push_back(*std::move(text));
  }
  return good;
}

template <class S>
bool read(const Buckets<S>& type, const Value& value, Section&, S& out) {
  const auto items = value.list();
  if (!items) return false;
  if (items->size() < type.items.min || items->size() > type.items.max) {
    value.fail("expected " + std::to_string(type.items.min) + " to " +
               std::to_string(type.items.max) + " numbers of seconds");
    return false;
  }
  (out.*type.member).clear();
  double last = 0;
  for (const Value& item : *items) {
    const auto seconds = item.decimal();
    if (!seconds) continue;
    if (*seconds <= last || *seconds > type.max) {
      item.fail("expected seconds above " + print_decimal(last) + ", at most " +
                print_decimal(type.max) + ", found " + item.found());
    } else {
      last = *seconds;
      (out.*type.member).push_back(last);
    }
  }
  return (out.*type.member).size() == items->size();
}

// "NAME: { one: true, other: true }", of a section that has nothing but switches; empty: of others.
template <class P>
std::string switches_of(const std::string& name, const P& /*section*/) {
  std::string text;
  for (const Option<P>& option : OptionsOf<P>::kRows) {
    if (!std::holds_alternative<Switch<P>>(option.type)) return {};
    text.append(text.empty() ? "" : ", ").append(option.key).append(": true");
  }
  return name + ": { " + text + " }";
}

template <class S>
bool read(const Part<S>& type, const Value& value, Section& section, S& out) {
  if (value.is_scalar()) {
    std::string example =
        visit_member(type, [&](auto member) { return switches_of(value.name(), out.*member); });
    if (example.empty() && value.found() == "'true'") example = value.name() + ": {}";
    if (!example.empty()) {
      value.fail("expected its keys, as in " + example + ", found " + value.found());
      return false;
    }
  }
  Section part(value);
  visit_member(type, [&](auto member) { read_section(part, out.*member); });
  section.add_part(std::move(part));
  return true;
}

// "; write NAME: { word: {} }", if the word is one of a section's keys; else empty.
template <class P>
std::string map_with(const std::string& name, const std::string& word, const P& /*section*/) {
  for (const Option<P>& option : OptionsOf<P>::kRows) {
    if (option.key != word) continue;
    const bool is_part = std::holds_alternative<Part<P>>(option.type);
    std::string text = "; write " + name;
    return text.append(": { ").append(word).append(": ").append(is_part ? "{} }" : "… }");
  }
  return {};
}

template <class T>
bool read_word(const Value& value, T& out) {
  const auto text = value.text();
  if (!text) return false;
  std::string expected;
  for (const Named<T>& word : words_of(out)) {
    if (word.name == *text) {
      out = word.value;
      return true;
    }
    expected += std::string(word.name) + ", ";
  }
  value.fail("expected " + expected + "or a map; found '" + *text + "'" +
             map_with(value.name(), *text, out));
  return false;
}

template <class S>
bool read(const WordOrPart<S>& type, const Value& value, Section& section, S& out) {
  return visit_member(type, [&](auto member) {
    if (value.is_scalar()) return read_word(value, out.*member);
    Section part(value);
    begin_section(out.*member);
    read_section(part, out.*member);
    section.add_part(std::move(part));
    return true;
  });
}

template <class S>
bool read(const Items<S>& type, const Value& value, Section&, S& out) {
  const auto items = value.list();
  if (!items) return false;
  if (items->size() < type.items.min || items->size() > type.items.max) {
    value.fail("expected " + std::to_string(type.items.min) + " to " +
               std::to_string(type.items.max) + " items");
    return false;
  }
  visit_member(type, [&](auto member) {
    (out.*member).clear();
    for (const Value& item : *items) {
      auto& read_item = (out.*member).emplace_back();
      if constexpr (requires { read_short(item, read_item); }) {
        if (item.is_scalar()) {
          read_short(item, read_item);
          continue;
        }
      }
      Section part(item);
      read_section(part, read_item);
      if constexpr (requires { complete_item(part, read_item); }) complete_item(part, read_item);
    }
  });
  return true;
}

template <class S>
bool read(const NamedItems<S>& type, const Value& value, Section& section, S& out) {
  Section part(value);
  if (!part.entries()) return false;
  const std::vector<Value>& entries = *part.entries();
  if (entries.size() > type.most) {
    value.fail_at_key("at most " + std::to_string(type.most) + " of them");
    return false;
  }
  visit_member(type, [&](auto member) {
    for (const Value& entry : entries) {
      if (!type.names.accepts(entry.name())) {
        entry.fail_at_key("expected " + std::string(type.names.expected));
      }
      auto& named = (out.*member).emplace_back();
      named.name = entry.name();
      Section named_section(entry);
      read_section(named_section, named);
      part.add_part(std::move(named_section));
    }
  });
  section.add_part(std::move(part));
  return true;
}

template <class S>
bool read(const Backends<S>& type, const Value& value, Section& section, S& out) {
  Section part(value);
  if (!part.entries()) return false;
  const std::vector<Value>& entries = *part.entries();
  if (entries.empty()) value.fail_at_key("expected at least one backend");
  if (entries.size() > kMaxBackends) {
    value.fail_at_key("at most " + std::to_string(kMaxBackends) + " backends");
    return false;
  }
  for (const Value& entry : entries) {
    const auto name = check_backend_name(entry.name());
    if (!name) entry.fail_at_key(name.error());
    BackendConfig& backend = (out.*type.member).emplace_back();
    backend.name = entry.name();
    backend.is_default = backend.is_required = entries.size() == 1;
    Section backend_section(entry);
    read_section(backend_section, backend);
    part.add_part(std::move(backend_section));
  }
  section.add_part(std::move(part));
  return true;
}

template <class S>
void read_section(Section& section, S& out) {
  for (const Option<S>& option : OptionsOf<S>::kRows) {
    const std::optional<Value> value = section.find(option.key);
    if (!value) {
      if (!option.missing.empty()) {
        section.fail(option.key, "missing; " + std::string(option.missing));
      }
      continue;
    }
    const bool good =
        visit_type(option, [&](const auto& type) { return read(type, *value, section, out); });
    if (!good) section.mark_failed(option.key);
  }
  section.finish();
}

}  // namespace

void read_options(Section& root, Config& out) { read_section(root, out); }

void read_options(Section& section, TlsConfig& out) { read_section(section, out); }

}  // namespace stdgate::config
