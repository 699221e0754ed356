// Tests `npm run remove` with a settings file, in this process, with a played wrangler: it lists the Workers, asks
// the operator, and removes them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, it, test } from "vitest";
import { removeEnvironment } from "../../../infra/deploy/remove.ts";
import { readSettings } from "../../../infra/deploy/settings-file.ts";
import type { Wrangler } from "../../../infra/deploy/wrangler-run.ts";
import { addWorkers, type MadeUpAccount, madeUpAccount } from "./made-up-account.ts";
import { playedWrangler } from "./played-wrangler.ts";

const WORKER = "rollcall-west";
const OTHER = "another-program";
let folder: string;
let account: MadeUpAccount;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-remove-"));
  account = madeUpAccount();
  addWorkers(account, [WORKER, OTHER]);
  return () => rmSync(folder, { recursive: true });
});

interface Wish {
  dryRun?: boolean;
  yes?: boolean;
  /** The answer of an operator at a terminal; absent without a terminal. */
  typed?: string;
  wrangler?: Wrangler;
}

async function remove({ dryRun = false, yes = false, typed, wrangler = playedWrangler(account) }: Wish = {}) {
  const text = JSON.stringify({
    environments: {
      west: { origin: "https://a.test", apiserver: "https://kube.test", account: account.account },
    },
  });
  const settings = readSettings(text, join(folder, "rollcall.yaml"), "west");
  if (!settings.ok) throw new Error(settings.error.join("\n"));
  const ran = { stdout: "", stderr: "" };
  const program = {
    root: folder,
    tracked: {},
    wrangler,
    terminal: { isInteractive: typed !== undefined, ask: () => Promise.resolve(typed ?? "") },
    print: (words: string) => void (ran.stdout += words),
    complain: (words: string) => void (ran.stderr += words),
  };
  return { code: await removeEnvironment(program, settings.value, { dryRun, yes }), ...ran };
}

const there = () => [...account.workers.keys()];

it("agreed → that Worker alone is removed; again → there is none", async () => {
  const removed = await remove({ yes: true });
  expect(removed).toMatchObject({ code: 0, stderr: "" });
  expect(removed.stdout).toMatch(/^The Worker rollcall-west, deployed .*KID_MAC_KEYS.*rollcall export/s);
  expect(removed.stdout).toMatch(/\nThe Worker rollcall-west is removed\.\n$/);
  expect(there()).toEqual([OTHER]);
  expect(await remove({ yes: true })).toEqual({
    code: 0,
    stdout: "There is no Worker rollcall-west at Cloudflare: nothing to remove.\n",
    stderr: "",
  });
});

/** Returns a wrangler whose `delete` fails with this output, after or before it has removed the Worker. */
const failsToDelete =
  (stderr: string, when: "after" | "before"): Wrangler =>
  async (args) => {
    const isDelete = args[0] === "delete";
    if (isDelete && when === "before") return { code: 1, stdout: "", stderr };
    const ended = await playedWrangler(account)(args);
    return isDelete ? { code: 1, stdout: "", stderr } : ended;
  };

test.each<[situation: string, wish: () => Wish, code: number, stdout: RegExp, stderr: RegExp]>([
  ["nobody is at a terminal", () => ({}), 1, /KID_MAC_KEYS/, /pass --yes/],
  ["a dry run", () => ({ dryRun: true, yes: true }), 0, /KID_MAC_KEYS[^]*Nothing was removed/, /^$/],
  [
    "a token that is none",
    () => ({ yes: true, wrangler: playedWrangler(account, { token: "another" }) }),
    4,
    /^$/,
    /API token/,
  ],
  [
    "no network",
    () => ({ yes: true, wrangler: playedWrangler(account, { hasNetwork: false }) }),
    5,
    /^$/,
    /cannot be reached/,
  ],
  [
    "wrangler fails, and the Worker is still there",
    () => ({ yes: true, wrangler: failsToDelete("[code: 10013]", "before") }),
    1,
    /KID_MAC_KEYS/,
    /^removing: \[code: 10013\]\n {2}→ the fault is Cloudflare's/,
  ],
])("%s → nothing is removed", async (_, wish, code, stdout, stderr) => {
  expect(await remove(wish())).toEqual({
    code,
    stdout: expect.stringMatching(stdout),
    stderr: expect.stringMatching(stderr),
  });
  expect(there()).toEqual([WORKER, OTHER]);
});

it("wrangler fails after the Worker is gone, as for a token that may not list KV namespaces → it is removed", async () => {
  const wrangler = failsToDelete("Authentication error [code: 10000]", "after");
  expect(await remove({ yes: true, wrangler })).toMatchObject({ code: 0, stderr: "" });
  expect(there()).toEqual([OTHER]);
});
