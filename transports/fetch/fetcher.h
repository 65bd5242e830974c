// Fetcher: gets small documents from servers of the web, or posts some to them.
//
// Contract: what it gives is a Fetch, which the caller owns; destroying it gives the transfer up.
// `done` is called once, from the outermost level of the loop and never from within start(), and
// may destroy the Fetch. Redirects are not followed.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gateway/observer.h"

namespace stdgate::fetch {

// The views outlive the Fetch.
struct Request {
  std::string url;
  std::string_view certificates = {};        // authorities in PEM; empty: the system's
  std::string_view body = {};                // JSON that is posted; empty: it is a GET
  std::span<const std::string> fields = {};  // further header fields, "Name: value"
  bool keeps_connection = false;             // for the next one to the same server
};

// The result of a fetch.
struct Fetched {
  FetchOutcome outcome = FetchOutcome::ok;
  std::string body = {};
  std::string content_type = {};   // as received; empty: none
  std::string cache_control = {};  // as received; empty: none
  std::string retry_after = {};    // as received; empty: none
  int status = 0;                  // of HTTP; 0: it got no answer
  std::string detail = {};         // what went wrong, for the log
};

class Fetch {
 public:
  virtual ~Fetch() = default;
};

class Fetcher {
 public:
  using Done = std::function<void(const Fetched&)>;

  virtual ~Fetcher() = default;
  virtual std::unique_ptr<Fetch> start(const Request& request, Done done) = 0;
};

}  // namespace stdgate::fetch
