// TestAuthority: a certificate authority for tests, made on the spot, which issues certificates and
// a revocation list, all in PEM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stdgate::test {

// A certificate with its chain, and its key.
struct Credential {
  std::string certificate;
  std::string key;
  uint64_t serial = 0;
};

struct CertificateWish {
  std::string name = "localhost";
  std::vector<std::string> hosts = {"localhost"};  // in subjectAltName, beside 127.0.0.1
  std::vector<std::string> uris = {};              // in subjectAltName too
  long begins_seconds = -3600;                     // counted from now
  long ends_seconds = 86400;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "Test Authority");
  // An intermediate authority below `parent`.
  TestAuthority(const std::string& name, TestAuthority& parent);
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  // The certificate is valid for servers and for clients.
  Credential issue(const CertificateWish& wish = {});
  [[nodiscard]] std::string certificate() const;
  [[nodiscard]] uint64_t serial() const;
  // The revocation list, with these serials.
  [[nodiscard]] std::string revocations(const std::vector<uint64_t>& serials = {},
                                        long ends_seconds = 86400) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace stdgate::test
