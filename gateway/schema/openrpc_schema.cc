#include "gateway/schema/openrpc_schema.h"

namespace stdgate::schema {

// Where an object or a reference to one may stand, `if` says which of both it is to be: so a fault
// is told at its own place.
const std::string_view kOpenRpcSchema = R"json({
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

}  // namespace stdgate::schema
