// Attempts to reach the sessions, events and parked calls of another client. Each is tried with
// every verb, and with another good credential, a wrong credential, and none. Every group has a
// control: the owner can use its own before and after the attempts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/harness/http_client.h"
#include "tests/integration/harness/setups.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::bypass_owners_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kAda = "the-key-of-ada-1234";
const std::string kBob = "the-key-of-bob-1234";
// A part of every message of a thief. The owner's child must not have read it.
constexpr const char* kMark = "REACHED";
// A part of an event in the owner's stream.
constexpr const char* kSecret = "for-ada-only";

const std::string kAccept = "Accept: application/json, text/event-stream\r\n";

std::string bearer(const std::string& key) { return "Authorization: Bearer " + key + "\r\n"; }

// A client without a right to the session, its listener, and the expected status.
struct Thief {
  std::string name;
  std::string fields;
  size_t listener = 0;
  int status = 404;  // 404: as if the session did not exist
};

std::vector<Thief> thieves() {
  return {
      {"another principal", bearer(kBob)},
      {"nobody, where nobody is asked", "", 1},
      {"another principal, where nobody is asked", bearer(kBob), 1},
      {"no credential", "", 0, 401},
      {"a wrong key", bearer(kAda + "x"), 0, 401},
      {"the owner's name", bearer("ada"), 0, 401},
      {"both keys", bearer(kBob) + bearer(kAda), 0, 400},
      {"both keys in two fields", bearer(kBob) + "X-API-Key: " + kAda + "\r\n", 0, 400},
  };
}

struct Message {
  std::string name;
  std::string text;
};

std::vector<Message> messages() {
  const std::string marked = std::string(R"({"mark":")") + kMark + "\"}";
  return {
      {"a call", request("history", marked)},
      {"a notification", request("notifications/x", marked, "")},
      {"a cancel",
       request("notifications/cancelled", R"({"requestId":77,"reason":"REACHED"})", "")},
      {"an answer to its child", R"({"jsonrpc":"2.0","id":1,"result":{"mark":"REACHED"}})"},
      {"an error to its child",
       R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"REACHED"}})"},
      {"no more of it", request("notifications/initialized", marked, "")},
  };
}

class BypassOwners : public testing::Test {
 protected:
  BypassOwners() {
    folder_.write("ada", kAda + "\n");
    folder_.write("bob", kBob + "\n");
    folder_.write("sessions.key", std::string(64, '5') + "\n");
  }
  [[nodiscard]] std::string auth() const {
    return "auth: { api_keys: [{ name: ada, file: " + folder_.path("ada") +
           " }, { name: bob, file: " + folder_.path("bob") + " }] }\n";
  }
  // Two backends, and a second listener that accepts anonymous clients.
  [[nodiscard]] GatewaySetup setup(const std::string& root = "",
                                   const std::string& options = "") const {
    const std::string of_each = "protocol: mcp, bridge: true, pool: { max: 4 }" + options;
    GatewaySetup setup = serve({backend("main", puppet("mcp"), of_each + ", default: true"),
                                backend("other", puppet("mcp"), of_each)},
                               auth() + root +
                                   "listen: [\"127.0.0.1:0\", { address: \"127.0.0.1:0\", "
                                   "anonymous: true }]\nadmin: \"127.0.0.1:0\"\n");
    setup.listeners = 2;
    return setup;
  }

  test::TestFolder folder_;
};

// A client with a session at /mcp.
struct Owner {
  Owner(const GatewayProcess& gateway, const std::string& its_key,
        const std::string& its_path = "/mcp")
      : key(its_key), path(its_path), http(gateway.connect()) {
    const HttpResponse opened =
        http.post(path,
                  request("initialize", R"({"protocolVersion":"2025-11-25","capabilities":{},)"
                                        R"("clientInfo":{"name":"c","version":"1"}})"),
                  headers());
    EXPECT_EQ(opened.status, 200) << opened.body;
    session = opened.header("mcp-session-id");
    EXPECT_EQ(http.post(path, request("notifications/initialized", "", ""), headers()).status, 202);
  }
  [[nodiscard]] Headers headers(Headers more = {}) const {
    more.emplace("authorization", "Bearer " + key);
    more.emplace("accept", "application/json, text/event-stream");
    if (!session.empty()) more.emplace("mcp-session-id", session);
    return more;
  }
  // The body of the answer to a call: JSON or events.
  std::string call(const std::string& text) { return http.post(path, text, headers()).body; }
  // The messages that the session's child has read.
  std::string history() { return call(request("history")); }

  std::string key;
  std::string path;
  HttpClient http;
  std::string session;
};

std::string session_field(const std::string& session) {
  return "Mcp-Session-Id: " + session + "\r\n";
}

std::string sent(const GatewayProcess& gateway, const Thief& thief, const std::string& method,
                 const std::string& target, const std::string& fields,
                 const std::string& body = "") {
  return answer_to(
      gateway.url(thief.listener),
      raw_request(method, target, "Host: localhost\r\n" + kAccept + thief.fields + fields, body));
}

TEST_F(BypassOwners, NoVerbReachesTheSessionOfAnother) {
  GatewayProcess gateway(setup());
  Owner ada(gateway, kAda);
  HttpClient hanging = gateway.connect();  // a call that a stolen cancel could end
  hanging.send_request("POST", "/mcp", request("hang", "", "77"),
                       ada.headers({{"content-type", "application/json"}}));
  await_in_flight(gateway, 1);
  const std::string field = session_field(ada.session);
  const std::string resumes = field + "Last-Event-ID: 0-0-0\r\n";
  for (const Thief& thief : thieves()) {
    for (const std::string path : {"/mcp", "/main/mcp", "/other/mcp", "/mcp/", "/%6dcp"}) {
      for (const Message& message : messages()) {
        const std::string answer = sent(gateway, thief, "POST", path, field, message.text);
        EXPECT_EQ(status_of(answer), thief.status)
            << thief.name << ", " << path << ": " << message.name << "\n"
            << answer;
      }
      for (const std::string method : {"GET", "DELETE"}) {
        for (const std::string& fields : {field, resumes}) {
          EXPECT_EQ(status_of(sent(gateway, thief, method, path, fields)), thief.status)
              << thief.name << ": " << method << " " << path;
        }
      }
    }
    for (const std::string path : {"/messages?session=", "/messages?sessionId=",
                                   "/main/messages?session=", "/other/messages?session="}) {
      const std::string answer =
          sent(gateway, thief, "POST", path + ada.session, field, messages()[0].text);
      EXPECT_GE(status_of(answer), 400) << thief.name << ": " << path;
    }
  }
  EXPECT_THAT(ada.history(),
              AllOf(HasSubstr("hang"), Not(HasSubstr(kMark)), Not(HasSubstr("cancelled"))));
  ada.http.send_request("DELETE", "/mcp", "", ada.headers());
  EXPECT_EQ(ada.http.read_response().status, 204);
}

// A thief with its own session names the owner's session in a second place.
TEST_F(BypassOwners, NoSecondPlaceNamesTheSessionOfAnother) {
  GatewayProcess gateway(setup());
  Owner ada(gateway, kAda);
  const Owner bob(gateway, kBob);
  const std::string mine = session_field(bob.session);
  const std::string hers = session_field(ada.session);
  const Thief thief{"bob", bearer(kBob)};
  const std::string body = request("pid", R"({"mark":"REACHED"})");
  EXPECT_EQ(status_of(sent(gateway, thief, "POST", "/mcp", mine, body)), 200);
  const std::string hers_pid = ada.call(request("pid"));
  EXPECT_THAT(hers_pid, HasSubstr("result"));
  for (const std::string& fields : std::vector<std::string>{
           hers + mine, mine + hers, session_field(bob.session + ", " + ada.session),
           session_field(ada.session + "," + bob.session), session_field(ada.session + " "),
           session_field("\"" + ada.session + "\""),
           mine + "mcp-session-id: " + ada.session + "\r\n",
           "Mcp_Session_Id: " + ada.session + "\r\n", "Mcp-Session: " + ada.session + "\r\n",
           "Cookie: Mcp-Session-Id=" + ada.session + "\r\n", session_field(ada.session + "x"),
           session_field(ada.session.substr(1)), "Trailer: Mcp-Session-Id\r\n"}) {
    const std::string answer = sent(gateway, thief, "POST", "/mcp", fields, body);
    EXPECT_GE(status_of(answer), 400) << fields << "\n" << answer;
    const int ended = status_of(sent(gateway, thief, "DELETE", "/mcp", fields));
    EXPECT_GE(ended, 400) << fields;
  }
  // These names of query parameters mean nothing, so the thief's own session answers.
  for (const std::string target : {"/mcp?session=", "/mcp?sessionId=", "/mcp?Mcp-Session-Id="}) {
    const std::string answer = sent(gateway, thief, "POST", target + ada.session, mine, body);
    EXPECT_THAT(answer, AllOf(HasSubstr("result"), Not(HasSubstr(hers_pid)))) << target;
  }
  EXPECT_THAT(ada.history(), Not(HasSubstr(kMark)));
}

// Requests of several clients on one connection, as a proxy sends them. Each is judged by its own
// credential, even if the rest of the head repeats the previous request.
TEST_F(BypassOwners, NoConnectionLendsItsFormerClient) {
  GatewayProcess gateway(setup());
  Owner ada(gateway, kAda);
  HttpClient proxy = gateway.connect();
  const auto ask = [&](const std::string& fields, const std::string& body) {
    proxy.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + kAccept + session_field(ada.session) +
               fields + "Content-Type: application/json\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body);
    return proxy.read_response();
  };
  const std::string marked = request("notifications/x", R"({"mark":"REACHED"})", "");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask(bearer(kAda), request("notifications/x", "{}", "")).status, 202);
    EXPECT_EQ(ask(bearer(kBob), marked).status, 404);
    EXPECT_EQ(ask("", marked).status, 401);
    EXPECT_EQ(ask(bearer(kBob + "x"), marked).status, 401);
  }
  // The following requests arrive before the first is answered.
  const auto text = [&](const std::string& fields, const std::string& body) {
    return "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + kAccept + session_field(ada.session) +
           fields +
           "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  };
  proxy.send(text(bearer(kAda), request("notifications/x", "{}", "")) + text("", marked) +
             text(bearer(kBob), marked));
  EXPECT_EQ(proxy.read_response().status, 202);
  EXPECT_EQ(proxy.read_response().status, 401);
  EXPECT_EQ(proxy.read_response().status, 404);
  EXPECT_THAT(ada.history(), Not(HasSubstr(kMark)));
}

std::vector<std::string> event_ids(const std::string& stream) {
  constexpr std::string_view kField = "id: ";
  std::vector<std::string> ids;
  for (size_t at = stream.find(kField); at != std::string::npos; at = stream.find(kField, at)) {
    at += kField.size();
    ids.push_back(stream.substr(at, stream.find('\n', at) - at));
  }
  return ids;
}

TEST_F(BypassOwners, NoEventIdReplaysTheStreamOfAnother) {
  GatewayProcess gateway(setup());
  Owner ada(gateway, kAda);
  const Owner bob(gateway, kBob);
  const std::string line = R"({\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",)"
                           R"(\"params\":{\"for\":\"for-ada-only\"}})";
  const std::string stream = ada.call(request("say", R"({"line":")" + line + "\"}"));
  EXPECT_THAT(stream, HasSubstr(kSecret));
  const std::vector<std::string> ids = event_ids(stream);
  ASSERT_GE(ids.size(), 2U);
  // The numbers of the owner's event, to be put behind the name of the thief's session.
  const std::string numbers = ids[0].substr(ids[0].find('-'));
  for (const Thief& thief : thieves()) {
    for (const std::string& id : {ids[0], ids[1], ids.back()}) {
      const std::string last = "Last-Event-ID: " + id + "\r\n";
      for (const std::string& session :
           {session_field(ada.session), session_field(bob.session), std::string()}) {
        for (const std::string path : {"/mcp", "/main/mcp", "/other/mcp"}) {
          const std::string answer = sent(gateway, thief, "GET", path, session + last);
          EXPECT_GE(status_of(answer), 400) << thief.name << ": " << path << " " << session << last;
          EXPECT_THAT(answer, Not(HasSubstr(kSecret))) << thief.name << ": " << path << last;
        }
      }
      const std::string posted =
          sent(gateway, thief, "POST", "/mcp", session_field(bob.session) + last, request("pid"));
      EXPECT_THAT(posted, Not(HasSubstr(kSecret))) << thief.name << ": " << id;
    }
  }
  const Thief thief{"bob", bearer(kBob)};
  for (const std::string& id :
       std::vector<std::string>{numbers, bob.session + numbers, "x" + ids[0], ids[0] + "0",
                                ids[0] + "-0", "*", "-1-0", "0", "0-0-0", ids[0] + ", " + ids[0]}) {
    const std::string answer = sent(gateway, thief, "GET", "/mcp",
                                    session_field(bob.session) + "Last-Event-ID: " + id + "\r\n");
    EXPECT_GE(status_of(answer), 400) << id;
    EXPECT_THAT(answer, Not(HasSubstr(kSecret))) << id;
  }
  HttpClient again = gateway.connect();
  again.send_request("GET", "/mcp", "", ada.headers({{"last-event-id", ids[0]}}));
  ASSERT_EQ(again.read_head().status, 200);
  EXPECT_THAT(again.read_event()->data, HasSubstr(kSecret));
}

// Sealed session ids, whose keys both replicas know.
TEST_F(BypassOwners, NoSealedIdOpensForOthers) {
  const std::string root = "sessions: { key_file: " + folder_.path("sessions.key") + " }\n";
  GatewayProcess first(setup(root));
  GatewayProcess second(setup(root));
  Owner ada(first, kAda);
  const Owner bob(first, kBob);
  const std::string body = request("history", R"({"mark":"REACHED"})");
  const std::string path = "/mcp";
  const auto status = [&](const std::string& key, const std::string& id,
                          const std::string& target) {
    return status_of(sent(second, {"", bearer(key)}, "POST", target, session_field(id), body));
  };
  EXPECT_EQ(status(kBob, ada.session, path), 404);
  EXPECT_EQ(status(kAda, ada.session, "/other/mcp"), 404) << "of another backend";
  // The owner changes one character of the id at a time: clients cannot forge ids.
  for (size_t at = 0; at < ada.session.size(); ++at) {
    std::string changed = ada.session;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_EQ(status(kAda, changed, path), 404) << "character " << at;
  }
  const size_t half = ada.session.size() / 2;
  for (const std::string& id :
       {ada.session.substr(0, half), ada.session.substr(half), ada.session + "AAAA",
        ada.session.substr(0, half) + bob.session.substr(std::min(half, bob.session.size())),
        bob.session.substr(0, half) + ada.session.substr(half)}) {
    EXPECT_EQ(status(kAda, id, path), 404) << id;
    EXPECT_EQ(status(kBob, id, path), 404) << id;
  }
  EXPECT_EQ(status(kAda, ada.session, path), 200);
  EXPECT_EQ(status(kBob, ada.session, path), 404) << "now that it is known there";
}

// --- Parked calls ----------------------------------------------------------------------------

// A call of a client of the modern era that declares elicitation. `more`: further members of its
// params.
std::string modern(const std::string& more, const std::string& arguments = "{}") {
  return request("tools/call",
                 R"({"name":"elicit","arguments":)" + arguments + more +
                     R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                     R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}})");
}

struct Parked {
  std::string state;
  std::string key;
};

std::string resuming(const Parked& call, const std::string& state,
                     const std::string& arguments = "{}") {
  return modern(R"(,"requestState":")" + state + R"(","inputResponses":{")" + call.key +
                    R"(":{"action":"accept","content":{"mark":"REACHED"}}})",
                arguments);
}

class BypassStates : public BypassOwners {
 protected:
  static std::string ask(const GatewayProcess& gateway, const Thief& who, const std::string& body,
                         const std::string& path = "/mcp") {
    return sent(gateway, who, "POST", path,
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                "Mcp-Name: elicit\r\n",
                body);
  }
  static Parked park(const GatewayProcess& gateway, const Thief& who) {
    const std::string answer = ask(gateway, who, modern(""));
    const size_t at = answer.find('{');
    EXPECT_THAT(answer, HasSubstr(R"("resultType":"input_required")"));
    const JsonValue message(answer.substr(at, answer.find_last_of('}') + 1 - at));
    const std::string begin = R"("inputRequests":{")";
    const size_t key = answer.find(begin) + begin.size();
    return {message.text("/result/requestState"), answer.substr(key, answer.find('"', key) - key)};
  }
};

TEST_F(BypassStates, NoStateOfAParkedCallWorksForOthers) {
  const std::string root = "sessions: { key_file: " + folder_.path("sessions.key") + " }\n";
  GatewayProcess gateway(setup(root));
  GatewayProcess replica(setup(root));
  const Thief ada{"ada", bearer(kAda)};
  const Thief bob{"bob", bearer(kBob)};
  const Parked call = park(gateway, ada);
  const Parked another = park(gateway, ada);
  const Parked of_bob = park(gateway, bob);
  const auto is_refused = [](const std::string& answer) {
    return answer.find("requestState is not valid") != std::string::npos &&
           answer.find(kMark) == std::string::npos;
  };
  for (const Thief& thief : thieves()) {
    const std::string answer = ask(gateway, thief, resuming(call, call.state));
    EXPECT_TRUE(thief.status == 404 ? is_refused(answer) : status_of(answer) == thief.status)
        << thief.name << "\n"
        << answer;
  }
  EXPECT_TRUE(is_refused(ask(gateway, ada, resuming(call, call.state), "/other/mcp")));
  EXPECT_TRUE(is_refused(ask(replica, ada, resuming(call, call.state)))) << "of another process";
  EXPECT_TRUE(is_refused(ask(gateway, ada, resuming(call, call.state, R"({"a":1})"))));
  EXPECT_TRUE(is_refused(ask(gateway, ada, resuming(call, of_bob.state))));
  EXPECT_TRUE(is_refused(ask(gateway, bob, resuming(call, call.state))));
  for (size_t at = 0; at < call.state.size(); ++at) {
    std::string changed = call.state;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_TRUE(is_refused(ask(gateway, ada, resuming(call, changed)))) << "character " << at;
  }
  const size_t half = call.state.size() / 2;
  for (const std::string& state :
       {std::string(), std::string("x"), call.state.substr(0, half), call.state.substr(half),
        call.state.substr(1), call.state + "A", call.state + "AAAA", call.state + call.state,
        call.state.substr(0, half) + another.state.substr(half),
        another.state.substr(0, half) + call.state.substr(half)}) {
    EXPECT_TRUE(is_refused(ask(gateway, ada, resuming(call, state)))) << state;
  }
  EXPECT_THAT(ask(gateway, ada, resuming(call, call.state)), HasSubstr(kMark));
  EXPECT_TRUE(is_refused(ask(gateway, ada, resuming(call, call.state)))) << "a second time";
  EXPECT_THAT(ask(gateway, bob, resuming(of_bob, of_bob.state)), HasSubstr(kMark));
}

// A sealed session id is not valid as a request state, nor a request state as a session id.
TEST_F(BypassStates, NoSessionIdIsAState) {
  GatewayProcess gateway(setup());
  const Thief ada{"ada", bearer(kAda)};
  const Owner owner(gateway, kAda);
  const Parked call = park(gateway, ada);
  EXPECT_THAT(ask(gateway, ada, resuming(call, owner.session.substr(2))),
              HasSubstr("requestState is not valid"));
  for (const std::string& id : {call.state, "00" + call.state}) {
    EXPECT_EQ(status_of(sent(gateway, ada, "POST", "/mcp", session_field(id), request("pid"))),
              404);
  }
}

}  // namespace
}  // namespace stdgate::harness::bypass_owners_test
