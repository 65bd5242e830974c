#include "gateway/mcp/era_answers.h"

#include "gateway/mcp/era_bridge.h"

namespace stdgate::mcp {

void EraAnswers::translate(call::Call& call, PeerKind client, call::Answer& answer) const {
  rpc::Envelope seen = answer.message;
  seen.payload = answer.payload;
  std::string& text = texts_.of(call.slots).text;
  text = ",";
  const bool is_another = client == PeerKind::stateless
                              ? bridge_to_modern(seen, call.method_name, text)
                              : bridge_to_legacy(seen, call.method_name, call.memo_text, text);
  if (!is_another) return;
  text += '}';
  answer.tail = text;
}

}  // namespace stdgate::mcp
