#include "gateway/pool/child_output.h"

#include <utility>

#include "gateway/base/text.h"
#include "gateway/pool/child.h"
#include "gateway/rpc/framer.h"
#include "gateway/rpc/json_reader.h"

namespace stdgate::pool {

namespace {

constexpr std::string_view kHasHeaders =
    "it writes Content-Length headers: set framing: content-length, or for a language server "
    "protocol: lsp (--protocol lsp)";
constexpr std::string_view kHasNoHeaders =
    "it writes no Content-Length headers: set framing: newline; is it no language server, set "
    "protocol: mcp or jsonrpc (--protocol)";

bool is_length_header(std::string_view line) {
  constexpr std::string_view kName = "content-length:";
  return equals_ignoring_case(line.substr(0, kName.size()), kName);
}

}  // namespace

ChildOutput::ChildOutput(const PoolServices& services, const ChildName& name, ChildLog& log,
                         Child& child)
    : services_(services),
      name_(name),
      log_(log),
      child_(child),
      parser_(envelope_limits(services.limits, services.config.envelope)),
      framer_(rpc::make_framer(services.config.framing, services.limits.message,
                               services.core.storages)),
      held_(services.payer, Holding::receiving) {}

rpc::EnvelopeLimits ChildOutput::envelope_limits(const config::LimitsConfig& limits,
                                                 config::EnvelopeForm form) {
  rpc::EnvelopeLimits envelope;
  envelope.depth = limits.depth;
  envelope.batch = limits.batch;
  envelope.version_optional = form == config::EnvelopeForm::lenient;
  return envelope;
}

void ChildOutput::feed(std::span<char> bytes) {
  if (!has_spoken_ && !bytes.empty()) note_first_output(bytes);
  framer_->feed(bytes, *this);
  held_.set(framer_->held());
  if (held_.bytes() <= kSmallMessage || !held_.is_over()) return;
  given_up_ = true;
  framer_->give_up();
  held_.set(framer_->held());
}

void ChildOutput::on_broken_framing(const char* reason) { child_.on_broken_framing(reason); }

void ChildOutput::on_frame(std::span<char> message) {
  if (stopped_) return;
  const std::string_view text(message.data(), message.size());
  const auto document = parser_.parse(message);
  if (!document) {
    const bool is_json = document.error().fault != rpc::Fault::parse_error;
    if (services_.config.framing == rpc::Framing::newline && is_length_header(text)) {
      note_misfit(kHasHeaders);
    }
    rpc::SkippedMessage unread;
    unread.feed(text);
    drop({is_json ? DropReason::not_rpc : DropReason::not_json, document.error().reason, text,
          unread.id(), text.size()});
    // A message that the end of the output cuts off is not judged: its call ends with the child.
    if (!has_ended_ && !unread.names_method()) end_call_of(unread.id(), document.error().reason);
    return;
  }
  if (document->omits_version != std::exchange(omits_version_, document->omits_version)) {
    child_.on_version_omitted(omits_version_);
  }
  for (const rpc::ParsedMessage& parsed : document->messages) handle(parsed);
  if (omits_version_) parser_.release();
}

void ChildOutput::handle(const rpc::ParsedMessage& message) {
  if (!message.ok()) return handle_broken(message);
  const rpc::Envelope& envelope = message.envelope;
  switch (envelope.kind) {
    case rpc::MessageKind::result:
    case rpc::MessageKind::error:
      if (const char* const why = child_.on_answer(envelope)) {
        drop({DropReason::unknown_id, why, envelope.text, envelope.id, envelope.text.size()});
      }
      break;
    case rpc::MessageKind::notification: {
      const std::string_view method = envelope.decoded_method(method_);
      if (services_.logs_messages) {
        log_message(services_, name_, "child notifies", method, envelope.text.size());
      }
      child_.on_notification(envelope, method);
      break;
    }
    case rpc::MessageKind::request: {
      const std::string_view method = envelope.decoded_method(method_);
      if (services_.logs_messages) {
        log_message(services_, name_, "child asks", method, envelope.text.size());
      }
      child_.on_request(envelope, method);
      break;
    }
  }
}

// An invalid response, also one that is no JSON or nested too deeply, still ends the call that it
// names, but is not passed on. A message with an id and no method counts as a response, even
// without result and error.
void ChildOutput::handle_broken(const rpc::ParsedMessage& message) {
  const std::string_view text = message.envelope.text;
  const auto method = rpc::find_member(text, "method");
  const bool names_method = method || method.error() == rpc::MemberError::duplicate;
  drop({DropReason::not_rpc, message.rejection, text, message.envelope.id, text.size()});
  if (!names_method) end_call_of(message.envelope.id, message.rejection);
}

void ChildOutput::end_call_of(std::string_view raw_id, const char* why) {
  const auto id = rpc::parse_wire_id(raw_id);
  if (!id) return;
  child_.on_unreadable_answer(
      *id, rpc::faults::child_failed("the child's answer is no JSON-RPC response", why));
}

void ChildOutput::on_oversized_frame(const rpc::OversizedFrame& frame) {
  const bool lacks_memory = std::exchange(given_up_, false);
  drop({DropReason::oversized,
        lacks_memory ? "limits.buffered is used up" : "message over limits.message",
        frame.beginning, frame.id, frame.size});
  const auto wire_id = rpc::parse_wire_id(frame.id);
  if (!wire_id) return;
  if (lacks_memory) {
    return child_.on_unreadable_answer(
        *wire_id, rpc::faults::overloaded("the child's answer was dropped, as memory for clients "
                                          "and backends is used up (limits.buffered)"));
  }
  child_.on_unreadable_answer(
      *wire_id, rpc::faults::too_large("the child's answer is larger than limits.message",
                                       std::to_string(frame.size) + " bytes"));
}

// Logged once, and at once: with the wrong framing every message is lost.
void ChildOutput::note_misfit(std::string_view hint) {
  if (!misfit_.empty() || log_.is_muted()) return;
  misfit_ = hint;
  log_.does_not_fit(hint);
}

// A child of a backend with framing content-length has to begin with a header.
void ChildOutput::note_first_output(std::span<const char> bytes) {
  has_spoken_ = true;
  if (services_.config.framing == rpc::Framing::content_length && bytes.front() == '{') {
    note_misfit(kHasNoHeaders);
  }
}

void ChildOutput::drop(const DroppedOutput& output) {
  services_.drop(output.reason);
  log_.dropped(output);
}

}  // namespace stdgate::pool
