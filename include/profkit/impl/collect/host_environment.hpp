// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "../../profile.hpp"

namespace profkit::detail {

/// The host name, the boot id, and the id and command line of this process (`/proc/self/cmdline`).
inline environment_record describe_host() {
  environment_record result;
  result.process_id = static_cast<std::uint64_t>(::getpid());
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) result.host = host;
  std::ifstream command{"/proc/self/cmdline", std::ios::binary};
  for (std::string argument; std::getline(command, argument, '\0');) result.command.push_back(argument);
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> result.boot_id;
  return result;
}

}  // namespace profkit::detail
