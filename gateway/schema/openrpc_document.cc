#include "gateway/schema/openrpc_document.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "gateway/rpc/json_reader.h"
#include "gateway/schema/canonical_json.h"
#include "gateway/schema/json_schema.h"
#include "gateway/schema/plain_check.h"
#include "gateway/schema/schema_compiler.h"
#include "gateway/schema/schema_reference.h"

namespace stdgate::schema {

namespace {

// OpenRPC's own schema, as a JSON Schema of draft 7: the form of a document of OpenRPC 1.x.
// OpenRpcDocument finds what a schema cannot express, such as names that occur twice. Where an
// object or a reference to one may stand, `if` decides which of both it is to be, so a fault is
// told at its own place.
constexpr std::string_view kOpenRpcSchema = R"json({
"$schema": "http://json-schema.org/draft-07/schema#",
"type": "object",
"required": ["openrpc", "info", "methods"],
"additionalProperties": false,
"patternProperties": {"^x-": true},
"properties": {
  "$schema": {"type": "string"},
  "openrpc": {"type": "string", "pattern": "^1\\.[0-9]+\\.[0-9]+(-.+)?$"},
  "info": {"$ref": "#/definitions/info"},
  "externalDocs": {"$ref": "#/definitions/docs"},
  "servers": {"type": "array", "items": {"$ref": "#/definitions/server"}},
  "methods": {"type": "array", "items": {"$ref": "#/definitions/methodOrReference"}},
  "components": {
    "type": "object",
    "properties": {
      "schemas": {"type": "object", "additionalProperties": {"$ref": "#/definitions/schema"}},
      "links": {"type": "object", "additionalProperties": {"$ref": "#/definitions/link"}},
      "errors": {"type": "object", "additionalProperties": {"$ref": "#/definitions/error"}},
      "examples": {"type": "object", "additionalProperties": {"$ref": "#/definitions/example"}},
      "examplePairings": {"type": "object", "additionalProperties": {"$ref": "#/definitions/pairing"}},
      "contentDescriptors": {"type": "object", "additionalProperties": {"$ref": "#/definitions/descriptor"}},
      "tags": {"type": "object", "additionalProperties": {"$ref": "#/definitions/tag"}}
    }
  }
},
"definitions": {
  "schema": {"type": ["object", "boolean"]},
  "reference": {
    "type": "object", "required": ["$ref"], "additionalProperties": false,
    "properties": {"$ref": {"type": "string"}}
  },
  "info": {
    "type": "object", "required": ["title", "version"], "additionalProperties": false,
    "patternProperties": {"^x-": true},
    "properties": {
      "title": {"type": "string"}, "version": {"type": "string"}, "description": {"type": "string"},
      "termsOfService": {"type": "string"},
      "contact": {
        "type": "object", "additionalProperties": false, "patternProperties": {"^x-": true},
        "properties": {"name": {"type": "string"}, "email": {"type": "string"}, "url": {"type": "string"}}
      },
      "license": {
        "type": "object", "additionalProperties": false, "patternProperties": {"^x-": true},
        "properties": {"name": {"type": "string"}, "url": {"type": "string"}}
      }
    }
  },
  "docs": {
    "type": "object", "required": ["url"], "additionalProperties": false,
    "patternProperties": {"^x-": true},
    "properties": {"description": {"type": "string"}, "url": {"type": "string"}}
  },
  "server": {
    "type": "object", "required": ["url"], "additionalProperties": false,
    "patternProperties": {"^x-": true},
    "properties": {
      "url": {"type": "string"}, "name": {"type": "string"}, "description": {"type": "string"},
      "summary": {"type": "string"},
      "variables": {
        "type": "object",
        "additionalProperties": {
          "type": "object", "required": ["default"],
          "properties": {
            "default": {"type": "string"}, "description": {"type": "string"},
            "enum": {"type": "array", "items": {"type": "string"}}
          }
        }
      }
    }
  },
  "methodOrReference": {
    "if": {"required": ["$ref"]},
    "then": {"$ref": "#/definitions/reference"}, "else": {"$ref": "#/definitions/method"}
  },
  "method": {
    "type": "object", "required": ["name", "params"], "additionalProperties": false,
    "patternProperties": {"^x-": true},
    "properties": {
      "name": {"type": "string", "minLength": 1}, "description": {"type": "string"},
      "summary": {"type": "string"}, "deprecated": {"type": "boolean"},
      "servers": {"type": "array", "items": {"$ref": "#/definitions/server"}},
      "tags": {"type": "array", "items": {
        "if": {"required": ["$ref"]},
        "then": {"$ref": "#/definitions/reference"}, "else": {"$ref": "#/definitions/tag"}
      }},
      "paramStructure": {"type": "string", "enum": ["by-position", "by-name", "either"]},
      "params": {"type": "array", "items": {"$ref": "#/definitions/descriptorOrReference"}},
      "result": {"$ref": "#/definitions/descriptorOrReference"},
      "errors": {"type": "array", "items": {
        "if": {"required": ["$ref"]},
        "then": {"$ref": "#/definitions/reference"}, "else": {"$ref": "#/definitions/error"}
      }},
      "links": {"type": "array", "items": {
        "if": {"required": ["$ref"]},
        "then": {"$ref": "#/definitions/reference"}, "else": {"$ref": "#/definitions/link"}
      }},
      "examples": {"type": "array", "items": {
        "if": {"required": ["$ref"]},
        "then": {"$ref": "#/definitions/reference"}, "else": {"$ref": "#/definitions/pairing"}
      }},
      "externalDocs": {"$ref": "#/definitions/docs"}
    }
  },
  "descriptorOrReference": {
    "if": {"required": ["$ref"]},
    "then": {"$ref": "#/definitions/reference"}, "else": {"$ref": "#/definitions/descriptor"}
  },
  "descriptor": {
    "type": "object", "required": ["name", "schema"], "additionalProperties": false,
    "patternProperties": {"^x-": true},
    "properties": {
      "name": {"type": "string", "minLength": 1}, "description": {"type": "string"},
      "summary": {"type": "string"}, "schema": {"$ref": "#/definitions/schema"},
      "required": {"type": "boolean"}, "deprecated": {"type": "boolean"}
    }
  },
  "error": {
    "type": "object", "required": ["code", "message"], "additionalProperties": false,
    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": true}
  },
  "example": {
    "type": "object",
    "properties": {
      "name": {"type": "string"}, "summary": {"type": "string"}, "description": {"type": "string"},
      "externalValue": {"type": "string"}
    }
  },
  "pairing": {
    "type": "object", "required": ["name", "params"],
    "properties": {
      "name": {"type": "string"}, "description": {"type": "string"}, "summary": {"type": "string"},
      "params": {"type": "array"}, "result": {"type": "object"}
    }
  },
  "link": {"type": "object"},
  "tag": {
    "type": "object", "required": ["name"], "additionalProperties": false,
    "patternProperties": {"^x-": true},
    "properties": {
      "name": {"type": "string", "minLength": 1}, "summary": {"type": "string"},
      "description": {"type": "string"}, "externalDocs": {"$ref": "#/definitions/docs"}
    }
  }
}
})json";

// How documents declare the error for params that do not fit, if they do: by JSON-RPC's own words,
// with a code of the application.
constexpr std::string_view kInvalidParams = "Invalid params";

// Without the space between values, so that it can go through any framing.
std::string in_one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    if (rpc::is_json_space(*at)) {
      ++at;
      continue;
    }
    const char* const next = *at == '"' ? rpc::skip_json_string(at, end) : at + 1;
    line.append(at, next);
    at = next;
  }
  return line;
}

std::string below(const std::string& place, std::string_view token) {
  std::string longer = place;
  append_pointer(longer, token);
  return longer;
}

}  // namespace

struct OpenRpcDocument::Reading {
  const JsonTree& tree;
  SchemaCompiler compiler;
  PointerIndex pointers{tree};
  std::vector<Misfit> faults{};
  std::string scratch{};

  void fail(std::string place, std::string expected) {
    if (faults.size() < kMaxFaults) faults.push_back({std::move(place), std::move(expected)});
  }
  std::string text(ValueId object, std::string_view key) {
    const auto value = tree.find(object, key);
    if (!value || tree.kind(*value) != JsonKind::string) return {};
    return std::string(tree.string(*value, scratch));
  }
  // The value that a value or reference (a JSON Reference within the document) stands for; nothing:
  // it leads nowhere, which has been told.
  std::optional<ValueId> resolved(ValueId value, const std::string& place) {
    // A reference to a reference, and so on: no circle is longer.
    constexpr int kMaxSteps = 16;
    for (int step = 0; step < kMaxSteps; ++step) {
      if (!tree.find(value, "$ref")) return value;
      const std::string reference = text(value, "$ref");
      const Reference to = resolve_reference("", reference);
      const auto target =
          to.uri.empty() ? pointers.follow(0, to.fragment) : std::optional<ValueId>();
      if (!target || tree.kind(*target) != JsonKind::object) break;
      value = *target;
    }
    fail(place, "a reference to a place in this document");
    return std::nullopt;
  }
};

tl::expected<OpenRpcDocument, std::vector<Misfit>> OpenRpcDocument::read(std::string_view text) {
  const auto refuse = [](std::string expected) {
    return tl::unexpected(std::vector<Misfit>{{"", std::move(expected)}});
  };
  if (text.size() > kMaxText) return refuse("at most " + std::to_string(kMaxText) + " bytes");
  if (!is_json(std::string(text))) return refuse("valid JSON");
  OpenRpcDocument document;
  CompiledSchema& compiled = *document.compiled_;
  compiled.text = in_one_line(text);
  if (!compiled.tree.read(compiled.text)) return refuse("fewer values");
  if (const auto key = find_duplicate_key(compiled.tree)) {
    return tl::unexpected(std::vector<Misfit>{
        {place_of(compiled.tree, *key, SchemaCheck::kMaxPlace), std::string(kTwice)}});
  }
  const auto own = JsonSchema::compile(kOpenRpcSchema);
  SchemaCheck check;
  if (!own || check.check(*own, compiled.text) != Fit::fits) {
    return tl::unexpected(check.misfits());
  }
  Reading reading{compiled.tree, SchemaCompiler(compiled, Draft::v7)};
  reading.compiler.begin(0);
  document.read_methods(reading);
  if (!reading.faults.empty()) return tl::unexpected(std::move(reading.faults));
  prepare_plain_check(compiled);
  return document;
}

void OpenRpcDocument::read_methods(Reading& reading) {
  nothing_ = static_cast<NodeId>(compiled_->nodes.size());
  compiled_->nodes.emplace_back().is_false = true;
  anything_ = static_cast<NodeId>(compiled_->nodes.size());
  compiled_->nodes.emplace_back();
  compiled_->resources.resize(1);
  const ValueId methods = *reading.tree.find(0, "methods");
  size_t number = 0;
  for (ValueId at = methods + 1; at < reading.tree.next(methods); at = reading.tree.next(at)) {
    const std::string place = "/methods/" + std::to_string(number++);
    if (number > kMaxMethods) {
      return reading.fail("/methods", "at most " + std::to_string(kMaxMethods) + " methods");
    }
    if (const auto method = reading.resolved(at, place)) read_method(reading, *method, place);
  }
}

void OpenRpcDocument::read_method(Reading& reading, ValueId method, const std::string& place) {
  const std::string name = reading.text(method, "name");
  const auto params = reading.tree.find(method, "params");
  // The method may be the target of a reference, which no schema has judged.
  if (name.empty() || !params || reading.tree.kind(*params) != JsonKind::array) {
    return reading.fail(place, "a method, with name and params");
  }
  const auto [known, is_new] = methods_.emplace(name, Method());
  if (!is_new) return reading.fail(place, "another name than \"" + name + "\", which is taken");
  Method& out = known->second;
  const std::string structure = reading.text(method, "paramStructure");
  out.is_by_position = structure == "by-position";
  read_params(reading, *params, below(place, "params"), out);
  SchemaNode& node = compiled_->nodes[out.params];
  if (structure == "by-name") node.types = type_bit(JsonKind::object);
  if (out.is_by_position) node.types = type_bit(JsonKind::array);
  if (const auto result = reading.tree.find(method, "result")) {
    const std::string there = below(place, "result");
    if (const auto descriptor = reading.resolved(*result, there)) {
      out.result = read_schema(reading, *descriptor, there);
    }
  }
  if (const auto errors = reading.tree.find(method, "errors")) {
    read_errors(reading, *errors, below(place, "errors"), out);
  }
}

// One node for an array of the params in their order, and for an object with their names.
void OpenRpcDocument::read_params(Reading& reading, ValueId params, const std::string& place,
                                  Method& out) {
  auto array = std::make_unique<ArrayChecks>();
  auto object = std::make_unique<ObjectChecks>();
  std::set<std::string> names;
  size_t number = 0;
  bool was_optional = false;
  for (ValueId at = params + 1; at < reading.tree.next(params); at = reading.tree.next(at)) {
    const std::string there = below(place, std::to_string(number++));
    if (number > kMaxParams) {
      reading.fail(place, "at most " + std::to_string(kMaxParams) + " params");
      break;
    }
    const auto descriptor = reading.resolved(at, there);
    if (!descriptor) continue;
    Property property;
    property.name = reading.text(*descriptor, "name");
    if (property.name.empty()) reading.fail(there, "a name");
    if (!names.insert(property.name).second) {
      reading.fail(there, "another name than \"" + property.name + "\", which is taken");
    }
    const auto required = reading.tree.find(*descriptor, "required");
    property.is_required = required && reading.tree.is_true(*required);
    if (property.is_required && was_optional) {
      reading.fail(there, "required params in front of the others");
    }
    was_optional = !property.is_required;
    property.node = read_schema(reading, *descriptor, there);
    if (property.is_required) {
      ++object->required;
      array->items_count.min = number;
    }
    array->prefix.push_back(property.node);
    object->properties.push_back(std::move(property));
  }
  array->items = nothing_;
  object->additional = nothing_;
  SchemaNode node;
  node.types = type_bit(JsonKind::array) | type_bit(JsonKind::object);
  node.array = std::move(array);
  node.object = std::move(object);
  out.params = static_cast<NodeId>(compiled_->nodes.size());
  compiled_->nodes.push_back(std::move(node));
}

void OpenRpcDocument::read_errors(Reading& reading, ValueId errors, const std::string& place,
                                  Method& out) {
  size_t number = 0;
  for (ValueId at = errors + 1; at < reading.tree.next(errors); at = reading.tree.next(at)) {
    const auto error = reading.resolved(at, below(place, std::to_string(number++)));
    const auto code = error ? reading.tree.find(*error, "code") : std::optional<ValueId>();
    if (!code) continue;
    const std::string_view raw = reading.tree.raw(*code);
    int value = 0;
    const auto read = std::from_chars(raw.data(), raw.data() + raw.size(), value);
    if (read.ec != std::errc() || read.ptr != raw.data() + raw.size()) continue;
    if (reading.text(*error, "message") == kInvalidParams) out.refusal = value;
  }
}

NodeId OpenRpcDocument::read_schema(Reading& reading, ValueId descriptor,
                                    const std::string& place) {
  const auto schema = reading.tree.find(descriptor, "schema");
  if (!schema) {
    reading.fail(place, "a content descriptor, with a schema");
    return anything_;
  }
  if (const auto node = reading.compiler.add(*schema)) return *node;
  unchecked_.push_back({below(place, "schema"), reading.compiler.why()});
  return anything_;
}

const OpenRpcDocument::Method* OpenRpcDocument::find(std::string_view method) const {
  const auto known = methods_.find(method);
  return known == methods_.end() ? nullptr : &known->second;
}

}  // namespace stdgate::schema
