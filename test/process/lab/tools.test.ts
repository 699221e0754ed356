// Runs each tool of test/lab as short as possible: it must start, do its work and end well.
import { execFile, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { TOOLS } from "../../lab/main.ts";

const LAB = fileURLToPath(new URL("../../lab/main.ts", import.meta.url));
// The tools run without KUBEBUILDER_ASSETS: none of them needs a real apiserver.
const { KUBEBUILDER_ASSETS: _, ...env } = process.env;

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `npm run lab -- ARGUMENT…`. */
function lab(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [LAB, ...args], { env }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
    child.stdin?.end('{ "kind": "Node" }');
  });
}

const names = TOOLS.map(({ name }) => name);

it.concurrent("without a name, or with an unknown one → 2, and all names", async () => {
  for (const args of [[], ["benches"]]) {
    const { code, stdout, stderr } = await lab(...args);
    expect([code, stdout]).toEqual([2, ""]);
    for (const name of names) expect(stderr).toContain(`  ${name} `);
  }
});

it("each tool is an npm script of its name, and each script of test/lab is a tool", () => {
  const { scripts } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
    scripts: Record<string, string>;
  };
  const ofLab = Object.entries(scripts).filter(
    ([name, run]) => name !== "lab" && run.startsWith("node test/lab/"),
  );
  const expected = TOOLS.map(({ name, file }) => [name, `node test/lab/${file}`]);
  expect(Object.fromEntries(ofLab)).toEqual(Object.fromEntries(expected));
});

describe.concurrent("a run of", () => {
  it.each<[args: string, code: number, printed: RegExp]>([
    ["--help", 0, /^npm run lab -- NAME/],
    ["bench heartbeat-bytes", 0, /^size of a heartbeat on the wire.* bytes +ok$/m],
    ["costs --help", 0, /^npm run costs: /],
    ["fleet --nodes 67", 2, /^--nodes is a number from 68 on/],
    ["soak --machines 0", 2, /must be a whole number from 1/],
    [
      "mutation --help",
      0,
      /by default\n +worker\/identity, worker\/registry, worker\/http, worker\/machine,\n +worker\/gateway, .*node-shim\/identity$/m,
    ],
    ["mutation --folder worker/none", 2, /--folder worker\/none: no source is there/],
    ["compare-kubelet -", 1, /^0 fields are the same, \d+ may differ, \d+ must not and do$/m],
    ["hostile --frames 1 --requests 1", 2, /--frames or --requests, not both/],
    ["hostile --as machine --from 5", 2, /--from is for --as stranger/],
    ["hostile --as worker --machines 5", 2, /--machines is for --as machine/],
    ["hostile --requests 200 --seed 7", 0, /^accepted 0, 5xx 0, rows 0$/m],
    ["hostile --requests 5 --tokens 5", 2, /--tokens or --requests, not both/],
    [
      "hostile --tokens 200 --seed 7",
      0,
      /^invented join token +401 × 200$[^]*^no answer 0, objects made 0, apiserver asked 0, registry asked 0, refusals logged 0,/m,
    ],
    ["hostile --frames 40 --seed 7", 0, /^accepted 0, 5xx 0, rows 0, renewals 0$/m],
  ])("%s → %i", async (args, code, printed) => {
    const ended = await lab(...args.split(" "));
    expect(ended.stdout + ended.stderr).toMatch(printed);
    expect(ended.code).toBe(code);
  });

  it("hostile machines → each has done its acts, and each limit is kept", async () => {
    const { stdout, stderr } = await lab(..."hostile --as machine --machines 8 --acts 4 --seed 7".split(" "));
    expect(stderr).toBe("");
    const broken = stdout.split("\n").filter((line) => line.startsWith("BROKEN"));
    // The one limit on speed is left out: only a computer that does nothing else keeps it.
    expect(broken.filter((line) => !line.includes("an honest machine's p99"))).toEqual([]);
    // The answers to questions come on top of the acts.
    const acts = [...stdout.replaceAll(/^answer, .*$/gm, "").matchAll(/ × (\d+)/g)].reduce(
      (sum, [, times]) => sum + Number(times),
      0,
    );
    expect(acts).toBe(8 * 4);
    expect(stdout).toMatch(/^at a limit +200 × /m);
  });

  it("soak that is interrupted once its machines are on sockets → 1, and prints that", async () => {
    const child = spawn(process.execPath, [LAB, "soak", "--machines", "2", "--minutes", "1"], { env });
    const stderr = text(child.stderr);
    child.stdout.on("data", (line: Buffer) => {
      if (line.toString().includes("2 machines on sockets")) child.kill("SIGINT");
    });
    const code = await new Promise((resolve) => void child.once("exit", resolve));
    expect([code, await stderr]).toEqual([1, "npm run soak: interrupted\n"]);
  });
});
