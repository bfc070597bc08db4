# cmake -DOUT=file "-DCOMMAND=program;arguments" -P print.cmake
# What the command prints becomes OUT.

get_filename_component(folder ${OUT} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
execute_process(COMMAND ${COMMAND} OUTPUT_FILE ${OUT}.tmp RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${COMMAND}: ${failed}")
endif()
file(RENAME ${OUT}.tmp ${OUT})
