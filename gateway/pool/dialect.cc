#include "gateway/pool/dialect.h"

#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/message_text.h"

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

std::optional<Audience> change_told_by(const call::ChildMessage& message, const Dialect& dialect) {
  const bool is_told_all =
      message.call() == nullptr ? message.child().is_shared : message.call()->listens;
  if (!is_told_all) return std::nullopt;
  const Audience audience = dialect.audience(message.message(), message.method());
  const bool is_change = audience.list != 0 || audience.kind == Audience::Kind::subscribers;
  return is_change ? std::optional(audience) : std::nullopt;
}

tl::expected<call::ClientIntent, const char*> JsonRpcDialect::read_client(
    const rpc::Envelope& message, std::string_view method, const call::Reading& /*reading*/) const {
  tl::expected<call::ClientIntent, const char*> read;  // returned by each way, so never copied
  const bool is_cancel = message.kind == rpc::MessageKind::notification &&
                         !cancel_method_.empty() && method == cancel_method_;
  if (is_cancel) {
    const auto id = rpc::find_member(message.params, "id");
    read->kind = call::ClientIntent::Kind::cancel;
    if (id) read->cancelled_id = *id;
    if (!id && id.error() == rpc::MemberError::duplicate) {
      read = tl::unexpected<const char*>("the cancel's params name the id twice");
    }
  }
  return read;
}

std::string_view JsonRpcDialect::cancelled_by_child(const rpc::Envelope& notification,
                                                    std::string_view method) const {
  if (cancel_method_.empty() || method != cancel_method_) return {};
  return rpc::find_member(notification.params, "id").value_or(std::string_view());
}

std::string JsonRpcDialect::cancel(rpc::WireId id, CancelReason /*reason*/) const {
  if (cancel_method_.empty()) return {};
  return rpc::notification_text(cancel_method_, R"({"id":)" + std::to_string(id) + "}");
}

}  // namespace stdgate::pool
