// Tests docs/tutorial.md: runs it block by block, in a state folder of the test's own. The simulated machines
// report often, so that their gateway notices silence soon.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pages } from "../house/markdown.ts";
import {
  adminOf,
  eventually as resolved,
  partOf,
  ROOT,
  type Start,
  startLocal,
  temporaryFolder,
} from "./local-cluster.ts";

const blocks = pages()
  .find(({ path }) => path === "docs/tutorial.md")!
  .blocks.filter(({ language }) => language === "sh")
  .map(({ text }) => text);
const CONFIGURATION = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: 1s
nodeLeaseDurationSeconds: 8
`;

/**
 * The time limit for a silent machine. If the machine reports by HTTP when it stops, its gateway does not notice
 * its silence; the node controller does, later.
 */
const SEEN_BY_CLUSTER_MS = 240_000;

const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
const hasKubectl = existsSync(join(assets, "kubectl"));
const folder = temporaryFolder();
const state = join(folder.path, "state");
let start: Start;
let endSimulation = () => Promise.resolve();

/** Runs a block of commands and returns its output. The block ends at the first command that fails. */
function run(block: string): string {
  const script = block.replaceAll(".rollcall", state);
  const { status, stdout, stderr } = spawnSync("bash", ["-euc", script], {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...process.env, PATH: `${assets}${delimiter}${process.env["PATH"]}` },
  });
  expect(status, `${script}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

/** Repeats `ask` until it returns true. An error of a command in `ask` counts as false. */
const eventually = (ask: () => boolean) => resolved(() => new Promise<boolean>((done) => done(ask())));
const shows = (command: string, pattern: RegExp) =>
  eventually(() => pattern.test(run(`node infra/operator/dist/rollcall.cjs --state .rollcall ${command}`)));
const nodesShow = (pattern: RegExp) => shows("nodes", pattern);

/**
 * Starts npm start's simulated machines again with this test's configuration and over sockets, so that their
 * gateway notices silence soon. Returns a function that ends them.
 */
async function simulateAgain(): Promise<() => Promise<void>> {
  const config = join(folder.path, "kubelet.yaml");
  writeFileSync(config, CONFIGURATION);
  const { pid, command } = await partOf(start, "simulated");
  process.kill(pid, "SIGTERM");
  await start.printed(/simulated (was ended|ended with)/);
  const often = `${command.replace("--transport http", "--transport auto")} --config ${config}`;
  const child = spawn("sh", ["-c", `exec ${often}`], { stdio: "ignore" });
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  return () => {
    child.kill("SIGTERM");
    return ended;
  };
}

describe("the tutorial", () => {
  beforeAll(async () => {
    expect(blocks[0]).toBe("npm ci\nnpm start -- --nodes 5\n");
    start = startLocal(["--state", state, "--nodes", "5", "--transport", "http"]);
    await start.printed(/^Try:/m);
    endSimulation = await simulateAgain();
    await shows("node sim-1", /^last report .* by socket$/m);
  });
  afterAll(async () => {
    await endSimulation();
    start.end("SIGINT");
    await start.ended;
    folder.remove();
  });

  it("has as many blocks as this test runs", () => {
    expect(blocks).toHaveLength(6);
  });

  it("all six are Ready", async () => {
    for (const name of ["sim-1", "sim-2", "sim-3", "sim-4", "sim-5"])
      await start.printed(new RegExp(`node ${name} is Ready`));
    await start.printed(/node (?!sim-)\S+ is Ready/);
  });

  it.skipIf(!hasKubectl)(`for kubectl${hasKubectl ? "" : " (skipped: KUBEBUILDER_ASSETS has none)"}`, () => {
    const shown = run(blocks[1]!);
    expect(shown.match(/^\S+ +Ready /gm)).toHaveLength(6);
    const columns = (text = "") => /^ *(NAME .*)/m.exec(text)?.[1]?.trim().split(/ {2,}/);
    expect(columns(pages().find(({ path }) => path === "README.md")?.text)).toEqual(columns(shown));
    expect(shown).toContain("rollcall.dev/facts-only");
  });

  it("an operator gets a link to the page", async () => {
    await nodesShow(/sim-5/);
    expect(run(blocks[2]!)).toMatch(/http:\/\/127\.0\.0\.1:\d+\//);
  });

  it("what breaks is shown, and repaired", { timeout: SEEN_BY_CLUSTER_MS }, async () => {
    run(blocks[3]!);
    await nodesShow(/sim-1 +silent/);
    const core = adminOf(state).makeApiClient(CoreV1Api);
    await resolved(async () =>
      (await core.readNode({ name: "sim-2" })).status?.conditions?.some(
        ({ type, status }) => type === "MemoryPressure" && status === "True",
      ),
    );
    expect(run(blocks[4]!)).toMatch(/sim-1[^]*silent/);
    run(blocks[5]!);
    await nodesShow(/sim-1 +ready/);
  });
});
