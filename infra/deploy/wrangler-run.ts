// Runs wrangler, which speaks to Cloudflare with its own login or with CLOUDFLARE_API_TOKEN, and says what its errors mean.
// It asks nothing: whoever deploys may be no person at a terminal.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { OperatorFault } from "../operator/fault.ts";

export interface WranglerEnd {
  code: number;
  stdout: string;
  stderr: string;
}
/** `args`: behind `wrangler`. */
export type Wrangler = (args: readonly string[]) => Promise<WranglerEnd>;

/** `root`: the project's, whose wrangler it is. */
export function wranglerOf(root: string, environment: NodeJS.ProcessEnv): Wrangler {
  const program = join(root, "node_modules/wrangler/bin/wrangler.js");
  return (args) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [program, ...args], {
        cwd: root,
        // CI: no question, no login in a browser; no colours, since its words are passed on.
        env: { WRANGLER_SEND_METRICS: "false", ...environment, CI: "true", NO_COLOR: "1" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const text = { stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const)
        child[name].setEncoding("utf8").on("data", (chunk: string) => (text[name] += chunk));
      child.once("error", reject);
      child.once("close", (code) => {
        const stderr = stripVTControlCharacters(text.stderr);
        resolve({ code: code ?? 1, stdout: stripVTControlCharacters(text.stdout), stderr });
      });
    });
}

interface KnownFault {
  is: RegExp;
  reason: OperatorFault["reason"];
  cure: string;
  /** In place of wrangler's own. */
  words?: string;
}

const TOKEN =
  'make an API token with the template "Edit Cloudflare Workers" and set CLOUDFLARE_API_TOKEN to it, or: npm exec -- wrangler login';

/** The first that fits says what to do. Codes are those of Cloudflare's API. */
const KNOWN: readonly KnownFault[] = [
  {
    is: /necessary to set a CLOUDFLARE_API_TOKEN|not logged in|Not logged in|You must be logged in/,
    reason: "refused",
    cure: TOKEN,
    words: "nobody is logged in to Cloudflare",
  },
  {
    is: /More than one account available|multiple accounts/i,
    reason: "usage",
    cure: "write the account's ID as account: in the settings",
  },
  {
    is: /\[code: (7003|7000)\]|Could not route to|account identifier/i,
    reason: "refused",
    cure: "account: is no account of this token's: npm exec -- wrangler whoami lists those that are",
  },
  {
    is: /\[code: (10000|10001|9109|9106|6003|6111)\]|Authentication error|Invalid (access|API) [Tt]oken/,
    reason: "refused",
    cure: TOKEN,
  },
  {
    is: /\[code: 10027\]|exceeded the size limit/,
    reason: "failed",
    cure: "the bundle is larger than the account's plan allows: take a paid plan, or leave out what was added to the Worker",
  },
  {
    is: /\[code: 10097\]|free plan|Workers Paid|upgrade (your|to a) plan/i,
    reason: "failed",
    cure: "the account's plan does not have it: see the Worker's plan in Cloudflare's dashboard",
  },
  {
    is: /\[code: 10037\]|exceeded the (maximum|limit)/i,
    reason: "failed",
    cure: "the account has as many as its plan allows: remove what is not needed, or take a larger plan",
  },
  {
    is: /\[code: (10063|10007)\][^]*subdomain|register a workers\.dev subdomain/i,
    reason: "failed",
    cure: "the account has no workers.dev subdomain: register one in the dashboard, or take an origin of a domain of yours",
  },
  {
    is: /required secrets have not been set/,
    reason: "failed",
    cure: "run npm run deploy again: it makes those that are missing",
  },
  {
    is: /\[code: (10013|10002)\]|50\d|Internal (Server )?Error/,
    reason: "failed",
    cure: "the fault is Cloudflare's: try again in some minutes, and see cloudflarestatus.com",
  },
  {
    is: /fetch failed|ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|socket hang up/,
    reason: "unreachable",
    cure: "Cloudflare's API cannot be reached from here: see to the network or the proxy (HTTPS_PROXY)",
  },
];

/** Is what failed that there is no such Worker? */
export const isNoSuchWorker = ({ stdout, stderr }: WranglerEnd) =>
  /\[code: (10007|10090)\]|does not exist on your account/.test(stdout + stderr);

/** `doing`: "deploying". Its own words, and what to do. */
export function wranglerFault(doing: string, end: WranglerEnd): OperatorFault {
  const text = `${end.stderr}\n${end.stdout}`;
  const { reason = "failed", cure, words = ownWords(text) } = KNOWN.find(({ is }) => is.test(text)) ?? {};
  return { reason, says: `${doing}: ${words}${cure === undefined ? "" : `\n  → ${cure}`}` };
}

/** What stands behind the first [ERROR], without the advice to report it; else its last lines. */
function ownWords(text: string): string {
  const [, block = ""] = /\[ERROR\] ([^]*?)(?:\n\s*If you think this is a bug|✘|🪵|$)/.exec(text) ?? [];
  const lines = (block === "" ? text : block)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return (block === "" ? lines.slice(-3) : lines.slice(0, 6)).join(" ") || "it ended without a word";
}
