// Tests the command lines that are refused before the command starts, in this process. cli.test.ts tests their
// output and exit codes in the installed shim.
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { faultOf } from "../../../../node-shim/base/fault.ts";
import { shimProgram } from "../../../../node-shim/cli/command-line.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
  for (const name of ["ROLLCALL_URL", "HTTPS_PROXY", "https_proxy"]) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  folder.remove();
});

describe("cannot start → one line that says what to do", () => {
  const unreachable = "http://127.0.0.1:1";
  const state = () => join(folder.path, "state");
  const run = (url: string, ...more: string[]) => ["run", "--url", url, "--state", state(), ...more];
  test.each<[situation: string, args: () => string[], line: RegExp]>([
    [
      "no --url, and never joined",
      () => ["run", "--state", state()],
      /^which Worker\? Pass --url https:\/\/HOST/,
    ],
    ["a malformed --url", () => run("rollcall"), /^--url rollcall: must read https:\/\/HOST/],
    ["a --url with a path", () => run("https://a.example/x"), /must read https:\/\/HOST/],
    ["http to another machine", () => run("http://a.example"), /only https:\/\/ leaves this machine/],
    [
      "a configuration that is missing",
      () => run(unreachable, "--config", "/nowhere"),
      /^--config \/nowhere cannot/,
    ],
    [
      "a state folder that cannot be made",
      () => ["run", "--url", unreachable, "--state", join(import.meta.filename, "state")],
      /cannot be used \(ENOTDIR\): pass another --state/,
    ],
    [
      "a flag's value that the kubelet refuses",
      () => ["config", "--eviction-hard", "memory.available<0"],
      /--eviction-hard: eviction threshold memory\.available must be positive: 0/,
    ],
    [
      "a file of authorities that is missing",
      () => run("https://a.example", "--ca-file", "/nowhere"),
      /^--ca-file \/nowhere cannot be read \(ENOENT\)$/,
    ],
    [
      "a service with such a file",
      () => ["install-service", "--print", "--ca-file", "/nowhere"],
      /^--ca-file \/nowhere cannot be read \(ENOENT\)$/,
    ],
    ["three addresses", () => ["preview", "--node-ip", "1.1.1.1,2.2.2.2,3.3.3.3"], /at most two addresses/],
  ])("%s", async (_situation, args, line) => {
    const refusal: unknown = await shimProgram()
      .parseAsync(args(), { from: "user" })
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(refusal).toBeInstanceOf(Error);
    expect(faultOf(refusal)).toMatch(/^.+$/);
    expect(faultOf(refusal)).toMatch(line);
  });

  test.each(["run", "join"])("%s with a malformed HTTPS_PROXY", async (command) => {
    vi.stubEnv("HTTPS_PROXY", "socks5://edge:Secret@proxy");
    const args = [command, "--url", "https://a.example", "--state", state()];
    const ending = shimProgram().parseAsync(args, { from: "user" });
    await expect(ending).rejects.toThrow(/^HTTPS_PROXY must read http:\/\/\[NAME:PASSWORD@\]HOST:PORT/);
    await expect(ending).rejects.not.toThrow(/Secret/);
  });
});
