// Tests the files of the packages, with and without a Node.js inside.
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { filesIn } from "../../../infra/deb/tree.ts";
import { ASK_SERVICE_UNIT, ASK_SOCKET, ASK_SOCKET_UNIT, UNIT_NAME } from "../../../node-shim/service/unit.ts";
import { QUESTIONS } from "../../../shared/protocol/questions.ts";
import { ROOT, temporaryFolder } from "../../e2e/local-cluster.ts";
import { ARCHITECTURE, fillTrees, HOME } from "./trees.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());
const at = (...path: string[]) => join(folder.path, ...path);
const read = (...path: string[]) => readFileSync(at(...path), "utf8");
beforeAll(() => fillTrees(folder.path));

describe("the .deb with a Node.js inside", () => {
  it("its control file → its architecture, no nodejs, the libraries that Node.js is linked with", () => {
    const control = read("with/DEBIAN/control");
    expect(control).toContain(`\nArchitecture: ${ARCHITECTURE}\n`);
    expect(control).toContain("\nDepends: libc6 (>= 2.28), libgcc-s1 | libgcc1, libstdc++6 (>= 7)\n");
    expect(read("all/DEBIAN/control")).toContain("\nDepends: nodejs (>= 20)\n");
  });

  test.each([
    ["with", `/${HOME}/bin/node /${HOME}/bin/node-shim.cjs`],
    ["all", "/usr/bin/node /usr/share/rollcall-node-shim/bin/node-shim.cjs"],
    ["folder", "/opt/rollcall-node-shim/current/bin/node /opt/rollcall-node-shim/current/bin/node-shim.cjs"],
  ])("%s: its units → run %s, and are otherwise the same units", (tree, command) => {
    const path = tree === "folder" ? "systemd" : "usr/lib/systemd/system";
    for (const [name, start] of [
      [UNIT_NAME, `${command} run --config /etc/rollcall/kubelet.yaml $NODE_SHIM_FLAGS`],
      [ASK_SERVICE_UNIT, `${command} ask --serve %i`],
      [ASK_SOCKET_UNIT, null],
    ] as const) {
      const unit = read(tree, path, name);
      if (start !== null) expect(unit).toContain(`\nExecStart=${start}\n`);
      const others = (text: string) => text.split("\n").filter((line) => !line.startsWith("ExecStart="));
      expect(others(unit)).toEqual(others(readFileSync(join(ROOT, "infra/systemd", name), "utf8")));
    }
  });

  it("the socket for questions is the one that the shim connects to, and only root may", () => {
    const socket = read("all/usr/lib/systemd/system", ASK_SOCKET_UNIT);
    expect(socket).toContain(`\nListenStream=${ASK_SOCKET}\nSocketUser=root\nSocketMode=0600\n`);
  });

  it("the service of a question lasts longer than each question", () => {
    const service = read("all/usr/lib/systemd/system", ASK_SERVICE_UNIT);
    const seconds = 60 * Number(/^RuntimeMaxSec=(\d+)min$/m.exec(service)?.[1]);
    expect(Math.max(...Object.values(QUESTIONS).map((row) => row.seconds))).toBeLessThan(seconds - 10);
  });

  test.each([
    ["with", `/${HOME}/bin/node /${HOME}/bin/node-shim.cjs`],
    ["all", "/usr/bin/node /usr/share/rollcall-node-shim/bin/node-shim.cjs"],
  ])(
    "%s: the units of an upgrade → %s asks in the service's environment, and installs in none",
    (tree, command) => {
      const units = "usr/lib/systemd/system";
      const ask = read(tree, units, "rollcall-node-shim-upgrade-ask.service");
      const install = read(tree, units, "rollcall-node-shim-upgrade.service");
      const file = "/run/rollcall-node-shim-upgrade/version";
      expect(ask).toContain(`\nExecStart=${command} upgrade --version-to ${file}\n`);
      expect(install).toContain(`\nExecStart=${command} upgrade --version-from ${file}\n`);
      expect(install).toContain(`\nConditionPathExists=${file}\n`);
      const service = read(tree, units, UNIT_NAME);
      const environmentFile = /^EnvironmentFile=.*$/m.exec(service)?.[0] ?? "none";
      expect(ask).toContain(`\n${environmentFile}\n`);
      expect(install).not.toMatch(/^Environment/m);
    },
  );

  it("the unit that asks → writes to its own folder alone, and reaches no program that acts for root", () => {
    const ask = read("all/usr/lib/systemd/system/rollcall-node-shim-upgrade-ask.service");
    const settings = (name: string) =>
      [...ask.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value]) => value);
    expect(settings("ProtectSystem")).toEqual(["strict"]);
    expect(settings("(?:ReadWritePaths|StateDirectory|CacheDirectory|LogsDirectory|BindPaths)")).toEqual([]);
    expect(settings("RuntimeDirectory")).toEqual(["rollcall-node-shim-upgrade"]);
    expect(settings("RestrictAddressFamilies")).toEqual(["AF_INET AF_INET6"]);
    expect(settings("CapabilityBoundingSet")).toEqual([""]);
  });

  it("what is not upgraded by apt → has no such unit", () => {
    expect(filesIn(at("folder")).filter((file) => file.includes("upgrade"))).toEqual([]);
  });

  it("no script of the package stops or restarts what may run it", () => {
    const scripts = ["postinst", "prerm", "postrm"].map((script) => read("all/DEBIAN", script));
    const commands = scripts.flatMap((text) => text.split("\n")).filter((line) => !/^ *#/.test(line));
    expect(commands.filter((line) => /\bupgrade\.service/.test(line))).toEqual([
      expect.stringContaining("reset-failed"),
    ]);
  });

  it("node-shim → a link to what runs the Node.js beside it", () => {
    expect(readlinkSync(at("with/usr/bin/node-shim"))).toBe("../lib/rollcall-node-shim/bin/node-shim");
  });

  it("its licences → those of the bundles and of Node.js", () => {
    for (const copyright of [
      read("with/usr/share/doc/rollcall-node-shim/copyright"),
      read("folder/LICENSES.txt"),
    ])
      expect(copyright).toMatch(/terms of zod[^]*Node\.js 24\.1\.0[^]*terms of Node\.js/);
    expect(read("all/usr/share/doc/rollcall-node-shim/copyright")).not.toContain("Node.js");
  });

  it("its manual → names no file that the packages do not bring", () => {
    const page = gunzipSync(readFileSync(at("with/usr/share/man/man8/node-shim.8.gz"))).toString();
    expect(page.match(/\bdocs\b|\S+\.md\b/g)).toBe(null);
  });
});

it("the folder of the .tar.gz → what install.sh looks for, and modes that do not depend on the builder", () => {
  expect(filesIn(at("folder"))).toEqual(
    expect.arrayContaining([
      "bin/node",
      "bin/node-shim",
      "etc/kubelet.yaml",
      "etc/node-shim.env",
      "man/node-shim.8.gz",
    ]),
  );
  const mode = (path: string) => (statSync(at("folder", path)).mode & 0o777).toString(8);
  expect(["bin/node", "bin/node-shim", "LICENSES.txt", "etc"].map(mode)).toEqual([
    "755",
    "755",
    "644",
    "755",
  ]);
});
