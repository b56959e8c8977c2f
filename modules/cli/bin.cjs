#!/usr/bin/env node
/**
 * The command `tillwire`, in syntax that any Node version can parse. `--version` needs nothing that is loaded; for the
 * rest the compile cache is turned on first, and for the service the options of V8. An installed package runs its
 * bundle, because Node strips no types below `node_modules`; a checkout runs its sources, or the bundle that was built
 * there where their packages are not installed any more. In a bundle this file is beside the others.
 */
"use strict"

var fs = require("fs")
var path = require("path")

var root = path.join(__dirname, "..", "..")

/** The folder of the files that are run, and what these end with. */
function program() {
  if (fs.existsSync(path.join(root, "chunks"))) return { folder: root, extension: ".js" }
  var bundle = path.join(root, "dist", "service")
  var isInstalled = __dirname.split(path.sep).indexOf("node_modules") >= 0
  var isBuilt = fs.existsSync(bundle) && !fs.existsSync(path.join(root, "node_modules", "effect"))
  return isInstalled || isBuilt ? { folder: bundle, extension: ".js" } : { folder: root, extension: ".ts" }
}

if (process.argv.length === 3 && (process.argv[2] === "--version" || process.argv[2] === "-v")) {
  process.stdout.write("tillwire " + require(path.join(root, "package.json")).version + "\n")
} else {
  var found = program()
  if (process.argv[2] === "start") require(path.join(found.folder, "runtime", "memory.cjs"))
  require(path.join(found.folder, "runtime", "cache.cjs"))
  import(require("url").pathToFileURL(path.join(found.folder, "modules", "cli", "main" + found.extension)).href)
}
