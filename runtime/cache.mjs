/**
 * Keeps compiled code and stripped types where npm's tools keep theirs: a third less processor time to start. JavaScript
 * and loaded before anything else (`--import`), so that a warm start never loads the compiler that strips types: 20 MB
 * of memory. Where the directory cannot be written there is no cache and nothing else changes.
 */
import { enableCompileCache } from "node:module"

enableCompileCache(new URL("../node_modules/.cache/tillwire", import.meta.url).pathname)
