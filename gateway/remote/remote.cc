#include "gateway/remote/remote.h"

#include <algorithm>
#include <array>

#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::remote {
namespace {

constexpr size_t kMaxShown = 300;

std::string shown(std::string_view text) {
  return visible(trim(text.substr(0, kMaxShown), " \t\r\n"), VisibleText::line);
}

// The text of a refusal: the message of a JSON-RPC error, which may lack its id, or the whole body.
std::string said_by(std::string_view body) {
  std::string text(body);
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  const auto document = parser.parse({text.data(), text.size()});
  if (!document) return shown(body);
  const std::string_view error = rpc::member_or_empty(document->messages[0].envelope.text, "error");
  const std::string_view message = rpc::member_or_empty(error, "message");
  std::string scratch;
  if (!message.starts_with('"')) return shown(body);
  return shown(rpc::decode_string(rpc::string_content(message), scratch));
}

bool has_path(std::string_view place) {
  const size_t scheme = place.find("://");
  const size_t path = place.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  return path != std::string_view::npos && path + 1 < place.size();
}

// The parts of WWW-Authenticate that say where to get a token.
std::string challenge_of(const WebHead& head) {
  const std::string_view challenge = head.find("www-authenticate");
  return challenge.empty() ? std::string() : "; it says: " + shown(challenge);
}

Problem refusal(const WebHead& head, std::string_view body, const std::string& place,
                std::string_view credential) {
  if (head.status == 401 && !credential.empty()) {
    return {Exit::refused, rpc::Fault::unauthenticated,
            place + " does not accept " + shown(credential) + " (401)" + challenge_of(head)};
  }
  if (head.status == 401) {
    return {Exit::refused, rpc::Fault::unauthenticated,
            place + " wants to know who calls (401)" + challenge_of(head) +
                "; --api-key-file, --token-file or --token-command has a credential for it"};
  }
  return {Exit::refused, rpc::Fault::denied,
          place + " does not let this client in (403)" + challenge_of(head) +
              (body.empty() ? std::string() : ": " + said_by(body))};
}

}  // namespace

bool names_lost_session(const WebHead& head, std::string_view body) {
  if (head.status == 404) return true;
  const bool is_challenge = head.status == 401 && !head.find("www-authenticate").empty();
  if ((head.status != 400 && head.status != 401) || is_challenge) return false;
  const std::string said = to_lower_ascii(said_by(body));
  return said.find("session") != std::string::npos ||
         said.find("not initialized") != std::string::npos;
}

std::string shown_url(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  const size_t path = std::min(url.find('/', begin), url.size());
  const size_t at = url.substr(begin, path - begin).rfind('@');
  if (at == std::string_view::npos) return shown(url);
  return shown(std::string(url.substr(0, begin)).append(url.substr(begin + at + 1)));
}

Problem problem_of(const WebFailure& failure, std::string_view url) {
  const std::string place = shown_url(url);
  const std::string why = shown(failure.detail);
  switch (failure.kind) {
    case WebFailure::Kind::unresolved:
      return {Exit::unreachable, rpc::Fault::child_failed,
              place + ": the name of the server is not known: " + why};
    case WebFailure::Kind::unconnected:
      return {Exit::unreachable, rpc::Fault::child_failed,
              "cannot reach " + place + ": " + why + "; is the server there, and does it run?"};
    case WebFailure::Kind::untrusted:
      return {Exit::unreachable, rpc::Fault::child_failed,
              "TLS with " + place + " failed: " + why +
                  (why.ends_with("wrong version number")
                       ? "; it may speak http:// there"
                       : "; --ca FILE names the authority of its certificate, --cert and --key "
                         "that of this client")};
    case WebFailure::Kind::timeout:
      return {Exit::unreachable, rpc::Fault::timeout, place + " did not answer in time"};
    case WebFailure::Kind::too_large:
      return {Exit::no_server, rpc::Fault::child_failed, place + " sends too much: " + why};
    case WebFailure::Kind::cut:
      break;
  }
  return {Exit::unreachable, rpc::Fault::child_failed,
          "the connection to " + place + " was cut: " + why};
}

Problem problem_of(const WebHead& head, std::string_view body, std::string_view url,
                   std::string_view credential) {
  const std::string place = shown_url(url);
  const std::string status = std::to_string(head.status);
  if (head.status == 401 || head.status == 403) return refusal(head, body, place, credential);
  const std::string words = said_by(body);
  const std::string said = words.empty() ? std::string() : ": " + words;
  switch (head.status / 100) {
    case 2:
      return {Exit::no_server, rpc::Fault::child_failed,
              place + " is not an MCP server: it answers with " +
                  (head.find("content-type").empty() ? std::string("no content")
                                                     : shown(head.find("content-type")))};
    case 3:
      return {Exit::no_server, rpc::Fault::child_failed,
              place + " redirects (" + status + ") to " + shown_url(head.find("location")) +
                  ", which is not followed; name that address if it is meant"};
    case 5:
      return {Exit::unreachable, rpc::Fault::child_failed,
              place + " answers with status " + status + said};
    default:
      break;
  }
  if (head.status == 404) {
    return {Exit::no_server, rpc::Fault::not_found,
            "nothing is served at " + place + " (404)" + said +
                (has_path(place) ? "" : "; most servers are at /mcp or /sse")};
  }
  return {Exit::no_server, rpc::Fault::child_failed,
          place + " answers with status " + status + said};
}

Problem missing_greeting(std::string_view body, std::string_view url) {
  const std::string said = said_by(body);
  const bool is_the_same = said.empty() || said.find("initialize first") != std::string::npos;
  return {Exit::no_server, rpc::Fault::invalid_request,
          "send initialize first: " + shown_url(url) + " keeps sessions" +
              (is_the_same ? std::string() : ", and says: " + said)};
}

bool is_failed_beginning(const rpc::Envelope& answer) {
  const auto code = rpc::error_code(answer);
  constexpr std::array kFaults{rpc::Fault::child_failed, rpc::Fault::timeout};
  return code && std::ranges::any_of(kFaults, [&code](rpc::Fault fault) {
           return *code == rpc::fault_code(fault, rpc::CodeSet::mcp);
         });
}

Problem failed_beginning(std::string_view answer, std::string_view url) {
  return {Exit::unreachable, rpc::Fault::child_failed,
          shown_url(url) + " does not begin: " + said_by(answer)};
}

Problem lost_answer(std::string_view url, std::string_view why) {
  return {Exit::lost, rpc::Fault::child_failed,
          "the answer of " + shown_url(url) + " was lost (" + std::string(why) +
              "): whether the request was carried out is not known, and it is not sent again"};
}

std::string answer_of(const Problem& problem, std::string_view id) {
  std::string text;
  rpc::append_fault_response(text, id, {problem.fault, problem.message, {}, {}, {}},
                             rpc::CodeSet::mcp, false);
  return text;
}

Duration Backoff::next() {
  const Duration whole = next_;
  next_ = std::min(2 * next_, kLongest);
  std::uniform_int_distribution<Duration::rep> part(0, (whole / 2).count());
  return whole / 2 + Duration(part(random_));
}

void read_server_text(rpc::EnvelopeParser& parser, std::span<char> text, const std::string& url,
                      LocalClient& client, const std::function<bool(const rpc::Envelope&)>& each) {
  const auto refuse = [&url, &client](const std::string& reason) {
    client.say(shown_url(url) + " has sent what is no JSON-RPC: " + reason);
  };
  const auto document = parser.parse(text);
  if (!document) return refuse(std::string(document.error().reason));
  std::string as_written;
  for (const rpc::ParsedMessage& message : document->messages) {
    if (!message.ok()) {
      refuse(std::string(message.rejection));
      continue;
    }
    rpc::Envelope envelope = message.envelope;
    if (document->omits_version) {
      as_written = rpc::without_version({&message.envelope.text, 1});
      envelope.text = as_written;
    }
    if (!each(envelope)) return;
  }
}

}  // namespace stdgate::remote
