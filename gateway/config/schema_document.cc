#include "gateway/config/config.h"
#include "gateway/schema/openrpc_document.h"

namespace stdgate::config {

bool operator==(const SchemaDocument& one, const SchemaDocument& other) {
  return (one.document ? one.document->text() : "") ==
         (other.document ? other.document->text() : "");
}

}  // namespace stdgate::config
