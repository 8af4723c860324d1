// SPDX-License-Identifier: Apache-2.0
//
// An ordinary program that uses PROFKIT, except for the numbers of steps: 1 warm-up and 3 measured steps. If PROFKIT requests very many, it
// ends the loop itself. Its last line on stderr says that it reached its end.
//
// usage: profkit_some_steps [chdir DIRECTORY | leave | data]      chdir: in the second step; leave: first into a folder, and removes it;
//                                                                 data: first opens data1, data2 and data3
#include <profkit/profkit.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace {

/// The files of a program whose streams may be closed: they get the lowest free descriptors.
void write_data(int (&files)[3], char const* text) {
  for (int& file : files) {
    std::string const name = "data" + std::to_string(1 + (&file - files));
    if (file < 0) file = ::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    static_cast<void>(!::write(file, text, 1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string const way = argc > 1 ? argv[1] : "";
  int files[3] = {-1, -1, -1};
  if (way == "data") write_data(files, "a");
  if (way == "leave" && (::mkdir("left", 0700) != 0 || ::chdir("left") != 0 || ::rmdir("../left") != 0)) return 2;
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // unbuffered output
  profkit::options options = profkit::options::from_env();
  if (options.measured_steps < 1'000'000) {
    options.warmup_steps = 1;
    options.measured_steps = 3;
  }
  {
    profkit::session session{options};
    for (profkit::step step : session) {
      PROF_SCOPE("work");
      if (way == "chdir" && step.index() == 1 && ::chdir(argv[2]) != 0) return 2;
      if (step.index() == 7) {
        std::fputs("8 steps\n", stderr);
        break;
      }
    }
  }
  if (way == "data") write_data(files, "b");
  if (way == "data") return 0;
  std::fputs("the program came to its end\n", stderr);
  return 0;
}
