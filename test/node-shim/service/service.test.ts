// Tests install-service and uninstall-service: the resulting unit, the calls of systemd, and the files that stay.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { installService, type ServiceHost, uninstallService } from "../../../node-shim/service/service.ts";
import {
  ASK_SERVICE_UNIT,
  ASK_SOCKET_UNIT,
  askUnitText,
  KMSG_DROP_IN,
  KMSG_TEXT,
  type Installation,
  MADE_BY,
  UNIT_NAME,
  unitText,
} from "../../../node-shim/service/unit.ts";
import { ROOT, temporaryFolder } from "../base/temporary-folder.ts";

const TEMPLATE = readFileSync(join(ROOT, "infra/systemd", UNIT_NAME), "utf8");
const installation: Installation = {
  node: process.execPath,
  shim: join(ROOT, "node-shim/bin/node-shim.cjs"),
  flags: [],
  state: "/var/lib/rollcall",
};
/** Returns all values of a key in a unit: systemd reads a repeated key as a list. */
const values = (unit: string, key: string) =>
  unit.split("\n").flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

describe("the unit", () => {
  test.each<[situation: string, flags: string[], command: string]>([
    ["no flags", [], "run $NODE_SHIM_FLAGS"],
    [
      "plain flags",
      ["--max-pods=7", "--node-ip=10.0.0.1,fd00::1"],
      "run --max-pods=7 --node-ip=10.0.0.1,fd00::1 $",
    ],
    ["a blank and a quote", ['--config=/a b/"c'], String.raw`run "--config=/a b/\"c" $`],
    ["a backslash", [String.raw`--config=/a\b`], String.raw`run "--config=/a\\b" $`],
    ["characters that systemd would expand", ["--config=/50%/$HOME"], 'run "--config=/50%%/$$HOME" $'],
    ["a threshold", ["--eviction-hard=nodefs.available<5%"], 'run "--eviction-hard=nodefs.available<5%%" $'],
  ])("%s → one command line, which systemd parses to the same flags", (_situation, flags, command) => {
    const [execStart] = values(unitText(TEMPLATE, { ...installation, flags }), "ExecStart");
    expect(execStart?.startsWith(`${process.execPath} ${installation.shim} `)).toBe(true);
    expect(execStart).toContain(command);
  });

  it("systemd makes the usual state folder; another one is made writable", () => {
    const usual = unitText(TEMPLATE, installation);
    const other = unitText(TEMPLATE, { ...installation, state: "/data/rollcall" });
    expect([values(usual, "StateDirectory"), values(other, "StateDirectory")]).toEqual([["rollcall"], []]);
    expect(values(other, "ReadWritePaths")).toEqual(["/data/rollcall", "-/var/lib/kubelet/device-plugins"]);
  });

  it("node below a home folder → home folders are readable, and only then", () => {
    const node = "/root/.nvm/versions/node/v22.1.0/bin/node";
    const home = (unit: string) => values(unit, "ProtectHome");
    expect(home(unitText(TEMPLATE, { ...installation, node }))).toEqual(["read-only"]);
    expect(
      home(unitText(TEMPLATE, { ...installation, node: "/usr/bin/node", shim: "/usr/lib/x.js" })),
    ).toEqual(["yes"]);
    const flags = ["--ca-file=/root/ca.pem"];
    expect(
      home(unitText(TEMPLATE, { ...installation, node: "/usr/bin/node", shim: "/usr/lib/x.js", flags })),
    ).toEqual(["read-only"]);
  });
});

test("the unit of a question → the same program, and the key of another state folder is hidden too", () => {
  const template = readFileSync(join(ROOT, "infra/systemd", ASK_SERVICE_UNIT), "utf8");
  const text = askUnitText(template, { ...installation, state: "/data/a b" });
  expect(values(text, "ExecStart")).toEqual([`${installation.node} ${installation.shim} ask --serve %i`]);
  expect(values(text, "InaccessiblePaths")).toEqual(['"-/data/a b/key.json" -/etc/rollcall/join-token']);
});

describe("install-service and uninstall-service", () => {
  let said: string[];
  let host: ServiceHost;
  beforeEach(() => {
    said = [];
    host = {
      root: folder.path,
      isRoot: true,
      systemctl: async (args) => void said.push(args.join(" ")),
    };
    for (const path of ["run/systemd/system", "etc/systemd/system"])
      mkdirSync(join(folder.path, path), { recursive: true });
  });
  const path = () => join(folder.path, "etc/systemd/system", UNIT_NAME);
  const UNIT = unitText(TEMPLATE, installation);
  const textsOf = (unit: string) => ({
    [UNIT_NAME]: unit,
    [ASK_SOCKET_UNIT]: `${MADE_BY}\n[Socket]\n`,
    [ASK_SERVICE_UNIT]: `${MADE_BY}\n[Service]\n`,
  });
  function put(file: string, text: string): void {
    mkdirSync(dirname(join(folder.path, file)), { recursive: true });
    writeFileSync(join(folder.path, file), text);
  }

  it("install → the unit, enabled and started; again → the new unit; uninstall → no file is left", async () => {
    expect(await installService(host, textsOf(UNIT))).toMatch(/is installed, enabled and started$/);
    expect(said).toEqual(["daemon-reload", `enable ${UNIT_NAME}`, `restart ${UNIT_NAME}`]);
    expect(readFileSync(path(), "utf8").startsWith(MADE_BY)).toBe(true);
    const changed = unitText(TEMPLATE, { ...installation, flags: ["--max-pods=7"] });
    await installService(host, textsOf(changed));
    expect(readFileSync(path(), "utf8")).toBe(changed);
    said.length = 0;
    expect(await uninstallService(host)).toMatch(/is stopped and removed; key and enrolment stay/);
    expect(said).toEqual([`disable --now ${UNIT_NAME}`, "daemon-reload", `reset-failed ${UNIT_NAME}`]);
    expect(readdirSync(dirname(path()))).toEqual([]);
    expect(await uninstallService(host)).toBe("no service is installed");
  });

  it("with --questions → the socket for questions as well; without them again → no socket; uninstalled → no file is left", async () => {
    const asked = unitText(TEMPLATE, { ...installation, flags: ["--questions=safe"] });
    const both = [ASK_SOCKET_UNIT, UNIT_NAME].flatMap((name) => [`enable ${name}`, `restart ${name}`]);
    const units = () => readdirSync(dirname(path())).sort();
    await installService(host, textsOf(asked));
    expect(said.splice(0)).toEqual(["daemon-reload", ...both]);
    expect(units()).toEqual([ASK_SOCKET_UNIT, ASK_SERVICE_UNIT, UNIT_NAME]);
    await installService(host, textsOf(UNIT));
    expect(said.splice(0)[0]).toBe(`disable --now ${ASK_SOCKET_UNIT}`);
    expect(units()).toEqual([UNIT_NAME]);
    await installService(host, textsOf(asked));
    said.length = 0;
    await uninstallService(host);
    expect(said).toContain(`disable --now ${ASK_SOCKET_UNIT}`);
    expect(units()).toEqual([]);
  });

  test.each<[situation: string, folder: string]>([
    ["install-service's unit", "none"],
    ["the package's unit", "usr/lib/systemd/system"],
  ])("--kmsg with %s → a drop-in; without --kmsg, or uninstalled → none", async (_situation, folder) => {
    if (folder !== "none") put(`${folder}/${UNIT_NAME}`, TEMPLATE);
    const dropIn = join(dirname(path()), KMSG_DROP_IN);
    await installService(host, textsOf(UNIT), true);
    expect(said).toEqual(["daemon-reload", `enable ${UNIT_NAME}`, `restart ${UNIT_NAME}`]);
    expect(readFileSync(dropIn, "utf8")).toBe(KMSG_TEXT);
    await installService(host, textsOf(UNIT));
    expect(existsSync(dirname(dropIn))).toBe(false);
    await installService(host, textsOf(UNIT), true);
    said.length = 0;
    await uninstallService(host);
    expect(said.slice(0, 2)).toEqual([`disable --now ${UNIT_NAME}`, "daemon-reload"]);
    expect(readdirSync(dirname(path()))).toEqual([]);
  });

  it("a drop-in of the same name from another writer → neither replaced nor removed", async () => {
    put(`etc/systemd/system/${KMSG_DROP_IN}`, "[Service]\n");
    await expect(installService(host, textsOf(UNIT), true)).rejects.toThrow(/was not made by node-shim/);
    await uninstallService(host);
    expect(readFileSync(join(dirname(path()), KMSG_DROP_IN), "utf8")).toBe("[Service]\n");
  });

  it("the package's service has --questions in its environment file → the package's socket is enabled, and disabled", async () => {
    const folder = "usr/lib/systemd/system";
    put(`${folder}/${UNIT_NAME}`, TEMPLATE);
    put(`${folder}/${ASK_SOCKET_UNIT}`, "");
    put("etc/rollcall/node-shim.env", "NODE_SHIM_FLAGS=--max-pods=7 --questions safe\n");
    await installService(host, textsOf(UNIT));
    expect(said.splice(0)).toContain(`enable ${ASK_SOCKET_UNIT}`);
    await uninstallService(host);
    expect(said).toEqual([`disable --now ${UNIT_NAME}`, `disable --now ${ASK_SOCKET_UNIT}`]);
    expect(readdirSync(dirname(path()))).toEqual([]);
  });

  it("install.sh has installed the unit → that one is used, and stays", async () => {
    put(`usr/local/lib/systemd/system/${UNIT_NAME}`, TEMPLATE);
    await installService(host, textsOf(UNIT));
    expect(existsSync(path())).toBe(false);
    expect(await uninstallService(host)).toMatch(
      /belongs to its package: install\.sh --uninstall removes it$/,
    );
  });

  it("the package has installed the unit → that one is used, and stays", async () => {
    put(`usr/lib/systemd/system/${UNIT_NAME}`, TEMPLATE);
    expect(await installService(host, textsOf(UNIT))).toMatch(
      /its flags are in \/etc\/rollcall\/node-shim\.env$/,
    );
    expect(existsSync(path())).toBe(false);
    expect(await uninstallService(host)).toMatch(/apt-get remove rollcall-node-shim$/);
    expect(said.slice(-2)).toEqual([`restart ${UNIT_NAME}`, `disable --now ${UNIT_NAME}`]);
    expect(existsSync(join(folder.path, "usr/lib/systemd/system", UNIT_NAME))).toBe(true);
  });

  it("a unit of that name from another writer → neither replaced nor removed", async () => {
    put(`etc/systemd/system/${UNIT_NAME}`, "[Service]\n");
    await expect(installService(host, textsOf(UNIT))).rejects.toThrow(
      /was not made by node-shim: move it away/,
    );
    await expect(uninstallService(host)).rejects.toThrow(/was not made by node-shim: remove it yourself/);
    expect([readFileSync(path(), "utf8"), said]).toEqual(["[Service]\n", []]);
  });

  test.each<[situation: string, change: () => Partial<ServiceHost>, install: RegExp, uninstall: RegExp]>([
    [
      "no systemd",
      () => ({ root: join(folder.path, "none") }),
      /systemd does not run here: have your init system run/,
      /systemd does not run here: remove `node-shim run` from your init system/,
    ],
    [
      "not root",
      () => ({ isRoot: false }),
      /only root can do that: sudo node-shim install-service/,
      /only root can do that: sudo node-shim uninstall-service/,
    ],
  ])("%s → nothing is changed, and advice", async (_situation, change, install, uninstall) => {
    await expect(installService({ ...host, ...change() }, textsOf(UNIT))).rejects.toThrow(install);
    await expect(uninstallService({ ...host, ...change() })).rejects.toThrow(uninstall);
    expect([existsSync(path()), said]).toEqual([false, []]);
  });

  it("systemd refuses → its message", async () => {
    const systemctl = () => Promise.reject(new Error("systemctl enable: Unit is masked."));
    await expect(installService({ ...host, systemctl }, textsOf(UNIT))).rejects.toThrow(/Unit is masked/);
  });
});
