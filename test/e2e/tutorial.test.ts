// docs/tutorial.md, block by block, as its reader runs it: in a state folder of the test's own.
import { spawnSync } from "node:child_process";
import { delimiter } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pages } from "../house/markdown.ts";
import { eventually as resolved, ROOT, type Start, startLocal, temporaryFolder } from "./local-cluster.ts";

const blocks = pages()
  .find(({ path }) => path === "docs/tutorial.md")!
  .blocks.filter(({ language }) => language === "sh")
  .map(({ text }) => text);

const assets = process.env["KUBEBUILDER_ASSETS"];
const folder = temporaryFolder();
let start: Start;

/** What the block prints; a command of it that fails ends it. */
function run(block: string): string {
  const script = block.replaceAll(".rollcall", folder.path);
  const { status, stdout, stderr } = spawnSync("bash", ["-euc", script], {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...process.env, PATH: `${assets}${delimiter}${process.env["PATH"]}` },
  });
  expect(status, `${script}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

/** A command that fails is tried again as well. */
const eventually = (ask: () => boolean) => resolved(() => new Promise<boolean>((done) => done(ask())));
const nodesShow = (pattern: RegExp) =>
  eventually(() => pattern.test(run("npm run --silent rollcall -- --state .rollcall nodes")));

describe.skipIf(assets === undefined)("the tutorial", () => {
  beforeAll(async () => {
    expect(blocks[0]).toBe("npm ci\nnpm start -- --nodes 5\n");
    start = startLocal(["--state", folder.path, "--nodes", "5"]);
    await start.printed(/^Try:/m);
  });
  afterAll(async () => {
    start.process.kill("SIGINT");
    await start.ended;
    folder.remove();
  });

  it("has so many blocks that are run", () => {
    expect(blocks).toHaveLength(6);
  });

  it("all six are Ready, for kubectl", async () => {
    await eventually(() => run(blocks[1]!).match(/^\S+ +Ready /gm)?.length === 6);
    const shown = run(blocks[1]!);
    expect(shown).toContain("rollcall.dev/facts-only");
  });

  it("and for an operator, with a link to the page", async () => {
    await nodesShow(/sim-5/);
    expect(run(blocks[2]!)).toMatch(/http:\/\/127\.0\.0\.1:\d+\//);
  });

  it("what breaks is seen, and mended", { timeout: 240_000 }, async () => {
    run(blocks[3]!);
    await nodesShow(/sim-1 +silent/);
    const command = "kubectl --kubeconfig .rollcall/kubeconfig describe node sim-2";
    await eventually(() => /MemoryPressure +True/.test(run(command)));
    expect(run(blocks[4]!)).toMatch(/sim-1[^]*silent/);
    run(blocks[5]!);
    await nodesShow(/sim-1 +ready/);
  });
});
