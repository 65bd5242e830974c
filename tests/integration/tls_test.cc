// TLS listeners of the real program: service, refused clients, limits on the number and duration of
// handshakes, changed certificates, and large messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

#include "tests/integration/harness/processes.h"
#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/tls_tunnel.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::tls_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Tls : public testing::Test {
 protected:
  Tls() {
    use(authority_.issue());
    folder_.write("ca.crt", authority_.certificate());
  }
  void use(const test::Credential& credential) const {
    folder_.write("server.crt", credential.certificate);
    folder_.write("server.key", credential.key);
  }
  // A value for `tls`.
  [[nodiscard]] std::string section(const std::string& more = "") const {
    return "{ certificate: " + folder_.path("server.crt") + ", key: " + folder_.path("server.key") +
           (more.empty() ? "" : ", " + more) + " }";
  }
  [[nodiscard]] std::string listen(const std::string& more = "") const {
    return "listen: [{ address: \"127.0.0.1:0\", tls: " + section(more) + " }]\n";
  }
  [[nodiscard]] test::TlsClientOptions client() const {
    return {.authority = authority_.certificate()};
  }
  // The output of a shell command.
  static std::string shell_output(const std::string& command) {
    FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
    std::string text;
    std::array<char, 4096> piece;
    while (const size_t count = std::fread(piece.data(), 1, piece.size(), pipe)) {
      text.append(piece.data(), count);
    }
    ::pclose(pipe);
    return text;
  }
  static std::string port_of(const std::string& url) { return url.substr(url.rfind(':') + 1); }
  static double failures(const GatewayProcess& gateway, const std::string& reason) {
    return gateway.metrics().sum("stdgate_tls_handshake_failures_total", {{"reason", reason}});
  }

  test::TestFolder folder_;
  test::TestAuthority authority_;
};

TEST_F(Tls, ServesHttpAndWebSockets) {
  GatewayProcess gateway(serve_one(demo_server(), "", listen()));
  EXPECT_THAT(gateway.url(), testing::StartsWith("https://127.0.0.1:"));
  TlsTunnel tunnel(gateway.url(), client());
  HttpClient http(tunnel.url());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(http, "echo", "[1]").body, result("1", "[1]"));
  EXPECT_THAT(http.get("/").body,
              AllOf(HasSubstr("https://localhost/rpc"), HasSubstr("wss://localhost/ws"),
                    Not(HasSubstr("http://"))));
  WebSocketClient socket(tunnel.url());
  for (int i = 0; i < 500; ++i) {
    const std::string id = std::to_string(i);
    EXPECT_EQ(socket.call("echo", "[" + id + "]", id), result(id, "[" + id + "]"));
  }
  const JsonValue state = state_of(gateway);
  EXPECT_EQ(state.text("/listeners/0/url"), gateway.url());
  EXPECT_FALSE(state.flag("/listeners/0/admin"));
  EXPECT_EQ(state.text("/tls/0/client_certificate"), "none");
  EXPECT_GT(state.number("/tls/0/certificates/0/expires"), static_cast<double>(std::time(nullptr)));
  EXPECT_EQ(state.number("/handshakes"), 0);
}

TEST_F(Tls, ServesTheAdminPagesAndByTheFlags) {
  GatewayProcess gateway(
      serve_one(demo_server(), "",
                listen() + "admin: { address: \"127.0.0.1:0\", tls: " + section() + " }\n"));
  TlsTunnel tunnel(gateway.admin_url(), client());
  EXPECT_THAT(HttpClient(tunnel.url()).get("/metrics").body,
              HasSubstr("stdgate_tls_certificate_expiry_timestamp_seconds{certificate=\"" +
                        folder_.path("server.crt") + "\",listener=\"127.0.0.1:0\"} 1"));
  GatewaySetup flags;
  flags.arguments = {"--listen",
                     "127.0.0.1:0",
                     "--admin",
                     "127.0.0.1:0",
                     "--protocol",
                     "jsonrpc",
                     "--tls-certificate",
                     folder_.path("server.crt"),
                     "--tls-key",
                     folder_.path("server.key"),
                     "--",
                     STDGATE_PROGRAM,
                     "demo-server"};
  GatewayProcess by_flags(flags);
  TlsTunnel other(by_flags.url(), client());
  HttpClient http(other.url());
  EXPECT_EQ(call(http, "math/add", "[1,2]").body, result("1", "3"));
  EXPECT_THAT(by_flags.admin_url(), testing::StartsWith("http://"));
}

TEST_F(Tls, SpeaksWithCurlAndOpenSsl) {
  GatewayProcess gateway(serve_one(demo_server(), "", listen()));
  const std::string port = port_of(gateway.url());
  const std::string curl = "curl --silent --show-error --max-time 20 --cacert " +
                           folder_.path("ca.crt") + " --header 'content-type: application/json' " +
                           "--data '" + request("echo", "[5]") + "' ";
  EXPECT_EQ(shell_output(curl + "https://localhost:" + port + "/rpc"), result("1", "[5]"));
  EXPECT_THAT(shell_output(curl + "--resolve elsewhere.example:" + port +
                           ":127.0.0.1 https://elsewhere.example:" + port + "/rpc"),
              HasSubstr("elsewhere.example"));
  EXPECT_THAT(shell_output(curl + "--tls-max 1.1 https://localhost:" + port + "/rpc"),
              HasSubstr("curl: (35)"));
  const std::string openssl = "echo | timeout 20 openssl s_client -connect 127.0.0.1:" + port +
                              " -servername localhost -CAfile " + folder_.path("ca.crt");
  EXPECT_THAT(shell_output(openssl + " -alpn h2,http/1.1"),
              AllOf(HasSubstr("Verify return code: 0 (ok)"), HasSubstr("ALPN protocol: http/1.1"),
                    HasSubstr("TLSv1.3")));
  EXPECT_THAT(shell_output(openssl + " -tls1_2 -reconnect"), HasSubstr("Reused, TLSv1.2"));
  EXPECT_THAT(shell_output(openssl + " -tls1_1 -cipher DEFAULT@SECLEVEL=0"),
              HasSubstr("protocol version"));
  EXPECT_GE(failures(gateway, "version"), 1);
}

TEST_F(Tls, PlainHttpIsToldWhereItIs) {
  GatewayProcess gateway(serve_one(demo_server(), "", listen()));
  HttpClient plain("http://127.0.0.1:" + port_of(gateway.url()));
  const HttpResponse answer = plain.post("/rpc", request("echo", "[1]"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body, "this port speaks TLS only; use https:// or wss://\n");
  EXPECT_TRUE(plain.closed_within(Millis(5000)));
  EXPECT_TRUE(eventually("it is counted", [&] { return failures(gateway, "plain_http") == 1; }));
  EXPECT_TRUE(eventually("it is logged", [&] {
    const auto lines = log_of(gateway, "TLS handshake failed");
    return lines.size() == 1 && lines[0].text("/reason") == "plain_http";
  }));
}

TEST_F(Tls, PagesOfItsOwnHaveHttps) {
  GatewayProcess gateway(
      serve_one(demo_server(), "", listen() + "allowed_hosts: [gate.example]\n"));
  TlsTunnel tunnel(gateway.url(), client());
  HttpClient http(tunnel.url());
  const auto status_for = [&](const std::string& origin) {
    return http.post("/rpc", request("echo", "[1]"), {{"host", "gate.example"}, {"origin", origin}})
        .status;
  };
  EXPECT_EQ(status_for("https://gate.example"), 200);
  EXPECT_EQ(status_for("http://gate.example"), 403);
  EXPECT_EQ(status_for("https://other.example"), 403);
}

TEST_F(Tls, SlowHandshakesEndAndDisturbNobody) {
  GatewayProcess gateway(serve_one(demo_server(), "", listen() + "timeouts: { handshake: 1s }\n"));
  const std::string hello = test::TlsClient(client()).take_sealed();
  HttpClient slow("http://127.0.0.1:" + port_of(gateway.url()));
  std::atomic<bool> done = false;
  std::thread drip([&done, &hello, socket = slow.socket()] {
    for (const char byte : hello) {
      if (done || ::send(socket, &byte, 1, MSG_NOSIGNAL) != 1) return;
      std::this_thread::sleep_for(Millis(50));
    }
  });
  TlsTunnel tunnel(gateway.url(), client());
  HttpClient http(tunnel.url());
  EXPECT_EQ(call(http, "echo", "[1]").status, 200);
  EXPECT_TRUE(slow.closed_within(Millis(10'000)));
  done = true;
  drip.join();
  EXPECT_EQ(call(http, "echo", "[1]").status, 200);
  EXPECT_TRUE(eventually("it is counted", [&] { return failures(gateway, "timeout") >= 1; }));
}

TEST_F(Tls, SoManyHandshakesAreUnderWay) {
  GatewayProcess gateway(serve_one(
      demo_server(), "", listen() + "limits: { handshakes: 2 }\ntimeouts: { handshake: 2s }\n"));
  const std::string hello = test::TlsClient(client()).take_sealed();
  HttpClient half("http://127.0.0.1:" + port_of(gateway.url()));
  half.send(hello.substr(0, 20));  // an incomplete handshake costs nothing
  std::vector<HttpClient> hanging;
  for (int i = 0; i < 2; ++i) {
    hanging.emplace_back("http://127.0.0.1:" + port_of(gateway.url()));
    hanging.back().send(hello);
  }
  EXPECT_TRUE(eventually("both are under way",
                         [&] { return state_of(gateway).number("/handshakes") == 2; }));
  hanging[0].close();  // makes room for one handshake
  TlsTunnel tunnel(gateway.url(), client());
  HttpClient http(tunnel.url());
  EXPECT_EQ(call(http, "echo", "[1]").status, 200);
  EXPECT_EQ(failures(gateway, "left"), 1);
}

TEST_F(Tls, FilesAreTakenOverUnderLoad) {
  GatewayProcess gateway(serve_one(demo_server(), "pool: { max: 2 }", listen()));
  std::atomic<bool> done = false;
  std::atomic<int> calls = 0;
  std::thread load([&] {
    TlsTunnel tunnel(gateway.url(), client());
    HttpClient kept(tunnel.url());
    while (!done) {
      HttpClient fresh(tunnel.url());
      for (HttpClient* http : {&kept, &fresh}) {
        EXPECT_EQ(call(*http, "echo", "[1]").body, result("1", "[1]"));
        ++calls;
      }
    }
  });
  for (const char* name : {"second", "third"}) {
    const int before = calls;
    use(authority_.issue({.name = name}));
    EXPECT_TRUE(eventually("it is taken over", [&] {
      return look_at(gateway.url(), client()).peer_name == name && calls > before + 4;
    }));
  }
  folder_.write("server.crt", "nothing");
  EXPECT_TRUE(eventually(
      "it is said", [&] { return log_of(gateway, "TLS files cannot be reloaded").size() == 1; }));
  EXPECT_EQ(look_at(gateway.url(), client()).peer_name, "third");
  done = true;
  load.join();
}

TEST_F(Tls, ClientsShowCertificates) {
  test::TestAuthority people("People");
  const test::Credential good = people.issue();
  const test::Credential revoked = people.issue();
  folder_.write("people.crt", people.certificate());
  folder_.write("people.crl", people.revocations({revoked.serial}));
  folder_.write("good.crt", good.certificate);
  folder_.write("good.key", good.key);
  GatewayProcess gateway(serve_one(
      demo_server(), "",
      listen("client_ca: " + folder_.path("people.crt") + ", crl: " + folder_.path("people.crl")) +
          "audit: { file: " + folder_.path("audit.jsonl") + " }\n"));
  const auto logins = [&] {
    std::ifstream file(folder_.path("audit.jsonl"));
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) {
      if (line.find("login_failed") != std::string::npos) found.push_back(line);
    }
    return found;
  };
  const auto opens = [&](const test::Credential& credential) {
    test::TlsClientOptions options = client();
    options.credential = credential;
    return look_at(gateway.url(), options).is_open;
  };
  EXPECT_TRUE(opens(good));
  EXPECT_FALSE(opens(revoked));
  EXPECT_FALSE(opens({}));
  EXPECT_FALSE(opens(authority_.issue()));
  EXPECT_EQ(state_of(gateway).text("/tls/0/client_certificate"), "require");
  EXPECT_EQ(failures(gateway, "bad_client_certificate"), 2);
  EXPECT_EQ(failures(gateway, "no_client_certificate"), 1);
  EXPECT_TRUE(eventually("the audit has them", [&] { return logins().size() == 3; }));
  EXPECT_THAT(logins()[0],
              AllOf(HasSubstr(R"("reason":"bad_client_certificate")"),
                    HasSubstr(R"("detail":"certificate revoked")"),
                    HasSubstr(R"("listener":"127.0.0.1:)"), HasSubstr(R"("address":"127.0.0.1")")));
  EXPECT_THAT(logins()[1], HasSubstr(R"("reason":"no_client_certificate")"));
  EXPECT_EQ(
      shell_output("curl --silent --show-error --max-time 20 --cacert " + folder_.path("ca.crt") +
                   " --cert " + folder_.path("good.crt") + " --key " + folder_.path("good.key") +
                   " --header 'content-type: application/json' --data '" + request("echo", "[7]") +
                   "' https://localhost:" + port_of(gateway.url()) + "/rpc"),
      result("1", "[7]"));
}

TEST_F(Tls, LargeMessagesBothWays) {
  GatewayProcess gateway(serve_one(puppet(), "isolation: shared, pool: { max: 1 }", listen()));
  TlsTunnel tunnel(gateway.url(), client());
  std::string fill;
  fill.resize(15'000'000, 'x');
  HttpClient http(tunnel.url(), Millis(30'000));
  EXPECT_EQ(call(http, "blob", R"({"size":3,"fill":")" + fill + "\"}").body,
            result("1", "\"xxx\""));
  EXPECT_EQ(call(http, "blob", R"({"size":15000000})").body.size(),
            result("1", "\"" + fill + "\"").size());
  WebSocketClient socket(tunnel.url(), {.deadline = Millis(30'000)});
  socket.send(request("blob", R"({"size":15000000,"fill":")" + fill + "\"}"));
  EXPECT_EQ(socket.message().size(), result("1", "\"" + fill + "\"").size());
}

TEST_F(Tls, WhoTakesNothingIsBounded) {
  GatewayProcess gateway(
      serve_one(puppet(), "isolation: shared, pool: { max: 1 }",
                listen() + "limits: { buffered: 256MiB, buffered_per_client: 64MiB }\n"));
  TlsTunnel tunnel(gateway.url(), client());
  HttpClient healthy(tunnel.url());
  ASSERT_EQ(call(healthy, "blob", R"({"size":15000000})").status, 200);
  [[maybe_unused]] const size_t before = resident_bytes(gateway.pid());
  std::vector<HttpClient> clients;
  for (int i = 0; i < 12; ++i) {
    clients.emplace_back(tunnel.url());
    clients.back().send_request("POST", "/rpc", request("blob", R"({"size":15000000})"),
                                {{"content-type", "application/json"}});
  }
  EXPECT_TRUE(eventually("some are closed", [&] {
    return gateway.log().find("limits.buffered_per_client is used up") != std::string::npos;
  }));
  EXPECT_EQ(call(healthy, "blob", R"({"size":1000})").status, 200);
  if (kSanitized) return;
  EXPECT_LT(peak_resident_bytes(gateway.pid()), before + (size_t{128} << 20));
}

TEST_F(Tls, AnswersComeWholeWhereTheClientHasFinishedSending) {
  GatewayProcess gateway(serve_one(demo_server(), "", listen()));
  TlsTunnel tunnel(gateway.url(), client());
  HttpClient http(tunnel.url());
  EXPECT_EQ(call(http, "echo", "[1]").status, 200);
  http.finish_sending();
  EXPECT_TRUE(http.closed_within(Millis(5000)));
}

TEST_F(Tls, CheckReadsTheFiles) {
  const TemporaryFolder folder;
  const auto check = [&](const std::string& tls) {
    folder.write("gateway.yaml", "tls: " + tls + "\nbackends: { a: { command: [cat] } }\n");
    return run_stdgate(folder, {"check"});
  };
  const ProgramRun good = check(section());
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("tls:\n  certificate: [\"" + folder_.path("server.crt")));
  for (const bool exposed : {true, false}) {
    std::filesystem::permissions(folder_.path("server.key"),
                                 std::filesystem::perms(exposed ? 0644 : 0600));
    const std::string told = "every user can read the keys in " + folder_.path("server.key");
    EXPECT_EQ(check(section()).err.find(told) != std::string::npos, exposed);
  }
  const ProgramRun absent = check("{ certificate: absent.crt, key: absent.key }");
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_EQ(absent.err,
            "gateway.yaml:1:21: tls.certificate: cannot read absent.crt: "
            "No such file or directory\n");
  EXPECT_EQ(absent.out, "");
  folder_.write("other.key", authority_.issue().key);
  EXPECT_THAT(check("{ certificate: " + folder_.path("server.crt") +
                    ", key: " + folder_.path("other.key") + " }")
                  .err,
              HasSubstr("tls.key: " + folder_.path("other.key") + " is not the key of"));
  use(authority_.issue({.ends_seconds = -60}));
  const ProgramRun expired = check(section());
  EXPECT_EQ(expired.exit_code, 0);
  EXPECT_THAT(expired.err,
              HasSubstr("tls.certificate: " + folder_.path("server.crt") + " expired at 20"));
  const ProgramRun start = run_stdgate(
      folder, {"--tls-certificate", "absent.crt", "--tls-key", "absent.key", "--", "cat"});
  EXPECT_EQ(start.exit_code, 2);
  EXPECT_THAT(start.err, HasSubstr("stdgate: --tls-certificate: cannot read absent.crt"));
}

}  // namespace
}  // namespace stdgate::harness::tls_test
