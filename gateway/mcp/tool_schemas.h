// ToolSchemas: the schemas of the tools that the children of a backend list, and these lists.
//
// Job: keep each schema's text once, however many children list it; compile a schema when it is
// needed; charge the memory to the backend. Compiled schemas are a cache: the ones unused for
// longest make room for others, and are compiled again when they are needed. Owner: the check
// judge, together with the lists and schemas, which give their bytes back when their
// last user has gone. Limits: kMaxText for texts and lists, kMaxCompiled for what is compiled; each
// at most kPartOfAccount of what the backend may hold. Compiling takes kStepsPerSecond, and
// kStepsAtOnce, because a server could list other schemas for each call.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/base/account.h"
#include "gateway/base/text.h"
#include "gateway/base/time.h"
#include "gateway/schema/json_schema.h"

namespace stdgate::mcp {

class ToolSchemas;
using ToolSchemasRef = std::shared_ptr<ToolSchemas>;

class ToolSchemas : public std::enable_shared_from_this<ToolSchemas> {
 public:
  static constexpr size_t kMaxText = size_t{16} << 20;
  static constexpr size_t kMaxCompiled = size_t{16} << 20;
  static constexpr size_t kPartOfAccount = 4;
  // See JsonSchema::compile(). A step takes about 2 us.
  static constexpr double kStepsPerSecond = 50'000;
  static constexpr double kStepsAtOnce = 100'000;

  // Reports a schema that cannot be compiled, or has no room. `why`: empty if the lack of room has
  // been reported before.
  using Tell = std::function<void(std::string_view tool, std::string_view why)>;

  // Bytes of a list or a schema, given back at its end.
  class Hold {
   public:
    explicit Hold(ToolSchemasRef schemas) : schemas_(std::move(schemas)) {}
    Hold(Hold&& other) noexcept
        : schemas_(std::move(other.schemas_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Hold& operator=(Hold&& other) noexcept {
      std::swap(schemas_, other.schemas_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Hold() {
      if (bytes_ > 0) schemas_->give_back(bytes_);
    }
    // False: there is no room for them.
    bool add(size_t bytes);

   private:
    ToolSchemasRef schemas_;
    size_t bytes_ = 0;
  };

  class Schema {
   public:
    Schema(std::string text, Hold hold, ToolSchemas& schemas)
        : text_(std::move(text)), hold_(std::move(hold)), schemas_(schemas) {}
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;
    ~Schema() { schemas_.forget(*this); }

   private:
    friend class ToolSchemas;

    const std::string text_;
    Hold hold_;  // keeps `schemas_`
    ToolSchemas& schemas_;
    std::optional<schema::JsonSchema> compiled_;
    size_t compiled_bytes_ = 0;
    std::list<Schema*>::iterator place_;  // in `used_`, while it is compiled
    bool is_useless_ = false;             // it cannot be compiled
  };
  using SchemaRef = std::shared_ptr<Schema>;

  ToolSchemas(const Payer& payer, const Clock& clock, Tell tell)
      : tell_(std::move(tell)), clock_(clock), at_(clock.now()), held_(payer, Holding::caches) {}

  // Null: there is no room for it.
  SchemaRef keep(std::string_view text, std::string_view tool);
  // Valid until the next call. Null: what is checked by it passes, unless it lacks_steps().
  const schema::JsonSchema* compiled(Schema& schema, std::string_view tool) {
    if (schema.compiled_ && used_.front() == &schema) return &*schema.compiled_;
    return find_compiled(schema, tool);
  }
  // Whether compiled() has found no time to compile it.
  static bool lacks_steps(const Schema& schema) { return !schema.compiled_ && !schema.is_useless_; }
  // Nothing is compiled any more.
  void drop_compiled();
  void tell_of_no_room(std::string_view tool);

 private:
  const schema::JsonSchema* find_compiled(Schema& schema, std::string_view tool);
  void refill();
  void drop(Schema& schema);
  void forget(Schema& schema);
  void give_back(size_t text) { set_bytes(text_bytes_ - text, compiled_bytes_); }
  void set_bytes(size_t text, size_t compiled) {
    text_bytes_ = text;
    compiled_bytes_ = compiled;
    held_.set(text + compiled);
  }
  [[nodiscard]] size_t most(size_t bound) const;

  const Tell tell_;
  const Clock& clock_;
  double steps_ = kStepsAtOnce;  // below 0: the last schema took more than were left
  TimePoint at_;                 // that steps_ is about
  std::map<std::string_view, std::weak_ptr<Schema>> schemas_;  // by text
  std::list<Schema*> used_;                                    // those compiled, the latest first
  size_t text_bytes_ = 0;
  size_t compiled_bytes_ = 0;
  Share held_;
  bool has_told_of_room_ = false;
};

using SchemaRef = ToolSchemas::SchemaRef;

// The tools of a list. Limit: kMaxTools.
class ToolList {
 public:
  static constexpr size_t kMaxTools = 2000;

  // The schemas of one tool.
  struct Tool {
    SchemaRef input;   // null: it is not checked
    SchemaRef output;  // null: it is not checked, or the tool has none
    friend bool operator==(const Tool&, const Tool&) = default;
  };
  using Tools = std::map<std::string, Tool, std::less<>>;

  explicit ToolList(ToolSchemasRef schemas) : hold_(std::move(schemas)) {}

  // A later one with the same name takes the place of the earlier one. False: there is no room.
  bool put(std::string name, Tool tool);
  // Null: it is not on the list.
  [[nodiscard]] const Tools::value_type* find(std::string_view name) const {
    if (last_ != nullptr && same_short_text(last_->first, name)) return last_;
    const auto tool = tools_.find(name);
    return tool == tools_.end() ? nullptr : last_ = &*tool;
  }
  [[nodiscard]] const Tools& all() const { return tools_; }
  friend bool operator==(const ToolList& one, const ToolList& other) {
    return one.tools_ == other.tools_;
  }

 private:
  Tools tools_;
  mutable const Tools::value_type* last_ = nullptr;  // that was found; it stays where it is
  ToolSchemas::Hold hold_;
};

}  // namespace stdgate::mcp
