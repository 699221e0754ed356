// npm run remove by a file of settings, with the real wrangler and a Cloudflare that is made up: listed, asked for, gone.
import { spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it, test } from "vitest";
import { generatedFolder } from "../../infra/deploy/wrangler-configuration.ts";
import { commandsBelow, runCommands, withOwn } from "../house/page-commands.ts";
import { ROOT, temporaryFolder } from "../e2e/local-cluster.ts";
import { type MadeUpCloudflare, startMadeUpCloudflare } from "./made-up-cloudflare.ts";
import { thisRun } from "../e2e/run-record.ts";

const folder = temporaryFolder();
const ENVIRONMENT = "e2e-remove";
const WORKER = `rollcall-${ENVIRONMENT}`;
const OTHER = "somebody-elses";
let cloudflare: MadeUpCloudflare;

beforeAll(async () => {
  cloudflare = await startMadeUpCloudflare();
});
beforeEach(() => {
  for (const name of [WORKER, OTHER]) {
    const version = {
      id: "3b8f8a4e-6d0c-4a1e-9f5f-0d8b9c1a2e3f",
      number: 1,
      bindings: [{ type: "secret_text", name: "KID_MAC_KEYS" }],
      annotations: {},
      migrationTag: "v5",
    };
    cloudflare.workers.set(name, { versions: [version], deployed: version, hostnames: [] });
  }
});
afterAll(async () => {
  await cloudflare.stop();
  rmSync(generatedFolder(ROOT, ENVIRONMENT), { recursive: true, force: true });
  folder.remove();
});

/** What wrangler asks with, and whom. */
const account = (token: string) => ({
  HOME: folder.path,
  CLOUDFLARE_API_BASE_URL: cloudflare.url,
  CLOUDFLARE_API_TOKEN: token,
});

function remove(flags: string[], token = cloudflare.token) {
  const file = join(folder.path, "rollcall.yaml");
  const settings = {
    origin: "https://rollcall.test",
    apiserver: "https://kube.test",
    account: cloudflare.account,
  };
  writeFileSync(file, JSON.stringify({ environments: { [ENVIRONMENT]: settings } }));
  const child = spawn(
    process.execPath,
    ["infra/deploy/remove-main.ts", "--config", file, "--env", ENVIRONMENT, ...flags],
    {
      cwd: ROOT,
      env: {
        PATH: process.env["PATH"],
        NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
        ...account(token),
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (chunk: string) => (text[name] += chunk));
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((done) =>
    child.once("close", (code) => {
      thisRun().log("npm run remove", text.stdout + text.stderr);
      done({ code, ...text });
    }),
  );
}
const there = () => [...cloudflare.workers.keys()].sort();

it("says what goes, asks, and removes that Worker alone; again → there is none", async () => {
  const asked = await remove([]);
  expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining("pass --yes") as string });
  expect(asked.stdout).toMatch(/^The Worker rollcall-e2e-remove, deployed .*KID_MAC_KEYS.*rollcall export/s);
  expect((await remove(["--dry-run"])).code).toBe(0);
  expect(there()).toEqual([WORKER, OTHER].sort());
  const removed = await remove(["--yes"]);
  expect(removed).toMatchObject({ code: 0, stderr: "" });
  expect(removed.stdout).toMatch(/\nThe Worker rollcall-e2e-remove is removed\.\n$/);
  expect([there(), cloudflare.unknown]).toEqual([[OTHER], []]);
  expect((await remove(["--yes"])).stdout).toMatch(/^There is no Worker rollcall-e2e-remove at Cloudflare/);
});

it("by hand, as docs/removing.md has it → that Worker alone", async () => {
  const byHand = withOwn(commandsBelow("docs/removing.md", "The Worker")[1]!, { NAME: WORKER });
  const env = { ...account(cloudflare.token), CLOUDFLARE_ACCOUNT_ID: cloudflare.account };
  const { stdout } = await runCommands(byHand, { cwd: ROOT, env });
  thisRun().log("wrangler delete", stdout);
  expect([there(), cloudflare.unknown]).toEqual([[OTHER], []]);
});

test.each<[string, string[], string | undefined, number, RegExp]>([
  ["a token that is none", ["--yes"], "no-token", 4, /API token/],
  ["an unknown flag", ["--yess"], undefined, 2, /npm run remove -- --help/],
  ["another environment", ["--env", "nowhere"], undefined, 2, /nothing was removed: correct the settings/],
])("%s → %j: nothing is removed", async (_, flags, token, code, says) => {
  const ended = await remove(flags, token);
  expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(says)]);
  expect(there()).toEqual([WORKER, OTHER].sort());
});
