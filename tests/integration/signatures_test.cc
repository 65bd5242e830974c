// Signed requests (RFC 9421): which requests the real program accepts, and which it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>
#include <ctime>

#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::signatures_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kSecret = "0123456789abcdef0123456789abcdef";
const std::string kSecretBase64 = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

std::string base64(const unsigned char* bytes, size_t size) {
  std::string text(4 * ((size + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes, static_cast<int>(size));
  return text;
}

std::string sha256(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  size_t size = 0;
  EVP_Q_digest(nullptr, "SHA256", nullptr, text.data(), text.size(), digest.data(), &size);
  return base64(digest.data(), size);
}

std::string hmac(const std::string& secret, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> made{};
  size_t size = 0;
  EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, secret.data(), secret.size(),
            reinterpret_cast<const unsigned char*>(text.data()), text.size(), made.data(),
            made.size(), &size);
  return base64(made.data(), size);
}

// The parts that a client signs. Each test changes one of them.
struct Signing {
  std::string method = "POST";
  std::string path = "/rpc";
  std::string query = {};  // with its question mark
  std::string body = request("echo", "[1]");
  std::string secret = kSecret;
  std::string key_id = "partner";
  std::string nonce = {};  // empty: a fresh nonce
  std::string more = {};   // further parameters
  long moved = 0;          // how far the client's clock is ahead, in seconds
  std::vector<std::string> left_out = {};

  [[nodiscard]] bool covers(const std::string& name) const {
    return std::find(left_out.begin(), left_out.end(), name) == left_out.end();
  }
};

std::string new_nonce() {
  static int count = 0;
  return "nonce-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

// The header fields of the signed request.
Headers sign(const Signing& signing) {
  Headers fields;
  std::string components;
  std::string base;
  const auto cover = [&](const std::string& name, const std::string& value) {
    if (!signing.covers(name)) return;
    components += (components.empty() ? "\"" : " \"") + name + "\"";
    base += "\"" + name + "\": " + value + "\n";
  };
  cover("@method", signing.method);
  cover("@path", signing.path);
  if (!signing.query.empty()) cover("@query", signing.query);
  if (!signing.body.empty()) {
    fields["content-digest"] = "sha-256=:" + sha256(signing.body) + ":";
    cover("content-digest", fields["content-digest"]);
  }
  std::string parameters = "(" + components + ")";
  const auto add = [&](const std::string& name, const std::string& value) {
    if (signing.covers(name)) parameters += ";" + name + "=" + value;
  };
  add("created", std::to_string(std::time(nullptr) + signing.moved));
  add("nonce", "\"" + (signing.nonce.empty() ? new_nonce() : signing.nonce) + "\"");
  add("keyid", "\"" + signing.key_id + "\"");
  parameters += signing.more;
  base += "\"@signature-params\": " + parameters;
  fields["signature-input"] = "sig=" + parameters;
  fields["signature"] = "sig=:" + hmac(signing.secret, base) + ":";
  return fields;
}

class Signatures : public testing::Test {
 protected:
  Signatures() { folder_.write("secret", kSecretBase64 + "\n"); }
  [[nodiscard]] GatewaySetup setup(const std::string& more = "") const {
    return serve_one(demo_server(), "",
                     "auth: { signatures: [{ key_id: partner, algorithm: hmac-sha256, "
                     "secret_file: " +
                         folder_.path("secret") + " }]" + more + " }\n");
  }
  static HttpResponse send(const GatewayProcess& gateway, const Signing& signing,
                           const Headers& fields) {
    HttpClient client = gateway.connect();
    Headers all = fields;
    if (!signing.body.empty()) all.emplace("content-type", "application/json");
    client.send_request(signing.method, signing.path + signing.query, signing.body, all);
    return client.read_response();
  }
  static int status(const GatewayProcess& gateway, const Signing& signing) {
    return send(gateway, signing, sign(signing)).status;
  }

  test::TestFolder folder_;
};

TEST_F(Signatures, LetIn) {
  GatewayProcess gateway(setup());
  EXPECT_EQ(status(gateway, {}), 200);
  EXPECT_EQ(status(gateway, {.path = "/main/rpc", .query = "?a=b"}), 200);
  EXPECT_EQ(status(gateway, {.method = "GET", .path = "/", .body = ""}), 200);
  EXPECT_EQ(status(gateway, {.more = ";alg=\"hmac-sha256\";tag=\"x\""}), 200);
  EXPECT_EQ(status(gateway, {.moved = 50}), 200);
  EXPECT_EQ(status(gateway, {.moved = -50}), 401)
      << "of before the start, whose nonces are unknown";
  WebSocketClient socket(gateway.url(),
                         {.headers = sign({.method = "GET", .path = "/ws", .body = ""})});
  EXPECT_EQ(socket.call("echo", "[1]"), result("1", "[1]"));
  // Requests on one connection need a signature each.
  HttpClient client = gateway.connect();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.post("/rpc", request("echo", "[1]"), sign({})).status, 200);
    EXPECT_EQ(client.post("/rpc", request("echo", "[1]")).status, 401);
  }
  EXPECT_TRUE(eventually("calls are logged with who has signed them", [&] {
    return gateway.log().find(R"("principal":"partner")") != std::string::npos;
  }));
  EXPECT_THAT(gateway.log(), Not(HasSubstr("sig=")));
}

TEST_F(Signatures, NothingElseGetsPast) {
  GatewayProcess gateway(setup());
  const Signing good;
  const Headers used = sign(good);
  ASSERT_EQ(send(gateway, good, used).status, 200);
  struct Row {
    std::string name;
    Signing sent;
    Headers fields;
    int status = 401;
  };
  const auto with = [&](const std::string& name, const std::string& value) {
    Headers fields = sign(good);
    fields[name] = value;
    return fields;
  };
  const Headers digest_of_other = [&] {
    Headers fields = sign(good);
    fields["content-digest"] = "sha-256=:" + sha256(request("echo", "[2]")) + ":";
    return fields;
  }();
  std::vector<Row> rows = {
      {"a replay", good, used},
      {"another body", {.body = request("echo", "[2]")}, sign(good)},
      {"no body", {.body = ""}, sign(good)},
      {"a body and its digest", {.body = request("echo", "[2]")}, digest_of_other},
      {"a batch of it", {.body = "[" + good.body + "]"}, sign(good)},
      {"another path", {.path = "/main/rpc"}, sign(good)},
      {"the path in other letters", {.path = "/%72pc"}, sign(good)},
      {"a query that is not signed", {.query = "?a"}, sign(good)},
      {"another query", {.query = "?b"}, sign({.query = "?a"})},
      {"another method",
       {.method = "GET", .path = "/", .body = ""},
       sign({.method = "HEAD", .path = "/", .body = ""})},
      {"a clock that is ahead", good, sign({.moved = 120})},
      {"a clock that is behind", good, sign({.moved = -120})},
      {"over", good, sign({.more = ";expires=1"})},
      {"another secret", good, sign({.secret = std::string(32, 'x')})},
      {"another key", good, sign({.key_id = "robot"})},
      {"another algorithm", good, sign({.more = ";alg=\"ed25519\""})},
      {"no signature at all", good, {{"content-digest", used.at("content-digest")}}},
      {"nothing signed", good, with("signature", "sig=::")},
      {"no signature field", good, with("signature", "other=:YQ==:"), 400},
      {"a second signature", good, with("signature", used.at("signature") + ", b=:YQ==:"), 400},
      {"no structured field", good, with("signature-input", "sig=("), 400},
      {"a key beside it", good, with("x-api-key", "0123456789abcdef"), 400},
      {"a component of another kind", good,
       with("signature-input",
            "sig=(\"@method\" \"@path\" \"@query-param\";name=\"a\" "
            "\"content-digest\");created=1;nonce=\"n\";keyid=\"partner\"")},
  };
  for (const std::string name :
       {"@method", "@path", "content-digest", "created", "nonce", "keyid"}) {
    rows.push_back({"without " + name, good, sign({.left_out = {name}})});
  }
  for (const Row& row : rows) {
    const HttpResponse response = send(gateway, row.sent, row.fields);
    EXPECT_EQ(response.status, row.status) << row.name << ": " << response.body;
  }
  // Repeated fields, which a map cannot hold.
  const Headers fields = sign(good);
  for (const std::string twice : {"signature", "signature-input", "content-digest"}) {
    std::string text =
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for (const auto& [name, value] : sign(good)) text += name + ": " + value + "\r\n";
    text += twice + ": " + fields.at(twice) +
            "\r\nContent-Length: " + std::to_string(good.body.size()) + "\r\n\r\n" + good.body;
    HttpClient client = gateway.connect();
    client.send(text);
    EXPECT_EQ(client.read_response().status, twice == "content-digest" ? 401 : 400) << twice;
  }
  EXPECT_EQ(status(gateway, {}), 200);
}

// The chunks of a body are joined and checked before a message in them takes effect.
TEST_F(Signatures, ABodyIsCheckedBeforeItIsActedUpon) {
  GatewayProcess gateway(setup());
  const Signing good{.body = R"({"jsonrpc":"2.0","method":"echo","id":1,"params":["signed"]})"};
  const std::string other = R"({"jsonrpc":"2.0","method":"echo","id":1,"params":["foreign"]})";
  for (const auto& [body, status] : {std::pair(good.body, 200), std::pair(other, 401)}) {
    std::string text =
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for (const auto& [name, value] : sign(good)) text += name + ": " + value + "\r\n";
    text += "Transfer-Encoding: chunked\r\n\r\n";
    HttpClient client = gateway.connect();
    client.send(text);
    for (const char c : body) client.send("1\r\n" + std::string(1, c) + "\r\n");
    client.send("0\r\n\r\n");
    EXPECT_EQ(client.read_response().status, status);
  }
  EXPECT_EQ(gateway.metrics().sum("stdgate_http_refusals_total", {{"reason", "unauthorized"}}), 1);
  EXPECT_EQ(gateway.metrics().sum("stdgate_request_duration_seconds_count"), 1);
}

TEST_F(Signatures, AreForTheUrlThatClientsUse) {
  GatewayProcess gateway(setup(", public_url: \"https://tools.example/gate\""));
  EXPECT_EQ(send(gateway, {}, sign({.path = "/gate/rpc"})).status, 200);
  EXPECT_EQ(send(gateway, {}, sign({})).status, 401);
}

TEST_F(Signatures, BadKeysAreSaid) {
  const TemporaryFolder folder;
  folder.write("secret", "short\n");
  folder.write("gateway.yaml",
               "admin: \"off\"\nauth: { signatures: [{ key_id: a, algorithm: hmac-sha256, "
               "secret_file: secret }] }\nbackends: { a: { command: [cat] } }\n");
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"check"}, {}}) {
    const ProgramRun run = run_stdgate(folder, arguments);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err,
                HasSubstr("auth.signatures[0]: secret: expected 32 bytes or more in base64"));
  }
}

}  // namespace
}  // namespace stdgate::harness::signatures_test
