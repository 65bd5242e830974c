#include "gateway/config/options/option_rules.h"

#include <algorithm>

#include "gateway/config/backend_facts.h"

namespace stdgate::config {

bool is_web_origin(std::string_view text) {
  if (text == "*") return true;
  const size_t scheme = text.find("://");
  const bool complete = scheme != std::string_view::npos && scheme > 0 && scheme + 3 < text.size();
  return complete && text.find('/', scheme + 3) == std::string_view::npos;
}

bool is_host_name(std::string_view text) {
  return !text.empty() && text.find_first_of("/ \t") == std::string_view::npos;
}

bool is_variable_name(std::string_view text) {
  return !text.empty() && text.find_first_of(std::string_view("=\0", 2)) == std::string_view::npos;
}

bool is_field_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_pattern(std::string_view text) { return !text.empty() && text.size() <= kMaxPattern; }

bool is_server_name(std::string_view text) { return check_backend_name(text).has_value(); }

bool is_shown_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxShownName && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
  });
}

bool is_role(std::string_view text) { return !text.empty() && text.size() <= 256; }

bool is_scope(std::string_view text) {
  return !text.empty() && text.size() <= 256 && std::ranges::all_of(text, [](char c) {
    return c > 0x20 && c < 0x7f && c != '"' && c != '\\';
  });
}

std::string wrong_with_path(std::string_view text) {
  const bool names_home =
      text == "~" || (text.starts_with('~') && text.find('/') != std::string_view::npos);
  if (!names_home) return {};
  const std::string_view rest = text.substr(1);
  if (!rest.empty() && rest.front() != '/') {
    return "nothing here expands ~; write the whole path instead of " + std::string(text);
  }
  return "nothing here expands ~; write ${HOME}" + std::string(rest);
}

std::string list_form(std::string_view command) {
  std::string list;
  size_t at = 0;
  while ((at = command.find_first_not_of(" \t\n", at)) != std::string_view::npos) {
    const size_t end = std::min(command.find_first_of(" \t\n", at), command.size());
    list.append(list.empty() ? "\"" : ", \"").append(command.substr(at, end - at)) += '"';
    at = end;
  }
  return "[" + list + "]";
}

}  // namespace stdgate::config
