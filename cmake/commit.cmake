# cmake -DROOT=folder -DOUT=file.cpp -P commit.cmake
# Writes OUT with the commit of the checkout at ROOT: forty digits, "-dirty" after them when tracked
# files differ from it; "unknown" where ROOT is no checkout, as in an unpacked archive.

set(commit unknown)
find_program(GIT git)
if(GIT AND EXISTS ${ROOT}/.git)
  execute_process(COMMAND ${GIT} -C ${ROOT} rev-parse --verify --quiet HEAD
    OUTPUT_VARIABLE head RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed AND head MATCHES "^[0-9a-f]+$")
    set(commit ${head})
    execute_process(COMMAND ${GIT} -C ${ROOT} diff-index --quiet HEAD --
      RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
    if(differs)
      string(APPEND commit -dirty)
    endif()
  endif()
endif()
# Written only when it changes, so that nothing is rebuilt for nothing.
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT "\
namespace hysim {
extern const char kCommit[];
const char kCommit[] = \"${commit}\";
}  // namespace hysim
")
