// TestAuthority: certificates for tests, made on the spot: an authority, what it signs, and its
// revocation list. All in PEM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stdgate::test {

// A certificate, what stands behind it in its chain, and its key.
struct Credential {
  std::string certificate;
  std::string key;
  uint64_t serial = 0;
};

struct CertificateWish {
  std::string name = "localhost";
  std::vector<std::string> hosts = {"localhost"};  // subjectAltName, beside 127.0.0.1
  std::vector<std::string> uris = {};              // of it too
  long begins_seconds = -3600;                     // from now
  long ends_seconds = 86400;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "Test Authority");
  // An intermediate one of `parent`.
  TestAuthority(const std::string& name, TestAuthority& parent);
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  // For servers and clients alike.
  Credential issue(const CertificateWish& wish = {});
  [[nodiscard]] std::string certificate() const;
  [[nodiscard]] uint64_t serial() const;
  // A list of what is revoked.
  [[nodiscard]] std::string revocations(const std::vector<uint64_t>& serials = {},
                                        long ends_seconds = 86400) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace stdgate::test
