// Six seconds of npm run hostile -- --as machine, against the embedded apiserver; and its command line.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const { KUBEBUILDER_ASSETS: _, ...environment } = process.env;

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

async function hostile(...args: string[]): Promise<Ended> {
  try {
    return {
      ...(await promisify(execFile)(process.execPath, [MAIN, ...args], { env: environment })),
      code: 0,
    };
  } catch (error) {
    return error as Ended;
  }
}

/** How fast reports are says nothing where other tests run at the same time. */
const DEPENDS_ON_SPEED = /an honest machine's p99/;
it("six seconds of eight machines → each limit is kept, by the Worker and by what is said of it", async () => {
  const { code, stdout, stderr } = await hostile("--as", "machine", "--minutes", "0.1", "--seed", "7");
  const lines = stdout.trimEnd().split("\n");
  const broken = lines.filter((line) => line.startsWith("BROKEN"));
  expect(broken.filter((line) => !DEPENDS_ON_SPEED.test(line))).toEqual([]);
  expect(lines.filter((line) => line.startsWith("kept"))).toHaveLength(15 - broken.length);
  expect(lines.at(-1)).toMatch(
    broken.length === 0 ? /^clean: 15 limits kept$/ : /^not clean: 1 broken; npm run/,
  );
  expect(code).toBe(broken.length === 0 ? 0 : 1);
  // No terminal: no progress.
  expect(stderr).toBe("");
  // All of them acted, and were taken for machines.
  const [, requests] = /ten without a pause +200 × (\d+)/.exec(stdout) ?? [];
  expect(Number(requests)).toBeGreaterThan(0);
  expect(stdout).toContain("against the embedded apiserver");
});

describe("a wrong command line → 2, and why, before anything starts", () => {
  it.each<[args: string[], why: string]>([
    [["--as", "operator"], "Allowed choices are stranger, machine"],
    [["--as", "machine", "--machines", "0"], "must be a whole number from 1 to 99"],
    [["--as", "machine", "--machines", "100"], "must be a whole number from 1 to 99"],
    [["--as", "machine", "--minutes", "0.09"], "must be a number from 0.1 to 1440"],
    [["--as", "machine", "--minutes", "1441"], "must be a number from 0.1 to 1440"],
    [["--as", "machine", "--minutes", "x"], "must be a number from 0.1 to 1440"],
    [["--as", "machine", "--requests", "5"], "--requests is for --as stranger"],
    [["--as", "machine", "--from", "5"], "--from is for --as stranger"],
    [["--as", "machine", "--frames", "5"], "--frames is for --as stranger"],
    [["--machines", "5"], "--machines is for --as machine"],
    [["--as", "stranger", "--minutes", "5"], "--minutes is for --as machine"],
  ])("%j", async (args, why) => {
    const { code, stdout, stderr } = await hostile(...args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(why);
  });
});

it("--help → 0, both ways and their flags", async () => {
  const { code, stdout } = await hostile("--help");
  expect(code).toBe(0);
  for (const text of [
    "--as <who>",
    "--machines <n>",
    "--minutes <n>",
    "--seed <n>",
    "As machine:",
    "Exit codes:",
  ])
    expect(stdout).toContain(text);
});
