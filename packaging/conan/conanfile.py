# SPDX-License-Identifier: Apache-2.0
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain
from conan.tools.files import copy, load, rmdir
from conan.tools.system import package_manager

required_conan_version = ">=2.0"
PARTS = ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*")


class Profkit(ConanFile):
    name = "profkit"
    description = "Where a step went: on the host, on the GPU and in memory"
    license = "Apache-2.0"
    topics = ("profiler", "cuda")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    # fmt=system: the fmt of the distribution instead of Conan's package. header_only: without the compiled code of sessions and reports
    options = {"fmt": ["conan", "system"], "header_only": [True, False]}
    default_options = {"fmt": "conan", "header_only": False}
    no_copy_source = True

    @property
    def root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self.root, "include/profkit/version.hpp"))
        self.version = ".".join(re.search(rf"#define PROFKIT_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        for pattern in PARTS:
            copy(self, pattern, self.root, self.export_sources_folder)

    def requirements(self):
        if self.options.fmt == "conan":
            self.requires("fmt/[>=9 <13]", transitive_headers=True)

    def system_requirements(self):
        if self.options.fmt == "system":
            package_manager.Apt(self).install(["libfmt-dev"])
            package_manager.Dnf(self).install(["fmt-devel"])
            package_manager.PacMan(self).install(["fmt"])

    def validate(self):
        check_min_cppstd(self, 17)

    def package_id(self):
        if self.info.options.header_only:
            self.info.settings.clear()

    def generate(self):
        toolchain = CMakeToolchain(self)
        for what in ("TESTS", "EXAMPLES", "BENCHMARKS", "PROGRAM"):
            toolchain.cache_variables[f"PROFKIT_BUILD_{what}"] = False
        toolchain.cache_variables["PROFKIT_INSTALL_COMPILED"] = not self.options.header_only
        toolchain.generate()
        if self.options.fmt == "conan":
            CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "share", "doc"))

    def package_info(self):
        # The library's own CMake files define what to link for each component.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "profkit")]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
