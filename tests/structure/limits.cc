#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <regex>
#include <set>

#include "tests/structure/rules.h"

namespace stdgate {
namespace {

struct Constant {
  std::string path;
  std::string text;  // the text of the source that defines it
  std::string value;
};

// The parts of "Class::kName": the scope, which may be empty, and the name.
struct QualifiedName {
  explicit QualifiedName(const std::string& text) {
    const size_t colons = text.rfind("::");
    name = colons == text.npos ? text : text.substr(colons + 2);
    scope = colons == text.npos ? "" : text.substr(0, text.rfind("::"));
    scope = scope.substr(scope.rfind(':') + 1);  // npos + 1 is 0
  }
  std::string scope;
  std::string name;
};

bool has_scope(const std::string& source, const std::string& scope) {
  return scope.empty() ||
         std::regex_search(source, std::regex("\\n(?:class|struct) " + scope + "\\b[^;]*\\{")) ||
         source.find("namespace stdgate::" + scope + " {") != source.npos;
}

std::vector<Constant> constants_of(const QualifiedName& wanted, const Sources& sources) {
  const std::regex form("constexpr [^=;{(]*\\b" + wanted.name +
                        R"( *(?:=\s*([^;]+)|\{([^;]+)\});)");
  std::vector<Constant> found;
  for (const auto& [path, text] : sources) {
    std::smatch match;
    if (text.find(wanted.name) != text.npos && has_scope(text, wanted.scope) &&
        std::regex_search(text, match, form)) {
      found.push_back({path, text, match[1].matched ? match[1].str() : match[2].str()});
    }
  }
  return found;
}

std::optional<uint64_t> value_of(const std::string& expression, const Constant& where,
                                 const Sources& sources, int depth);

std::optional<uint64_t> value_of_name(const std::string& text, const Constant& where,
                                      const Sources& sources, int depth) {
  const QualifiedName name(text);
  std::vector<Constant> found = constants_of(name, {{where.path, where.text}});
  if (found.empty()) found = constants_of(name, sources);
  if (found.size() != 1 || depth > 4) return std::nullopt;
  return value_of(found[0].value, found[0], sources, depth + 1);
}

std::optional<uint64_t> value_of_term(const std::string& term, const Constant& where,
                                      const Sources& sources, int depth) {
  static const std::regex kNumber(R"((?:\w+\{)?(\d[\d']*)\}?)");
  static const std::regex kTime(R"(std::chrono::(milliseconds|seconds|minutes)\((\d+)\))");
  std::smatch match;
  if (std::regex_match(term, match, kNumber)) {
    std::string digits = match[1];
    std::erase(digits, '\'');
    return std::stoull(digits);
  }
  if (std::regex_match(term, match, kTime)) {
    const uint64_t unit = match[1] == "milliseconds" ? 1 : match[1] == "seconds" ? 1000 : 60'000;
    return unit * std::stoull(match[2]);
  }
  return value_of_name(term, where, sources, depth);
}

// Evaluates products and shifts of numbers, times and other constants, from left to right. Times
// are in ms.
std::optional<uint64_t> value_of(const std::string& expression, const Constant& where,
                                 const Sources& sources, int depth) {
  static const std::regex kOperator(R"(\s*(\*|<<)\s*)");
  std::optional<uint64_t> value;
  std::string before;
  auto begin = expression.cbegin();
  for (std::sregex_iterator match(begin, expression.cend(), kOperator), end;; ++match) {
    const auto stop = match == end ? expression.cend() : (*match)[0].first;
    const auto term = value_of_term(std::string(begin, stop), where, sources, depth);
    if (!term) return std::nullopt;
    value = before.empty() ? *term : before == "*" ? *value * *term : *value << *term;
    if (match == end) return value;
    before = (*match)[1];
    begin = (*match)[0].second;
  }
}

bool is_seconds_of_chrono(const Constant& constant, const std::string& name) {
  return std::regex_search(constant.text, std::regex("std::chrono::seconds " + name + "\\b"));
}

uint64_t unit_of(const std::string& word) {
  if (word == "KiB") return 1 << 10;
  if (word == "MiB") return 1 << 20;
  return word == "s" ? 1000 : 1;
}

std::string fault_of(const std::string& value, const std::string& unit, const std::string& text,
                     const Sources& sources) {
  const QualifiedName name(text);
  const std::vector<Constant> found = constants_of(name, sources);
  if (found.empty()) return "names " + text + ", which no source defines";
  if (found.size() > 1) return "names " + text + ", which several sources define: name its class";
  auto actual = value_of(found[0].value, found[0], sources, 0);
  if (!actual) return "names " + text + ", whose value is not understood: " + found[0].value;
  if (is_seconds_of_chrono(found[0], name.name)) *actual *= 1000;
  if (*actual != std::stoull(value) * unit_of(unit)) {
    return "says " + value + (unit.empty() ? "" : " " + unit) + " of " + text + ", which is " +
           found[0].value;
  }
  return "";
}

}  // namespace

std::vector<std::string> limit_faults(std::string_view page, const Sources& sources) {
  static const std::regex kForm(
      R"((?:(\d+)(?: (bytes|KiB|MiB|ms|s))? \()?`((?:\w+::)*k[A-Z]\w*)`)");
  const std::string text(page);
  std::vector<std::string> faults;
  for (std::sregex_iterator match(text.begin(), text.end(), kForm), end; match != end; ++match) {
    const std::string fault = (*match)[1].matched
                                  ? fault_of((*match)[1], (*match)[2], (*match)[3], sources)
                                  : "gives no value in front of " + (*match)[3].str();
    if (!fault.empty()) faults.push_back(fault);
  }
  return faults;
}

std::vector<std::string> unknown_types(std::string_view page, const Sources& sources) {
  // A name of several words, or a name with a member behind it.
  static const std::regex kNamed(R"(`([A-Z][a-z0-9]+[A-Za-z0-9]*)(?:::\w+(?:\(\))?)?`)");
  static const std::regex kDeclared(R"((?:class|struct|using) (?:\[\[\w+\]\] )?([A-Z]\w*))");
  std::set<std::string> types;
  for (const auto& [path, source] : sources) {
    for (std::sregex_iterator match(source.begin(), source.end(), kDeclared), end; match != end;
         ++match) {
      types.insert((*match)[1]);
    }
  }
  const std::string text(page);
  std::vector<std::string> faults;
  for (std::sregex_iterator match(text.begin(), text.end(), kNamed), end; match != end; ++match) {
    if (!types.contains((*match)[1])) {
      faults.push_back("names " + (*match)[1].str() + ", which no source declares");
    }
  }
  return faults;
}

}  // namespace stdgate
