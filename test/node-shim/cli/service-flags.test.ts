// Tests that a command uses the service's flags, variables and state folder, and that its own flags take
// precedence.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Command } from "commander";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { machineFlags, TOKEN_FILE, withSet, workerFlags } from "../../../node-shim/cli/flags.ts";
import { asServiceDoes } from "../../../node-shim/cli/service-flags.ts";
import type { MachineFlags } from "../../../node-shim/machine/settings.ts";
import { UNIT_NAME } from "../../../node-shim/service/unit.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());
function put(file: string, text: string): void {
  mkdirSync(dirname(join(folder.path, file)), { recursive: true });
  writeFileSync(join(folder.path, file), text);
}
const UNIT = `/usr/lib/systemd/system/${UNIT_NAME}`;
const ENVIRONMENT = "/etc/rollcall/node-shim.env";

interface Flags extends MachineFlags {
  url?: string;
  state: string;
  joinTokenFile?: string;
}

/** Returns the settings of a command with `args`, if the service runs with `flags`. */
function seen(flags: string, args: string[], variables: NodeJS.ProcessEnv = {}, without: string[] = []) {
  put(UNIT, `[Service]\nEnvironmentFile=-${ENVIRONMENT}\nExecStart=/n s run ${flags} $NODE_SHIM_FLAGS\n`);
  const environment = { ...variables };
  const lines: string[] = [];
  const command = machineFlags(workerFlags(new Command("doctor"))).option(TOKEN_FILE, "");
  command.parse(args, { from: "user" });
  asServiceDoes(command, without, { root: folder.path, environment, print: (line) => lines.push(line) });
  return { flags: withSet(command.opts<Flags>()), environment, lines };
}

describe("flags", () => {
  test.each<[situation: string, service: string, args: string[], flags: object]>([
    [
      "the service's configuration",
      "--config /etc/k.yaml",
      [],
      { config: "/etc/k.yaml", state: "/var/lib/rollcall" },
    ],
    ["a flag of the command comes first", "--config /etc/k.yaml", ["--config", "/mine"], { config: "/mine" }],
    [
      "fields of the configuration",
      "--max-pods=7 --node-labels=a=b",
      [],
      { set: { "max-pods": ["7"] }, nodeLabels: ["a=b"] },
    ],
    ["the service's state folder", "--state /data/rollcall", [], { state: "/data/rollcall" }],
    [
      "the same folder, passed as a flag",
      "--state /data/rollcall --config /k",
      ["--state", "/data/../data/rollcall"],
      { config: "/k" },
    ],
    ["a flag that only run has", "--log-format json --config /k", [], { config: "/k" }],
    ["a flag of a newer shim", "--beam-up --config /k", [], { config: "/k" }],
  ])("%s", (_situation, service, args, flags) => {
    expect(seen(service, args).flags).toMatchObject(flags);
  });

  it("another state folder → another shim: no flag is taken, no line is printed", () => {
    put(ENVIRONMENT, "ROLLCALL_URL=https://a.example\n");
    const { flags, environment, lines } = seen("--config /k", ["--state", "/mine"]);
    expect([flags.config, environment, lines]).toEqual([undefined, {}, []]);
  });

  it("flags that a command takes from the enrolment → not taken", () => {
    expect(
      seen("--hostname-override edge-9", [], {}, ["hostnameOverride"]).flags.hostnameOverride,
    ).toBeUndefined();
    expect(seen("--hostname-override edge-9", []).flags.hostnameOverride).toBe("edge-9");
  });

  it("no service → nothing changes, no line is printed", () => {
    const lines: string[] = [];
    const command = workerFlags(new Command("doctor"));
    command.parse([], { from: "user" });
    asServiceDoes(command, [], { root: folder.path, environment: {}, print: (line) => lines.push(line) });
    expect([command.opts(), lines]).toEqual([{ state: "/var/lib/rollcall" }, []]);
  });
});

describe("variables: the command's environment wins over the service's, and a flag wins over both", () => {
  const URL = "https://service.example";
  const given = () =>
    put(ENVIRONMENT, `ROLLCALL_URL=${URL}\nHTTPS_PROXY=http://p:1\nNODE_SHIM_FLAGS=--max-pods=9\n`);

  it("variables of the service's file → are set, and its flags count", () => {
    given();
    const { flags, environment } = seen("", []);
    expect(environment).toEqual({ ROLLCALL_URL: URL, HTTPS_PROXY: "http://p:1" });
    expect(flags.set).toEqual({ "max-pods": ["9"] });
  });

  it("set in the environment → stays", () => {
    given();
    expect(seen("", [], { ROLLCALL_URL: "https://mine.example" }).environment["ROLLCALL_URL"]).toBe(
      "https://mine.example",
    );
  });

  it("set in the environment, and a flag of the service → the environment wins", () => {
    const { flags } = seen("--url https://unit.example", [], { ROLLCALL_URL: "https://mine.example" });
    expect(flags.url).toBeUndefined();
  });

  it("a token in the environment → the service's file is not used", () => {
    const { flags } = seen("--join-token-file /t", [], { ROLLCALL_JOIN_TOKEN: "x" });
    expect(flags.joinTokenFile).toBeUndefined();
  });
});

describe("the printed line", () => {
  it("names the settings that were taken and their files, without values", () => {
    put(ENVIRONMENT, "ROLLCALL_JOIN_TOKEN=secret\n");
    const at = (path: string) => join(folder.path, path);
    expect(seen("--config /k", []).lines).toEqual([
      `as the service does: --config, ROLLCALL_JOIN_TOKEN (${at(UNIT)}, ${at(ENVIRONMENT)})`,
    ]);
  });

  it("a service without a flag → its defaults", () => {
    expect(seen("", []).lines).toEqual([`as the service does: its defaults (${join(folder.path, UNIT)})`]);
  });
});

describe("files that this user may not read → one line that suggests sudo", () => {
  const mayReadAll = process.geteuid?.() === 0;
  test.skipIf(mayReadAll)("the service's file (root may read it)", () => {
    put(ENVIRONMENT, "");
    chmodSync(join(folder.path, ENVIRONMENT), 0o000);
    expect(() => seen("", [])).toThrow(
      /node-shim\.env, which the service reads, is not this user's to read: use sudo$/,
    );
  });

  test.skipIf(mayReadAll)("the state folder (root may read it)", () => {
    const state = join(folder.path, "state");
    mkdirSync(state, { mode: 0o000 });
    expect(() => seen(`--state ${state}`, [])).toThrow(
      /state is not this user's to read: sudo node-shim doctor/,
    );
  });
});
