// Fetcher: gets small documents from servers of the web.
//
// Contract: what it gives is a Fetch, which the caller owns; destroying it gives the transfer up.
// `done` is called once, from the outermost level of the loop and never from within start(), and
// may destroy the Fetch. Redirects are not followed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/observer.h"

namespace stdgate::fetch {

struct Request {
  std::string url;                     // WebUrl::is_safe()
  std::string_view certificates = {};  // authorities in PEM, which outlive the Fetch; empty: those
                                       // of the system
};

struct Fetched {
  FetchOutcome outcome = FetchOutcome::ok;
  std::string body = {};
  std::string content_type = {};   // as received; empty: none
  std::string cache_control = {};  // as received; empty: none
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
