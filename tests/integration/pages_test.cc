// Compares statements of the documentation with the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/support/test_certificates.h"

namespace stdgate::harness::pages_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string read_page(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// README.md and the pages in docs.
std::vector<fs::path> user_pages() {
  const fs::path root = STDGATE_SOURCE_DIR;
  std::vector<fs::path> pages = {root / "README.md"};
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  return pages;
}

// The fenced code blocks of this language.
std::vector<std::string> blocks(const std::string& page, const std::string& language) {
  std::vector<std::string> found;
  const std::string fence = "```" + language + "\n";
  for (size_t at = page.find(fence); at != page.npos; at = page.find(fence, at)) {
    at += fence.size();
    found.push_back(page.substr(at, page.find("```", at) - at));
  }
  return found;
}

TEST(Pages, ConfigurationsAreGood) {
  ::setenv("HOSTNAME", "gateway-0", 1);  // as in a pod
  const test::Credential credential = test::TestAuthority().issue();
  size_t count = 0;
  for (const fs::path& page : user_pages()) {
    for (const std::string& config : blocks(read_page(page), "yaml")) {
      const TemporaryFolder folder;
      folder.write("gateway.yaml", config);
      folder.write("tls.crt", credential.certificate);
      folder.write("tls.key", credential.key);
      folder.write("sessions.key", std::string(64, '7') + "\n");
      for (const std::string& json : blocks(read_page(page), "json")) {
        if (json.find("\"openrpc\"") != json.npos) folder.write("sums.json", json);
      }
      const ProgramRun run = run_stdgate(folder, {"check"});
      EXPECT_EQ(run.exit_code, 0) << page << "\n" << config << run.err;
      ++count;
    }
  }
  EXPECT_GE(count, 2U);
}

TEST(Pages, EveryMetricIsNamed) {
  const std::string page = read_page(STDGATE_SOURCE_DIR "/docs/metrics.md");
  const GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  call(client, "math/add", "[1,2]");
  client.post("/rpc", R"({"jsonrpc":"2.0","method":"echo"})");  // a notification
  std::istringstream lines(HttpClient(gateway.admin_url()).get("/metrics").body);
  const std::string prefix = "# TYPE ";
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(prefix) || line.starts_with(prefix + "process_")) continue;
    const std::string name = line.substr(prefix.size(), line.rfind(' ') - prefix.size());
    EXPECT_THAT(page, HasSubstr("`" + name + "`"));
    ++count;
  }
  EXPECT_GE(count, 10U);
}

}  // namespace
}  // namespace stdgate::harness::pages_test
