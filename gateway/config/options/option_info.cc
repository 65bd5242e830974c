// The tables of options as plain values: one overload of describe() for each type of option.
#include "gateway/config/options/option_info.h"

#include <algorithm>

#include "gateway/config/options/gateway_options.h"
#include "gateway/config/options/option_value.h"

namespace stdgate::config {
namespace {

using Kind = OptionInfo::Kind;

template <class S>
void describe_section(const S& defaults, OptionInfo& out);

template <class S>
void describe(const Count<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::count;
  out.range = type.range;
  out.least = std::to_string(type.range.min);
  out.greatest = std::to_string(type.range.max);
}

template <class S>
void describe(const Size<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::size;
  out.range = {type.range.min, type.range.max};
  out.least = print_size(type.range.min);
  out.greatest = print_size(type.range.max);
}

void describe_duration(const DurationRange& range, OptionInfo& out) {
  out.kind = Kind::duration;
  out.least = print_duration(range.min);
  out.greatest = print_duration(range.max);
}

template <class S>
void describe(const Time<S>& type, const S&, OptionInfo& out) {
  describe_duration(type.range, out);
}

template <class S>
void describe(const Seconds<S>& type, const S&, OptionInfo& out) {
  describe_duration(type.range, out);
}

template <class S>
void describe(const PerTime<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::rate;
}

template <class S>
void describe(const Switch<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::boolean;
}

template <class S>
void describe(const Ratio<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::ratio;
}

template <class S>
void describe(const Text<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::text;
}

template <class S>
void describe(const Word<S>& type, const S& defaults, OptionInfo& out) {
  out.kind = Kind::word;
  visit_member(type, [&](auto member) {
    for (const auto& word : names_of(defaults.*member)) out.words.emplace_back(word.name);
  });
}

template <class S>
void describe(const List<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::texts;
  out.range = type.items;
}

template <class S>
void describe(const Variables<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::variables;
}

template <class S>
void describe(const EnvFiles<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::files;
  out.range = {0, type.max_files};
}

template <class S>
void describe(const KeyFile<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::text;
}

template <class S>
void describe(const ApiKeyFile<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::text;
}

template <class S>
void describe(const TextLists<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::text_lists;
  out.range = {0, type.most};
}

template <class S>
void describe(const TextMap<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::text_map;
  out.range = {0, type.most};
}

template <class S>
void describe(const Arguments<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::arguments;
  out.range = {0, type.most};
}

template <class S>
void describe(const FileText<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::text;
}

template <class S>
void describe(const Paths<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::files;
  out.range = type.items;
}

template <class S>
void describe(const Inherited<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::inherited;
  out.range = kAnyNumber;
}

template <class S>
void describe(const Command<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::command;
}

template <class S>
void describe(const ListenAddress<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::address;
}

template <class S>
void describe(const ListenAddresses<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::addresses;
  out.range = type.items;
}

template <class S>
void describe(const Buckets<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::numbers;
  out.range = type.items;
  out.least = "0";
  out.greatest = print_decimal(type.max);
}

template <class S>
void describe(const Part<S>& type, const S& defaults, OptionInfo& out) {
  out.kind = Kind::section;
  visit_member(type, [&](auto member) { describe_section(defaults.*member, out); });
}

template <class S>
void describe(const WordOrPart<S>& type, const S& defaults, OptionInfo& out) {
  out.kind = Kind::word_or_section;
  visit_member(type, [&](auto member) {
    for (const auto& word : words_of(defaults.*member)) out.words.emplace_back(word.name);
    describe_section(defaults.*member, out);
  });
}

// The keys of each T of several.
template <class T>
void describe_each(std::string_view step, OptionInfo& out) {
  OptionInfo each;
  each.path = out.path;
  each.path.emplace_back(step);
  const T defaults;  // g++ 12 fails on a temporary in the next line
  describe_section(defaults, each);
  out.path = std::move(each.path);
  out.title = std::move(each.title);
  out.options = std::move(each.options);
}

template <class S>
void describe(const Items<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::items;
  out.range = type.items;
  visit_member(type, [&]<class T>(std::vector<T> S::* /*member*/) {
    if constexpr (std::is_same_v<T, MemberConfig>) out.kind = Kind::items_or_words;
    describe_each<T>(kAnyItem, out);
  });
}

template <class S>
void describe(const NamedItems<S>& type, const S&, OptionInfo& out) {
  out.kind = Kind::named;
  out.range = {0, type.most};
  visit_member(type,
               [&]<class T>(std::vector<T> S::* /*member*/) { describe_each<T>(kAnyName, out); });
}

template <class S>
void describe(const Backends<S>&, const S&, OptionInfo& out) {
  out.kind = Kind::backends;
  out.range = {1, kMaxBackends};
  describe_each<BackendConfig>(kAnyName, out);
}

template <class S>
void describe_section(const S& defaults, OptionInfo& out) {
  out.title = OptionsOf<S>::kTitle;
  for (const Option<S>& option : OptionsOf<S>::kRows) {
    OptionInfo& info = out.options.emplace_back();
    info.key = option.key;
    info.path = out.path;
    info.path.emplace_back(option.key);
    info.flag = option.flag;
    info.help = option.help;
    info.details = option.details;
    info.required = !option.missing.empty();
    info.default_value = value_of(option, defaults);
    info.default_words = option.default_words;
    visit_type(option, [&](const auto& type) { describe(type, defaults, info); });
  }
}

}  // namespace

std::string sentence_of(const OptionInfo& option) {
  std::string text = option.help;
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  text += '.';
  if (!option.details.empty()) text += " " + option.details;
  return text;
}

OptionInfo describe_options() {
  OptionInfo root;
  const Config defaults;
  describe_section(defaults, root);
  std::stable_partition(root.options.begin(), root.options.end(),
                        [](const OptionInfo& option) { return option.kind != Kind::section; });
  return root;
}

}  // namespace stdgate::config
