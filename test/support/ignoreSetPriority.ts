/**
 * Loaded before a command that a test runs. It makes `os.setPriority` do nothing, so that the command cannot lower its
 * own priority: with a low one a backup would wait minutes for a processor beside other tests.
 */
import { syncBuiltinESMExports } from "node:module"
import os from "node:os"

Object.assign(os, { setPriority: () => {} })
syncBuiltinESMExports()
