# The toolchain for building for arm64 on another machine: Debian's cross compiler, and the libraries in the root of
# deploy/arm64-root. Headers and libraries of this machine are not used.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/../build/arm64/root ABSOLUTE)
set(STDGATE_CROSS_ROOT ${root} CACHE PATH "Libraries of the other architecture")
set(CMAKE_FIND_ROOT_PATH ${STDGATE_CROSS_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${STDGATE_CROSS_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
# Headers of libraries that have no CMake target.
foreach(language C CXX)
  set(CMAKE_${language}_STANDARD_INCLUDE_DIRECTORIES
    ${STDGATE_CROSS_ROOT}/usr/include ${STDGATE_CROSS_ROOT}/usr/include/aarch64-linux-gnu)
endforeach()
