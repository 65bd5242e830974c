#include "gateway/mcp/tool_schemas.h"

#include <algorithm>

namespace stdgate::mcp {

namespace {

// About, of the nodes of maps and shared pointers.
constexpr size_t kOfSchema = sizeof(ToolSchemas::Schema) + 128;
constexpr size_t kOfTool = sizeof(ToolList::Tools::value_type) + 48;

constexpr std::string_view kNoRoom = "there is no room for it";

}  // namespace

size_t ToolSchemas::most(size_t bound) const {
  const Account* const account = held_.account();
  return account == nullptr ? bound : std::min(bound, account->bound() / kPartOfAccount);
}

bool ToolSchemas::Hold::add(size_t bytes) {
  const size_t all = schemas_->text_bytes_ + bytes;
  if (all > schemas_->most(kMaxText)) return false;
  schemas_->set_bytes(all, schemas_->compiled_bytes_);
  bytes_ += bytes;
  return true;
}

ToolSchemas::SchemaRef ToolSchemas::keep(std::string_view text, std::string_view tool) {
  const auto known = schemas_.find(text);
  if (known != schemas_.end()) return known->second.lock();
  Hold hold(shared_from_this());
  if (!hold.add(kOfSchema + text.size())) {
    tell_of_no_room(tool);
    return nullptr;
  }
  auto schema = std::make_shared<Schema>(std::string(text), std::move(hold), *this);
  schemas_.emplace(schema->text_, schema);
  return schema;
}

void ToolSchemas::tell_of_no_room(std::string_view tool) {
  tell_(tool, std::exchange(has_told_of_room_, true) ? std::string_view() : kNoRoom);
}

const schema::JsonSchema* ToolSchemas::find_compiled(Schema& schema, std::string_view tool) {
  if (schema.compiled_) {
    used_.splice(used_.begin(), used_, schema.place_);
    return &*schema.compiled_;
  }
  if (schema.is_useless_) return nullptr;
  refill();
  if (steps_ <= 0) return nullptr;
  size_t steps = 0;
  auto compiled = schema::JsonSchema::compile(schema.text_, {}, schema::Draft::v2020, &steps);
  steps_ -= static_cast<double>(steps);
  const size_t bytes = compiled ? compiled->bytes() : 0;
  const size_t bound = most(kMaxCompiled);
  if (!compiled || bytes > bound) {
    schema.is_useless_ = true;
    tell_(tool, compiled ? kNoRoom : std::string_view(compiled.error()));
    return nullptr;
  }
  while (compiled_bytes_ + bytes > bound) drop(*used_.back());
  schema.compiled_.emplace(*std::move(compiled));
  schema.compiled_bytes_ = bytes;
  schema.place_ = used_.insert(used_.begin(), &schema);
  set_bytes(text_bytes_, compiled_bytes_ + bytes);
  return &*schema.compiled_;
}

void ToolSchemas::refill() {
  const std::chrono::duration<double> passed = clock_.now() - std::exchange(at_, clock_.now());
  steps_ = std::min(kStepsAtOnce, steps_ + passed.count() * kStepsPerSecond);
}

void ToolSchemas::drop(Schema& schema) {
  set_bytes(text_bytes_, compiled_bytes_ - schema.compiled_bytes_);
  used_.erase(schema.place_);
  schema.compiled_.reset();
}

void ToolSchemas::drop_compiled() {
  while (!used_.empty()) drop(*used_.back());
}

void ToolSchemas::forget(Schema& schema) {
  if (schema.compiled_) drop(schema);
  schemas_.erase(schema.text_);
}

bool ToolList::put(std::string name, Tool tool) {
  const auto known = tools_.find(name);
  if (known != tools_.end()) {
    known->second = std::move(tool);
    return true;
  }
  if (tools_.size() >= kMaxTools || !hold_.add(kOfTool + name.capacity())) return false;
  tools_.emplace(std::move(name), std::move(tool));
  return true;
}

}  // namespace stdgate::mcp
