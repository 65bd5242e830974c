#include "gateway/rpc/json_writer.h"

#include "gateway/rpc/json_string.h"

namespace stdgate::rpc {

void JsonWriter::text(std::string_view key, std::string_view value) {
  start_item(key);
  append_json_string(out_, value);
}

void JsonWriter::raw(std::string_view key, std::string_view value) {
  start_item(key);
  out_ += value;
}

void JsonWriter::begin(std::string_view key, char bracket) {
  start_item(key);
  out_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonWriter::end(char bracket) {
  --depth_;
  if (!first_ && layout_ == Layout::lines) start_line();
  out_ += bracket;
  first_ = false;
}

void JsonWriter::start_item(std::string_view key) {
  if (!first_) out_ += ',';
  if (depth_ > 0 && layout_ == Layout::lines) start_line();
  first_ = false;
  if (key.empty()) return;
  append_json_string(out_, key);
  out_ += layout_ == Layout::lines ? ": " : ":";
}

}  // namespace stdgate::rpc
