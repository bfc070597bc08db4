# cmake -DBUILD=folder -DSOURCE=folder -DCOMPILER=file -DFLAGS=text -DWORK=folder
#       -P run.cmake
# Installs BUILD, builds main.cpp against what was installed, runs it in another folder, and
# demands the JSON of the installed program, byte for byte. Then the same project with the library
# as a subdirectory is configured.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${status}\n${out}\n${err}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/elsewhere)
set(ENV{DESTDIR} "")
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)

set(configure ${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/tests/consumer
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${configure} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)

set(question glm-5.1-128k-h20-512 hyscale)
run(${CMAKE_COMMAND} -E chdir ${WORK}/elsewhere ${WORK}/build/consumer ${question})
set(of_library "${output}")
list(GET question 0 scenario)
list(GET question 1 variant)
run(${CMAKE_COMMAND} -E chdir ${WORK}/elsewhere
    ${WORK}/prefix/bin/hysim predict ${scenario} --variant ${variant} --json -)
if(NOT of_library STREQUAL output OR NOT output MATCHES "hysim.prediction/1")
  message(FATAL_ERROR "the program says\n${output}\nand the library\n${of_library}")
endif()

run(${configure} -B ${WORK}/subdirectory -DHYSIM_SOURCE=${SOURCE})

find_program(pkg_config pkg-config)
if(pkg_config)
  file(GLOB_RECURSE found ${WORK}/prefix/*/hysim.pc)
  run(${pkg_config} --validate ${found})
endif()
