/**
 * Every command of `tillwire`: its name, what it does, and where it is. The file of a command is loaded when that
 * command is asked for, so that the others cost a start nothing.
 */
import type { RunnableCommand } from "./CommandTree.ts"

export interface CommandEntry {
  readonly name: string
  readonly description: string
  readonly load: () => Promise<{ readonly command: RunnableCommand }>
}

/** In the order of the help: what a first day takes comes first. */
export const commandList: ReadonlyArray<CommandEntry> = [
  {
    name: "start",
    description: "Start the service",
    load: () => import("./commands/start.ts")
  },
  {
    name: "migrate",
    description: "Bring the database to this version, or show what is still to run",
    load: () => import("./commands/migrate.ts")
  },
  {
    name: "invoice",
    description: "Create, show and follow invoices",
    load: () => import("./commands/invoice.ts")
  },
  {
    name: "trigger",
    description: "Make something happen to an invoice on devnet",
    load: () => import("./commands/trigger.ts")
  },
  {
    name: "listen",
    description: "Send events on to a program on this machine, signed as webhooks are",
    load: () => import("./commands/listen.ts")
  },
  {
    name: "events",
    description: "List, follow and resend events",
    load: () => import("./commands/events.ts")
  },
  {
    name: "webhooks",
    description: "List endpoints and deliveries, and send again what failed",
    load: () => import("./commands/webhooks.ts")
  },
  {
    name: "verify",
    description: "Say why the signature of a webhook is refused",
    load: () => import("./commands/verify.ts")
  },
  {
    name: "exceptions",
    description: "List and decide what needs a person",
    load: () => import("./commands/exceptions.ts")
  },
  {
    name: "refunds",
    description: "List refunds and ask for them",
    load: () => import("./commands/refunds.ts")
  },
  {
    name: "merchant",
    description: "Make and list merchants",
    load: () => import("./commands/merchant.ts")
  },
  {
    name: "keys",
    description: "Make, list, replace and revoke API keys",
    load: () => import("./commands/keys.ts")
  },
  {
    name: "config",
    description: "Check, print and explain the config file",
    load: () => import("./commands/config.ts")
  },
  {
    name: "doctor",
    description: "Find what is wrong with this deployment, and say what to do",
    load: () => import("./commands/doctor.ts")
  },
  {
    name: "admin",
    description: "Act as the operator: networks, tokens, stuck money, webhooks, books",
    load: () => import("./commands/admin.ts")
  },
  {
    name: "call",
    description: "Make a call of the internal port that has no command of its own",
    load: () => import("./commands/call.ts")
  },
  {
    name: "backup",
    description: "Write the embedded database to an encrypted file, and check one",
    load: () => import("./commands/backup.ts")
  },
  {
    name: "restore",
    description: "Put a backup where there is no database yet",
    load: () => import("./commands/restore.ts")
  },
  {
    name: "secrets",
    description: "Replace the master key",
    load: () => import("./commands/secrets.ts")
  },
  {
    name: "login",
    description: "Print a link that signs in to the dashboard",
    load: () => import("./commands/login.ts")
  },
  {
    name: "openapi",
    description: "Print the OpenAPI document of what the config serves",
    load: () => import("./commands/openapi.ts")
  },
  {
    name: "completions",
    description: "Print the script by which a shell completes commands",
    load: () => import("./commands/completions.ts")
  }
]
