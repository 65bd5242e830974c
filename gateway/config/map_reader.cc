#include <utility>

#include "gateway/base/addresses.h"
#include "gateway/config/option_reader.h"
#include "gateway/config/options/option_rules.h"

namespace stdgate::config {

namespace {

// Nothing: it is no map, or has too many members, and that has been said.
std::optional<std::vector<Value>> entries_of(const Value& value, size_t most) {
  auto entries = value.entries();
  if (!entries || entries->size() <= most) return entries;
  value.fail_at_key("at most " + std::to_string(most) + " of them");
  return std::nullopt;
}

void read_listener_tls(Section& section, ListenerConfig& out) {
  const auto tls = section.find("tls");
  if (!tls) return;
  Section tls_section(*tls);
  read_options(tls_section, out.tls);
  complete_tls(tls_section, out.tls);
}

// The roles of the admin listener's readers.
void read_roles(Section& section, ListenerConfig& out) {
  const auto roles = section.find("roles");
  const auto items = roles ? roles->list() : std::nullopt;
  if (!items) return;
  for (const Value& item : *items) {
    auto role = item.text();
    if (role && is_role(*role)) {
      out.roles.push_back(*std::move(role));
    } else if (role) {
      item.fail("expected " + std::string(kRole.expected) + "; found " + item.found());
    }
  }
}

}  // namespace

bool read_texts(const Value& value, size_t most, TextMapValue& out) {
  const auto entries = entries_of(value, most);
  if (!entries) return false;
  bool good = true;
  for (const Value& entry : *entries) {
    auto text = entry.text();
    good = good && text;
    out[entry.name()] = std::move(text).value_or(std::string());
  }
  return good;
}

bool read_text_lists(const Value& value, size_t most, const TextRule& rule, TextListsValue& out) {
  const auto entries = entries_of(value, most);
  if (!entries) return false;
  bool good = true;
  for (const Value& entry : *entries) {
    std::vector<std::string>& texts = out[entry.name()];
    const auto items = entry.list();
    good = good && items;
    for (const Value& item : items.value_or(std::vector<Value>())) {
      auto text = item.text();
      if (text && rule.accepts(*text)) {
        texts.push_back(*std::move(text));
        continue;
      }
      good = false;
      if (text) {
        item.fail("expected " + std::string(rule.expected) + "; found " + item.found());
      }
    }
  }
  return good;
}

bool read_arguments(const Value& value, size_t most, ToolArguments& out) {
  const auto tools = entries_of(value, most);
  if (!tools) return false;
  bool good = true;
  for (const Value& tool : *tools) {
    const auto arguments = tool.entries();
    good = good && arguments;
    if (arguments && arguments->empty()) {
      tool.fail_at_key("expected arguments and their values, as in { mode: create }");
      good = false;
    }
    for (const Value& argument : arguments.value_or(std::vector<Value>())) {
      auto json = argument.json();
      good = good && json;
      if (json) out[tool.name()][argument.name()] = *std::move(json);
    }
  }
  return good;
}

bool check_address(const Value& value, const std::string& text, std::set<std::string>* used) {
  const auto address = Address::parse(text);
  if (!address) {
    value.fail(address.error());
    return false;
  }
  if (const std::string wrong = wrong_with_path(address->path); !wrong.empty()) {
    value.fail(wrong);
    return false;
  }
  if (used == nullptr || address->has_any_port()) return true;
  if (used->insert(address->to_string()).second) return true;
  value.fail("'" + text + "' is already in listen");
  return false;
}

bool read_listener_map(const Value& value, std::set<std::string>* used, ListenerConfig& out) {
  Section section(value);
  bool good = true;
  if (const auto address = section.find("address")) {
    auto text = address->text();
    good = text && check_address(*address, *text, used);
    if (text) out.address = *std::move(text);
  } else {
    section.fail("address", "missing; name the address to listen on");
    good = false;
  }
  read_listener_tls(section, out);
  if (used == nullptr) {
    read_roles(section, out);
  } else if (const auto anonymous = section.find("anonymous")) {
    out.anonymous = anonymous->flag().value_or(false);
  }
  section.finish();
  return good;
}

bool read_listener(const Value& value, std::set<std::string>* used, ListenerConfig& out) {
  if (value.is_map()) return read_listener_map(value, used, out);
  auto text = value.text();
  if (!text) return false;
  const bool good = check_address(value, *text, used);
  out.address = *std::move(text);
  return good;
}

}  // namespace stdgate::config
