// Header fields of a request, which are read before the client is authenticated. The size is the
// number of elements in a field, or its bytes.
#include <memory>
#include <string>

#include "gateway/base/trace_context.h"
#include "tests/cost/cost_case.h"
#include "transports/http/admission.h"
#include "transports/http/authentication.h"
#include "transports/http/field_value.h"
#include "transports/http/http1_head.h"
#include "transports/http/message_signature.h"
#include "transports/http/request_head.h"
#include "transports/websocket/websocket_endpoint.h"

namespace stdgate::test {

namespace {

using http::RequestHead;

std::string block_of(std::string_view fields, std::string_view target = "/rpc") {
  return "POST " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) +
         "\r\n\r\n";
}

// Counts `read` with a head that has the fields `fields_of(n)`.
template <class Fields, class Read>
CostCase head(const std::string& name, size_t size, Fields&& fields_of, Read&& read) {
  return {"head/" + name, size, [fields_of, read](size_t n) -> Step {
            return [read, block = block_of(fields_of(n))] {
              http::Http1Head parsed;
              must(parsed.parse(block).has_value(), "a head is parsed");
              read(parsed);
            };
          }};
}

// This line, repeated.
std::string fields(size_t count, std::string_view line) {
  return repeated(count, [line](size_t i) { return (i == 0 ? "" : "\r\n") + std::string(line); });
}

http::ConnectionTraits loopback() {
  http::ConnectionTraits traits;
  traits.reach = http::ConnectionTraits::Reach::loopback;
  return traits;
}

// --- Signatures ----------------------------------------------------------------------------------

void read_signature(const RequestHead& parsed) { keep(http::read_signature(parsed, "https://a")); }

std::string signed_with(std::string_view input) {
  return "Signature-Input: " + std::string(input) + "\r\nSignature: s=:AAAA:";
}

std::vector<CostCase> signature_costs() {
  std::vector<CostCase> costs;
  costs.push_back(head(
      "members of Signature-Input", 200,
      [](size_t n) {
        return signed_with(
            repeated(n, [](size_t i) { return (i == 0 ? "k" : ",k") + std::to_string(i); }));
      },
      &read_signature));
  costs.push_back(head(
      "parameters of Signature-Input", 200,
      [](size_t n) {
        return signed_with("s=()" + repeated(n, [](size_t i) { return ";k" + std::to_string(i); }));
      },
      &read_signature));
  costs.push_back(head(
      "components of Signature-Input", 200,
      [](size_t n) {
        return signed_with(
            "s=(" +
            repeated(
                n, [](size_t i) { return (i == 0 ? "\"k" : " \"k") + std::to_string(i) + "\""; }) +
            ");created=1;keyid=\"a\";nonce=\"b\"");
      },
      &read_signature));
  costs.push_back(head(
      "parameters of a component", 200,
      [](size_t n) {
        return signed_with("s=(\"a\"" +
                           repeated(n, [](size_t i) { return ";k" + std::to_string(i); }) + ")");
      },
      &read_signature));
  costs.push_back(head(
      "digests", 200,
      [](size_t n) {
        return "Content-Digest: " + repeated(n, [](size_t i) {
                 return (i == 0 ? "k" : ",k") + std::to_string(i) + "=:AAAA:";
               });
      },
      [](const RequestHead& parsed) {
        const std::string_view body = "{}";
        must(!http::is_digest_right(parsed, {body.data(), body.size()}), "a digest");
      }));
  costs.push_back(head(
      "a long string in a signature", 1000,
      [](size_t n) { return signed_with("s=(\"" + std::string(n, 'x') + "\")"); },
      &read_signature));
  return costs;
}

// --- Other fields --------------------------------------------------------------------------------

std::vector<CostCase> list_costs() {
  std::vector<CostCase> costs;
  const auto accept = [](const RequestHead& parsed) { keep(http::Acceptance::of(parsed)); };
  costs.push_back(head(
      "ranges of Accept", 300,
      [](size_t n) {
        return "Accept: " + fields(1, "") + repeated(n, [](size_t) { return "a/b;q=0.5,"; });
      },
      accept));
  costs.push_back(head(
      "parameters of Accept", 300,
      [](size_t n) { return "Accept: a/b" + repeated(n, [](size_t) { return ";a=\"b\""; }); },
      accept));
  costs.push_back(head(
      "quotes in Accept", 1000, [](size_t n) { return "Accept: " + std::string(n, '"'); }, accept));
  costs.push_back(head(
      "parameters of Content-Type", 300,
      [](size_t n) {
        return "Content-Type: application/json" + repeated(n, [](size_t) { return ";a=b"; });
      },
      [](const RequestHead& parsed) {
        keep(http::is_json_type(parsed.find("content-type")->value));
      }));
  costs.push_back(head(
      "options of Connection", 300,
      [](size_t n) { return "Connection: " + repeated(n, [](size_t) { return "a,"; }); },
      [](const http::Http1Head& parsed) { keep(parsed.keep_alive()); }));
  costs.push_back(head(
      "protocols of a WebSocket", 300,
      [](size_t n) {
        return "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: " +
               repeated(n, [](size_t) { return "a,"; });
      },
      [](const RequestHead& parsed) { keep(websocket::read_handshake(parsed)); }));
  costs.push_back(head(
      "asked headers of a preflight", 200,
      [](size_t n) {
        return "Origin: http://localhost\r\nAccess-Control-Request-Headers: " +
               repeated(n, [](size_t i) { return "mcp-param-" + std::to_string(i) + ","; });
      },
      [](const RequestHead& parsed) {
        std::string out;
        http::append_preflight_fields(out, "POST", parsed);
        keep(out);
      }));
  costs.push_back(head(
      "a long Origin", 1000, [](size_t n) { return "Origin: http://" + std::string(n, 'a'); },
      [](const RequestHead& parsed) {
        http::OriginRules rules;
        rules.allowed_origins = {"https://a.example", "https://b.example"};
        keep(rules.allows_origin(parsed, loopback()));
        keep(http::cors_origin(parsed, rules, loopback()));
      }));
  costs.push_back(head(
      "a long credential", 1000,
      [](size_t n) { return "Authorization: Bearer " + std::string(n, 'a'); },
      [](const RequestHead& parsed) {
        http::DecodedCredential decoded;
        keep(http::read_credential(parsed, decoded));
      }));
  costs.push_back(head(
      "cookies", 500,
      [](size_t n) {
        return "Cookie: " + repeated(n, [](size_t i) { return "a" + std::to_string(i) + "=b; "; });
      },
      [](const RequestHead& parsed) { must(parsed.has_credentials(), "a cookie"); }));
  return costs;
}

// The number of repeated fields is bounded by http::Http1Head::kMaxField.
std::vector<CostCase> repeated_costs() {
  constexpr size_t kFields = http::Http1Head::kMaxField / 4 - 2;
  std::vector<CostCase> costs;
  costs.push_back(head(
      "fields", kFields, [](size_t n) { return fields(n, "a: b"); },
      [](const RequestHead& parsed) { must(parsed.find("none") == nullptr, "find"); }));
  costs.push_back(head(
      "fields Origin", kFields, [](size_t n) { return fields(n, "Origin: http://localhost"); },
      [](const RequestHead& parsed) {
        http::OriginRules rules;
        rules.allowed_origins = {"http://localhost"};
        keep(rules.allows_origin(parsed, loopback()));
        keep(rules.allows_site(parsed));
      }));
  costs.push_back(head(
      "fields Accept", kFields, [](size_t n) { return fields(n, "Accept: application/json"); },
      [](const RequestHead& parsed) { keep(http::Acceptance::of(parsed)); }));
  costs.push_back(head(
      "fields Content-Digest", kFields,
      [](size_t n) {
        return repeated(n, [](size_t i) {
          return (i == 0 ? "Content-Digest: k" : "\r\nContent-Digest: k") + std::to_string(i) +
                 "=:AAAA:";
        });
      },
      [](const RequestHead& parsed) { keep(http::is_digest_right(parsed, {})); }));
  return costs;
}

// --- Proxies and traces --------------------------------------------------------------------------

void follow(const RequestHead& parsed) {
  const auto any = ProxySource::parse("0.0.0.0/0");
  const ClientAddress peer = *ClientAddress::parse("192.0.2.1");
  keep(http::provenance(parsed, peer, {&*any, 1}));
}

std::vector<CostCase> proxy_costs() {
  std::vector<CostCase> costs;
  costs.push_back(head(
      "elements of Forwarded", 300,
      [](size_t n) { return "Forwarded: " + repeated(n, [](size_t) { return "for=192.0.2.1,"; }); },
      &follow));
  costs.push_back(head(
      "pairs of Forwarded", 300,
      [](size_t n) {
        return "Forwarded: for=192.0.2.1" + repeated(n, [](size_t) { return ";a=b"; });
      },
      &follow));
  costs.push_back(head(
      "quotes in Forwarded", 500,
      [](size_t n) { return "Forwarded: " + repeated(n, [](size_t) { return "\\\\\\\""; }); },
      &follow));
  costs.push_back(head(
      "backslashes before a quote in Forwarded", 1000,
      [](size_t n) { return "Forwarded: a=" + std::string(n, '\\') + "\"\""; }, &follow));
  costs.push_back(head(
      "elements of X-Forwarded-For", 300,
      [](size_t n) {
        return "X-Forwarded-For: " + repeated(n, [](size_t) { return " , , 192.0.2.1"; });
      },
      &follow));
  return costs;
}

std::vector<CostCase> trace_costs() {
  const auto state = [](const std::string& name, size_t size, std::string_view entry) {
    return CostCase{"trace/" + name, size, [entry](size_t n) -> Step {
                      return [field = repeated(n, [entry](size_t) { return entry; })] {
                        TraceContext trace;
                        trace.read("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
                        for (int i = 0; i < 4; ++i) trace.add_state(field);
                        keep(trace);
                      };
                    }};
  };
  const auto baggage = [](const std::string& name, size_t size, std::string_view member) {
    return CostCase{"baggage/" + name, size, [member](size_t n) -> Step {
                      return [text = "a=b" + repeated(n, [member](size_t) { return member; })] {
                        keep(Baggage(text));
                      };
                    }};
  };
  return {state("entries", 20, "a=b, "), state("empty entries", 500, " ,\t,"),
          baggage("members", 15, ",a=b"), baggage("properties", 100, ";a=b")};
}

// --- The target ----------------------------------------------------------------------------------

std::vector<CostCase> target_costs() {
  return {{"query/parameters", 300,
           [](size_t n) -> Step {
             return
                 [query = repeated(n, [](size_t i) { return "&a" + std::to_string(i) + "=%41"; })] {
                   must(!http::query_parameter(query, "none"), "query_parameter");
                 };
           }},
          {"query/escapes", 500,
           [](size_t n) -> Step {
             return [text = repeated(n, [](size_t) { return "%41"; })] {
               std::string scratch;
               must(http::percent_decode(text, scratch).size() * 3 == text.size(), "decode");
               keep(http::query_parameter(text, "none"));
             };
           }},
          {"query/a long target", 400, [](size_t n) -> Step {
             return [block = block_of("a: b", "/" + repeated(n, [](size_t) { return "%41/"; }))] {
               http::Http1Head parsed;
               must(parsed.parse(block).has_value(), "a target");
             };
           }}};
}

}  // namespace

std::vector<CostCase> head_costs() {
  std::vector<CostCase> costs;
  for (const auto& some : {signature_costs(), list_costs(), repeated_costs(), proxy_costs(),
                           trace_costs(), target_costs()}) {
    costs.insert(costs.end(), some.begin(), some.end());
  }
  return costs;
}

}  // namespace stdgate::test
