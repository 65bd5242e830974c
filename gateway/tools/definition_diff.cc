#include "gateway/tools/definition_diff.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>

#include "gateway/base/encodings.h"
#include "gateway/rpc/json_text.h"
#include "gateway/schema/json_tree.h"
#include "gateway/schema/schema_reference.h"

namespace stdgate::tools {

namespace {

using schema::JsonKind;
using schema::JsonTree;
using schema::ValueId;

struct Range {
  uint32_t first;
  uint32_t last;
  std::string_view what;
};
constexpr std::array<Range, 19> kHidden = {
    {{0x00ad, 0x00ad, "an invisible character"},
     {0x034f, 0x034f, "an invisible character"},
     {0x061c, 0x061c, "a character that turns the direction of text"},
     {0x115f, 0x1160, "an invisible character"},
     {0x17b4, 0x17b5, "an invisible character"},
     {0x180b, 0x180f, "an invisible character"},
     {0x200b, 0x200d, "an invisible character"},
     {0x200e, 0x200f, "a character that turns the direction of text"},
     {0x202a, 0x202e, "a character that turns the direction of text"},
     {0x2060, 0x2065, "an invisible character"},
     {0x2066, 0x2069, "a character that turns the direction of text"},
     {0x206a, 0x206f, "an invisible character"},
     {0x2800, 0x2800, "an invisible character"},
     {0x3164, 0x3164, "an invisible character"},
     {0xfe00, 0xfe0f, "an invisible character"},
     {0xfeff, 0xfeff, "an invisible character"},
     {0xffa0, 0xffa0, "an invisible character"},
     {0xe0000, 0xe007f, "a tag, which only a model reads"},
     {0xe0100, 0xe01ef, "an invisible character"}}};

constexpr std::array<std::string_view, 24> kAddresses = {
    "ignore previous", "ignore all",       "ignore any",    "disregard",
    "you must",        "you should",       "you are",       "do not tell",
    "don't tell",      "do not mention",   "don't mention", "never mention",
    "do not inform",   "without telling",  "system prompt", "before using this tool",
    "before calling",  "instead of using", "assistant",     "important:",
    "<important",      "instructions",     "secretly",      "the user must not"};
constexpr std::array<std::string_view, 6> kMarkup = {"<!--", "</", "](", "<img", "<script", "```"};

uint32_t code_point(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first;
  uint32_t point = first & (0xffU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1))
    point = point << 6U | (static_cast<unsigned char>(c) & 0x3fU);
  return point;
}

const Range* hidden_at(uint32_t point) {
  const auto* const found = std::ranges::find_if(
      kHidden, [point](const Range& range) { return range.first <= point && point <= range.last; });
  return found == kHidden.end() ? nullptr : found;
}

std::string named(uint32_t point) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "U+%04X", point);
  return text.data();
}

// Calls visit(sequence, code point) for each character.
template <class Visit>
void for_characters(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const size_t size = std::max<size_t>(utf8_sequence_size(text), 1);
    visit(text.substr(0, size), code_point(text.substr(0, size)));
    text.remove_prefix(size);
  }
}

// All that is no array or object, by its pointer: decoded texts with a quote before them, else raw.
using Leaves = std::map<std::string, std::string>;

void collect(const JsonTree& tree, ValueId id, const std::string& place, Leaves& leaves) {
  std::string scratch;
  const JsonKind kind = tree.kind(id);
  if (kind == JsonKind::string) {
    leaves[place] = "\"" + std::string(tree.string(id, scratch));
  } else if ((kind != JsonKind::array && kind != JsonKind::object) || tree.count(id) == 0) {
    leaves[place] = tree.raw(id);
  }
  size_t ordinal = 0;
  for (ValueId at = id + 1; at < tree.next(id);) {
    std::string inner = place;
    const bool is_member = kind == JsonKind::object;
    schema::append_pointer(
        inner, is_member ? std::string(tree.string(at, scratch)) : std::to_string(ordinal++));
    const ValueId value = is_member ? at + 1 : at;
    collect(tree, value, inner, leaves);
    at = tree.next(value);
  }
}

Leaves leaves_of(std::string_view definition) {
  Leaves leaves;
  JsonTree tree;
  if (!definition.empty() && tree.read(definition)) collect(tree, 0, "", leaves);
  return leaves;
}

bool is_text(std::string_view leaf) { return leaf.starts_with('"'); }
std::string_view content(std::string_view leaf) { return is_text(leaf) ? leaf.substr(1) : leaf; }

// Words, each with the space behind it.
std::vector<std::string_view> spaced_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    size_t end = std::min(text.find_first_of(" \n\t"), text.size());
    end = std::min(text.find_first_not_of(" \n\t", end), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

void append_piece(std::string& out, std::string_view open, const std::string& piece,
                  std::string_view close) {
  if (!piece.empty()) out.append(open).append(revealed(piece)).append(close);
}

// Null: the definition does not exist.
std::string whole_change(const std::string* before, const std::string* after) {
  std::string out;
  if (before != nullptr) out.append("[-").append(revealed(content(*before))).append("-]");
  if (after != nullptr) out.append("{+").append(revealed(content(*after))).append("+}");
  return out;
}

// The longest common words stay; what is between them has gone or come.
std::string word_diff(const std::string& before, const std::string& after) {
  const std::vector<std::string_view> old_words = spaced_words(content(before));
  const std::vector<std::string_view> new_words = spaced_words(content(after));
  const size_t rows = old_words.size();
  const size_t columns = new_words.size();
  if (rows > kMaxDiffWords || columns > kMaxDiffWords) return whole_change(&before, &after);
  std::vector<uint16_t> common((rows + 1) * (columns + 1));
  const auto at = [&](size_t row, size_t column) -> uint16_t& {
    return common[row * (columns + 1) + column];
  };
  for (size_t row = rows; row-- > 0;) {
    for (size_t column = columns; column-- > 0;) {
      at(row, column) = old_words[row] == new_words[column]
                            ? static_cast<uint16_t>(at(row + 1, column + 1) + 1)
                            : std::max(at(row + 1, column), at(row, column + 1));
    }
  }
  std::string out;
  std::string gone;
  std::string come;
  const auto flush = [&] {
    append_piece(out, "[-", gone, "-]");
    append_piece(out, "{+", come, "+}");
    gone.clear();
    come.clear();
  };
  size_t row = 0;
  size_t column = 0;
  while (row < rows || column < columns) {
    if (row < rows && column < columns && old_words[row] == new_words[column]) {
      flush();
      out += revealed(old_words[row]);
      ++row;
      ++column;
    } else if (column == columns || (row < rows && at(row + 1, column) >= at(row, column + 1))) {
      gone += old_words[row++];
    } else {
      come += new_words[column++];
    }
  }
  flush();
  return out;
}

// As a model reads it: small letters, one space between words, nothing that cannot be seen.
std::string as_read(std::string_view text) {
  std::string read;
  for_characters(text, [&read](std::string_view sequence, uint32_t point) {
    const bool is_space = point == 0xa0 || (point < 0x80 && std::isspace(static_cast<int>(point)));
    if (is_space) {
      if (!read.ends_with(' ')) read += ' ';
    } else if (point < 0x80) {
      read += static_cast<char>(std::tolower(static_cast<int>(point)));
    } else if (hidden_at(point) == nullptr) {
      read += sequence;
    }
  });
  return read;
}

void mark_text(const std::string& place, std::string_view text, std::vector<std::string>& marks) {
  const auto mark = [&](std::string what) {
    std::string line = (place.empty() ? "/" : revealed(place)) + ": " + std::move(what);
    const bool is_new = std::ranges::find(marks, line) == marks.end();
    if (!is_new || marks.size() > kMaxDefinitionMarks) return;
    const bool is_full = marks.size() == kMaxDefinitionMarks;
    marks.push_back(is_full ? "there is more of this kind" : std::move(line));
  };
  for_characters(text, [&](std::string_view, uint32_t point) {
    if (const Range* const range = hidden_at(point)) {
      mark(std::string(range->what) + ", " + named(point));
    }
  });
  const std::string lower = as_read(text);
  for (const std::string_view markup : kMarkup) {
    if (lower.find(markup) != std::string::npos) mark("markup, " + std::string(markup));
  }
  for (const std::string_view phrase : kAddresses) {
    if (lower.find(phrase) != std::string::npos) {
      mark("text that addresses the model, \"" + std::string(phrase) + "\"");
    }
  }
}

}  // namespace

std::string revealed(std::string_view text) {
  std::string out;
  for_characters(text, [&out](std::string_view sequence, uint32_t point) {
    if (hidden_at(point) != nullptr) {
      out.append("<").append(named(point)).append(">");
    } else {
      append_visible(out, sequence, VisibleText::line);
    }
  });
  return out;
}

std::vector<std::string> definition_diff(std::string_view before, std::string_view after) {
  const Leaves old_leaves = leaves_of(before);
  const Leaves new_leaves = leaves_of(after);
  std::map<std::string, std::pair<const std::string*, const std::string*>> places;
  for (const auto& [place, leaf] : old_leaves) places[place].first = &leaf;
  for (const auto& [place, leaf] : new_leaves) places[place].second = &leaf;
  std::vector<std::string> lines;
  for (const auto& [place, leaves] : places) {
    const auto [old_leaf, new_leaf] = leaves;
    if (old_leaf != nullptr && new_leaf != nullptr && *old_leaf == *new_leaf) continue;
    std::string line = (place.empty() ? "/" : revealed(place)) + ": ";
    if (old_leaf != nullptr && new_leaf != nullptr && is_text(*old_leaf) && is_text(*new_leaf)) {
      line += word_diff(*old_leaf, *new_leaf);
    } else {
      line += whole_change(old_leaf, new_leaf);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> marks_of(std::string_view definition) {
  std::vector<std::string> marks;
  for (const auto& [place, leaf] : leaves_of(definition)) {
    mark_text(place, place, marks);
    if (is_text(leaf)) mark_text(place, content(leaf), marks);
  }
  return marks;
}

}  // namespace stdgate::tools
