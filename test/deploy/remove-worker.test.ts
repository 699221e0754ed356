// Tests `npm run remove` with the real wrangler and a made-up Cloudflare. test/infra/deploy/remove.test.ts tests
// all other situations, with a played wrangler that leaves the same account and the same output.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { removeEnvironment } from "../../infra/deploy/remove.ts";
import { readSettings } from "../../infra/deploy/settings-file.ts";
import { generatedFolder } from "../../infra/deploy/wrangler-configuration.ts";
import { ROOT, temporaryFolder } from "../e2e/local-cluster.ts";
import { thisRun } from "../e2e/run-record.ts";
import { commandsBelow, runCommands, withOwn } from "../house/page-commands.ts";
import { addWorkers, copyOf, type MadeUpAccount } from "../infra/deploy/made-up-account.ts";
import { playedWrangler } from "../infra/deploy/played-wrangler.ts";
import { type MadeUpCloudflare, startMadeUpCloudflare } from "./made-up-cloudflare.ts";
import { ownAccount, runRemove } from "./run-deploy.ts";

const folder = temporaryFolder();
const ENVIRONMENT = "e2e-remove";
const WORKER = `rollcall-${ENVIRONMENT}`;
const OTHER = "another-program";
const FILE = join(folder.path, "rollcall.yaml");
const ARGS = ["--config", FILE, "--env", ENVIRONMENT];
let cloudflare: MadeUpCloudflare;
let settingsText: string;

beforeAll(async () => {
  cloudflare = await startMadeUpCloudflare();
  const settings = {
    origin: "https://rollcall.test",
    apiserver: "https://kube.test",
    account: cloudflare.place.account,
  };
  settingsText = JSON.stringify({ environments: { [ENVIRONMENT]: settings } });
  writeFileSync(FILE, settingsText);
});
beforeEach(() => addWorkers(cloudflare.place, [WORKER, OTHER]));
afterAll(async () => {
  await cloudflare.stop();
  rmSync(generatedFolder(ROOT, ENVIRONMENT), { recursive: true, force: true });
  folder.remove();
});

const environment = () => ownAccount(folder.path, cloudflare);
const there = ({ workers }: MadeUpAccount = cloudflare.place) => [...workers.keys()].toSorted();

/** Removes the Worker from this account with the played wrangler. Returns the output of `npm run remove`. */
async function play(account: MadeUpAccount): Promise<string> {
  const settings = readSettings(settingsText, FILE, ENVIRONMENT);
  if (!settings.ok) throw new Error(settings.error.join("\n"));
  let printed = "";
  const print = (words: string) => void (printed += words);
  const program = {
    root: ROOT,
    tracked: {},
    wrangler: playedWrangler(account),
    terminal: { isInteractive: false, ask: () => Promise.reject(new Error("nobody is there")) },
    print,
    complain: print,
  };
  await removeEnvironment(program, settings.value, { dryRun: false, yes: true });
  return printed;
}

it("--yes → that Worker alone is removed, as with the played wrangler", async () => {
  const before = copyOf(cloudflare.place);
  const removed = await runRemove([...ARGS, "--yes"], environment());
  expect(removed).toMatchObject({ code: 0, stderr: "" });
  expect([there(), cloudflare.unknown]).toEqual([[OTHER], []]);
  expect(await play(before)).toBe(removed.stdout);
  expect(there(before)).toEqual([OTHER]);
});

it("by hand, as docs/removing.md says → that Worker alone", async () => {
  const byHand = withOwn(commandsBelow("docs/removing.md", "The Worker")[1]!, { NAME: WORKER });
  const env = { ...environment(), CLOUDFLARE_ACCOUNT_ID: cloudflare.place.account };
  const { stdout } = await runCommands(byHand, { cwd: ROOT, env });
  thisRun().log("wrangler delete", stdout);
  expect([there(), cloudflare.unknown]).toEqual([[OTHER], []]);
});

it.each<[string, string[], RegExp]>([
  ["an unknown flag", ["--yess"], /npm run remove -- --help/],
  ["another environment", ["--env", "nowhere"], /nothing was removed: correct the settings/],
])("%s → %j: nothing is removed", async (_, flags, says) => {
  const ended = await runRemove([...ARGS, ...flags], environment());
  expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(says)]);
  expect(there()).toEqual([OTHER, WORKER]);
});
