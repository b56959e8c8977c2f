/**
 * The options of V8 that the service runs with, in syntax that any Node version can parse. V8 reads them before it reads
 * a program, so a process without them begins again: as the same process, with the same words and environment. On Windows
 * no process can do so, and a process with a channel to its parent would lose it: these run without, in more memory.
 *
 * An option that the command line or `NODE_OPTIONS` names stays as it is named there.
 */
"use strict"

/**
 * Megabytes. Young objects get a small part, because most of them are garbage within one call, and what the part may
 * hold the process keeps. The old part begins about as large as the service is after its start.
 */
var options = ["--max-semi-space-size=4", "--initial-old-space-size=48"]

var named = process.execArgv.concat((process.env.NODE_OPTIONS || "").split(/\s+/)).map(function(word) {
  return word.split("=")[0].replace(/_/g, "-")
})

var missing = options.filter(function(option) {
  return named.indexOf(option.split("=")[0]) < 0
})

if (missing.length > 0 && typeof process.execve === "function" && process.platform !== "win32" && !process.send) {
  process.execve(
    process.execPath,
    [process.execPath].concat(missing, process.execArgv, process.argv.slice(1)),
    process.env
  )
}
