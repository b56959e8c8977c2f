#!/usr/bin/env node
/**
 * The command `tillwire`, in syntax that any Node version can parse. `--version` needs nothing that is loaded; for the
 * rest the compile cache is turned on first. An installed package runs its bundle, because Node strips no types below
 * `node_modules`; a checkout runs its sources.
 */
"use strict"

var path = require("path")

var root = path.join(__dirname, "..", "..")

if (process.argv.length === 3 && (process.argv[2] === "--version" || process.argv[2] === "-v")) {
  process.stdout.write("tillwire " + require(path.join(root, "package.json")).version + "\n")
} else {
  var isInstalled = __dirname.split(path.sep).indexOf("node_modules") >= 0
  var folder = isInstalled ? path.join(root, "dist", "service") : root
  require(path.join(folder, "runtime", "cache.cjs"))
  import(
    require("url").pathToFileURL(path.join(folder, "modules", "cli", isInstalled ? "main.js" : "main.ts")).href
  )
}
