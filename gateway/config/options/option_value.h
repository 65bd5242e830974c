// An option's value as it is written: by `stdgate check`, and as a default by --help, the schema
// and the reference. Nothing is hidden here; config_printer.cc does that.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <variant>

#include "gateway/base/check.h"
#include "gateway/config/environment_variables.h"
#include "gateway/config/options/option.h"
#include "gateway/config/options/option_rules.h"
#include "gateway/config/value_names.h"
#include "gateway/config/value_parser.h"

namespace stdgate::config {

// visit_type(), visit_member(): std::visit() for rows of options, compiled for no more than the
// tables use.
//
// For each section std::visit() would compile every type of option with every member it may have,
// though hardly any row has such a pair: that took minutes. All calls of a visitor give the same
// type.
namespace detail {

// A bit for each alternative of a variant that occurs.
using Used = uint32_t;

template <Used kUsed, class Variant, class Visitor>
auto visit_used(const Variant& variant, Visitor& visitor) {
  static_assert(kUsed != 0 && std::variant_size_v<Variant> <= 32);
  constexpr Used kOthers = kUsed & (kUsed - 1);
  constexpr size_t kIndex = std::countr_zero(kUsed);
  if constexpr (kOthers != 0) {
    if (variant.index() != kIndex) return visit_used<kOthers>(variant, visitor);
  }
  const auto* const alternative = std::get_if<kIndex>(&variant);
  STDGATE_CHECK(alternative != nullptr);
  return visitor(*alternative);
}

template <class S>
constexpr Used used_types() {
  Used used = 0;
  for (const Option<S>& option : OptionsOf<S>::kRows) used |= Used{1} << option.type.index();
  return used;
}

template <class S, class Type>
constexpr Used used_members() {
  Used used = 0;
  for (const Option<S>& option : OptionsOf<S>::kRows) {
    // Not std::get_if(): g++ 12 takes it for no constant expression under its sanitizers (GCC bug
    // 71962).
    if (!std::holds_alternative<Type>(option.type)) continue;
    used |= Used{1} << std::get<Type>(option.type).member.index();
  }
  return used;
}

}  // namespace detail

// Calls `visitor` with the type of a row of OptionsOf<S>::kRows.
template <class S, class Visitor>
auto visit_type(const Option<S>& option, Visitor&& visitor) {
  return detail::visit_used<detail::used_types<S>()>(option.type, visitor);
}

// Calls `visitor` with the member pointer that the type of a row holds, one with several kinds of
// members: Count, Word, Part, …
template <template <class> class Type, class S, class Visitor>
auto visit_member(const Type<S>& type, Visitor&& visitor) {
  return detail::visit_used<detail::used_members<S, Type<S>>()>(type.member, visitor);
}

// Digits.
struct Number {
  std::string text;
};
// A word, size or duration; needs no quotes in YAML.
struct Plain {
  std::string text;
};
// Nothing: left out.
using OptionValue =
    std::variant<std::monostate, bool, Number, Plain, std::string, std::vector<Number>,
                 std::vector<std::string>, std::map<std::string, std::string>>;

// "16", "newline", "PATH, HOME"; empty for nothing and for what is empty.
std::string text_of(const OptionValue& value);
// As YAML on one line: "16", "\"127.0.0.1:9464\"", "[\"PATH\", \"HOME\"]".
std::string yaml_of(const OptionValue& value);

template <class S>
OptionValue value_of(const Count<S>& type, const S& section) {
  return visit_member(type, [&](auto member) -> OptionValue {
    if constexpr (std::is_same_v<decltype(member), std::optional<uint64_t> S::*>) {
      if (!(section.*member)) return {};
      return Number{std::to_string(*(section.*member))};
    } else {
      return Number{std::to_string(section.*member)};
    }
  });
}

template <class S>
OptionValue value_of(const Size<S>& type, const S& section) {
  return visit_member(type, [&](auto member) -> OptionValue {
    if constexpr (std::is_same_v<decltype(member), std::optional<uint64_t> S::*>) {
      if (!(section.*member)) return {};
      return Plain{print_size(*(section.*member))};
    } else {
      return Plain{print_size(section.*member)};
    }
  });
}

template <class S>
OptionValue value_of(const Time<S>& type, const S& section) {
  return Plain{print_duration(section.*type.member)};
}

template <class S>
OptionValue value_of(const Ratio<S>& type, const S& section) {
  return Number{print_decimal(section.*type.member)};
}

template <class S>
OptionValue value_of(const Seconds<S>& type, const S& section) {
  const std::optional<uint64_t>& seconds = section.*type.member;
  if (!seconds) return {};
  return Plain{print_duration(std::chrono::seconds(static_cast<int64_t>(*seconds)))};
}

template <class S>
OptionValue value_of(const PerTime<S>& type, const S& section) {
  const Rate& rate = section.*type.member;
  if (rate.count == 0) return {};
  return Plain{print_rate(rate)};
}

template <class S>
OptionValue value_of(const Switch<S>& type, const S& section) {
  return section.*type.member;
}

template <class S>
OptionValue value_of(const Text<S>& type, const S& section) {
  const std::string& text = section.*type.member;
  if (text.empty() && type.empty == EmptyText::left_out) return {};
  return text;
}

template <class S>
OptionValue value_of(const Word<S>& type, const S& section) {
  return visit_member(type, [&](auto member) -> OptionValue {
    return Plain{std::string(name_of(section.*member))};
  });
}

template <class S>
OptionValue value_of(const List<S>& type, const S& section) {
  return type.texts(section);
}

template <class S>
OptionValue value_of(const Variables<S>& type, const S& section) {
  if ((section.*type.values).empty()) return {};
  return section.*type.values;
}

template <class S>
OptionValue value_of(const EnvFiles<S>& type, const S& section) {
  if ((section.*type.files).empty()) return {};
  return section.*type.files;
}

template <class S>
OptionValue value_of(const KeyFile<S>& type, const S& section) {
  const std::string& file = section.*type.file;
  return file.empty() ? OptionValue() : file;
}

template <class S>
OptionValue value_of(const ApiKeyFile<S>& type, const S& section) {
  const std::string& file = section.*type.file;
  return file.empty() ? OptionValue() : file;
}

template <class S>
OptionValue value_of(const Inherited<S>& type, const S& section) {
  return inherited_entries(section.*type.member);
}

template <class S>
OptionValue value_of(const Command<S>& type, const S& section) {
  return section.*type.member;
}

template <class S>
OptionValue value_of(const Paths<S>& type, const S& section) {
  if ((section.*type.member).empty()) return {};
  return section.*type.member;
}

// Without what else is said of a listener.
template <class S>
OptionValue value_of(const ListenAddress<S>& type, const S& section) {
  const std::string& address = (section.*type.member).address;
  return address.empty() ? std::string(type.none) : address;
}

template <class S>
OptionValue value_of(const ListenAddresses<S>& type, const S& section) {
  std::vector<std::string> addresses;
  for (const ListenerConfig& listener : section.*type.member) addresses.push_back(listener.address);
  return addresses;
}

template <class S>
OptionValue value_of(const Buckets<S>& type, const S& section) {
  std::vector<Number> numbers;
  for (const double bound : section.*type.member) numbers.push_back({print_decimal(bound)});
  return numbers;
}

// The word for it; nothing: none.
template <class S>
OptionValue value_of(const WordOrPart<S>& type, const S& section) {
  return visit_member(type, [&](auto member) -> OptionValue {
    for (const auto& word : words_of(section.*member)) {
      if (word.value == section.*member) return Plain{std::string(word.name)};
    }
    return {};
  });
}

// The name of the file.
template <class S>
OptionValue value_of(const FileText<S>& type, const S& section) {
  const std::string& file = section.*type.file;
  return file.empty() ? OptionValue() : file;
}

// Printed and described in a way of its own.
template <class S>
OptionValue value_of(const TextLists<S>&, const S&) {
  return {};
}

template <class S>
OptionValue value_of(const TextMap<S>& type, const S& section) {
  if ((section.*type.member).empty()) return {};
  return section.*type.member;
}
template <class S>
OptionValue value_of(const Arguments<S>&, const S&) {
  return {};
}

// These have options instead of a value.
template <class S>
OptionValue value_of(const Items<S>&, const S&) {
  return {};
}
template <class S>
OptionValue value_of(const NamedItems<S>&, const S&) {
  return {};
}
template <class S>
OptionValue value_of(const Part<S>&, const S&) {
  return {};
}
template <class S>
OptionValue value_of(const Backends<S>&, const S&) {
  return {};
}

template <class S>
OptionValue value_of(const Option<S>& option, const S& section) {
  return visit_type(option, [&](const auto& type) { return value_of(type, section); });
}

}  // namespace stdgate::config
