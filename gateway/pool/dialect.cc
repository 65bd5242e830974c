#include "gateway/pool/dialect.h"

namespace stdgate::pool {

std::string_view cancel_reason_text(CancelReason reason) {
  switch (reason) {
    case CancelReason::client_cancelled:
      return "cancelled by the client";
    case CancelReason::client_left:
      return "the client has left";
    case CancelReason::deadline:
      return "deadline exceeded";
  }
  return "";
}

}  // namespace stdgate::pool
