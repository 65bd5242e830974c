// The address of a client or of a listener, out of a socket's own form.
#pragma once

#include <sys/socket.h>

#include "gateway/base/client_address.h"

namespace stdgate::net {

// Of an AF_INET or AF_INET6 address, with its port; none for others.
ClientAddress to_client_address(const sockaddr_storage& address);

}  // namespace stdgate::net
