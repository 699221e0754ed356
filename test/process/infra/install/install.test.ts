// Tests install.sh on all kinds of machines: the files that it installs, and that a refused machine stays
// unchanged.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { ROOT, temporaryFolder } from "../../../e2e/local-cluster.ts";
import { Machine, makeRelease, makeTools, type Outcome, sha256 } from "./release.ts";

const UNIT = "rollcall-node-shim.service";
const UNITS = ["rollcall-ask.socket", "rollcall-ask@.service", UNIT];
const SCRIPT = join(ROOT, "infra/install/install.sh");
/** The start of the command that install.sh prints as the next one. */
const JOIN = "node-shim join --url https://rollcall.example.com --join-token-file /root/join-token ";

const files = temporaryFolder();
const published = join(files.path, "published");
const tools = join(files.path, "tools");
beforeAll(() => {
  makeRelease(published);
  makeTools(tools);
});
afterAll(() => files.remove());

let folder: { path: string; remove: () => void };
let release: string;
let machine: Machine;
beforeEach(() => {
  folder = temporaryFolder();
  release = join(folder.path, "release");
  cpSync(published, release, { recursive: true });
  machine = new Machine(folder.path, tools);
});
afterEach(() => folder.remove());

const install = (...args: string[]) => machine.install("--from", release, ...args);
const inForce = () => readlinkSync(machine.at("opt/rollcall-node-shim/current"));
/** Publishes another release in the same folder. */
const publish = (shim: string) => makeRelease(release, shim);

/** Expects that `run` fails with this line, and leaves the machine unchanged. */
function expectRefused(run: () => Outcome, line: RegExp, code = 1): void {
  const before = machine.files();
  expect(run()).toMatchObject({ code, stderr: expect.stringMatching(line) });
  expect(machine.files()).toEqual(before);
  expect(machine.calls().filter((call) => call !== "systemctl daemon-reload")).toEqual([]);
}

describe("on a system without dpkg", () => {
  it("first → files, service enabled and started, the next command", () => {
    const { code, stdout } = install();
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`\\n  /usr/local/bin/${JOIN}--install-service\\n$`));
    expect(machine.files().join("\n").replaceAll(inForce(), "RELEASE")).toBe(
      `etc/rollcall/kubelet.yaml
etc/rollcall/node-shim.env
opt/rollcall-node-shim/current
opt/rollcall-node-shim/RELEASE/bin/node-shim
opt/rollcall-node-shim/RELEASE/etc/kubelet.yaml
opt/rollcall-node-shim/RELEASE/etc/node-shim.env
opt/rollcall-node-shim/RELEASE/man/node-shim.8.gz
${UNITS.map((unit) => `opt/rollcall-node-shim/RELEASE/systemd/${unit}`).join("\n")}
usr/local/bin/node-shim
${UNITS.map((unit) => `usr/local/lib/systemd/system/${unit}`).join("\n")}
usr/local/share/man/man8/node-shim.8.gz`,
    );
    expect(inForce()).toMatch(/^rollcall-node-shim_1\.2\.3_amd64-[0-9a-f]{12}$/);
    expect(readlinkSync(machine.at("usr/local/bin/node-shim"))).toBe(
      "/opt/rollcall-node-shim/current/bin/node-shim",
    );
    expect(machine.calls()).toEqual([
      `systemctl enable --quiet ${UNIT}`,
      "systemctl daemon-reload",
      `systemctl start ${UNIT}`,
    ]);
  });

  it("again → the same files, nothing fetched, the service left alone; configuration stays", () => {
    install();
    rmSync(join(release, "rollcall-node-shim_1.2.3_amd64.tar.gz"));
    machine.calls();
    machine.put("etc/rollcall/kubelet.yaml", "maxPods: 7\n");
    const before = machine.files();
    const { code, stdout } = install();
    expect([code, stdout]).toEqual([0, expect.stringContaining(" is installed already\n")]);
    expect(machine.files()).toEqual(before);
    expect(readFileSync(machine.at("etc/rollcall/kubelet.yaml"), "utf8")).toBe("maxPods: 7\n");
    expect(machine.calls()).toEqual(["systemctl daemon-reload"]);
  });

  it("a newer release on an enrolled machine → active, the former one removed, the service restarted, no next command", () => {
    install();
    machine.calls();
    const old = inForce();
    machine.put("var/lib/rollcall/enrolment.json", "{}");
    publish("echo node-shim 1.2.4");
    const { code, stdout } = install();
    expect(code).toBe(0);
    expect(stdout).not.toContain("join");
    expect(readdirSync(machine.at("opt/rollcall-node-shim"))).toEqual(["current", inForce()].sort());
    expect(inForce()).not.toBe(old);
    expect(machine.calls()).toEqual(["systemctl daemon-reload", `systemctl try-restart ${UNIT}`]);
  });

  it("a newer release that does not run here → the former one stays active", () => {
    install();
    machine.calls();
    publish("exit 127");
    expectRefused(install, /does not run here: nothing was changed\n$/);
  });

  it("a service that does not start → exit code 1, and what was installed stays", () => {
    machine.play("systemctl", '[ "$1" != start ]');
    const { code, stderr } = install();
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/is installed, but its service does not start/),
    ]);
    expect(existsSync(machine.at("opt/rollcall-node-shim/current"))).toBe(true);
  });

  it("the unit cannot be enabled → nothing is left of a first installation", () => {
    machine.play("systemctl", '[ "$1" != enable ]');
    expect(install().code).not.toBe(0);
    expect(machine.files().filter((file) => !file.startsWith("etc/rollcall/"))).toEqual([]);
  });

  it("systemd does not run, as in an image → enabled, not started", () => {
    rmSync(machine.at("run/systemd"), { recursive: true });
    expect(install()).toMatchObject({ code: 0, stdout: expect.stringContaining("starts with the machine") });
    expect(machine.calls()).toEqual([`systemctl enable --quiet ${UNIT}`]);
  });

  it("no systemd at all → installed, and it prints what to run", () => {
    machine.lacks("systemctl");
    const { code, stdout } = install();
    expect([code, stdout]).toEqual([0, expect.stringContaining("have your init system run node-shim run")]);
  });

  it("uninstalled → key, enrolment and configuration stay; with --purge → nothing stays; where nothing is installed → the same", () => {
    install();
    machine.put("var/lib/rollcall/key.json", "{}");
    machine.calls();
    expect(machine.install("--uninstall").stdout).toMatch(
      /key and enrolment \(.*\) stay: --purge removes them\n$/,
    );
    expect(machine.calls()).toEqual([
      "systemctl disable --now --quiet rollcall-ask.socket",
      `systemctl disable --now --quiet ${UNIT}`,
      "systemctl daemon-reload",
    ]);
    expect(machine.files()).toEqual([
      "etc/rollcall/kubelet.yaml",
      "etc/rollcall/node-shim.env",
      "var/lib/rollcall/key.json",
    ]);
    expect(machine.install("--uninstall", "--purge")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\ninstall\.sh: removed, with configuration, key and enrolment\n$/),
    });
    expect(machine.files()).toEqual([]);
    expect(machine.install("--uninstall")).toMatchObject({ code: 0 });
  });

  const PROGRAM = [
    "usr/local/bin/node-shim",
    ...UNITS.map((unit) => `usr/local/lib/systemd/system/${unit}`),
    "usr/local/share/man/man8/node-shim.8.gz",
    "opt/rollcall-node-shim",
  ];
  const OWN = ["etc/rollcall/kubelet.yaml", "etc/rollcall/node-shim.env", "var/lib/rollcall"];
  test.each([
    [[], PROGRAM],
    [["--purge"], [...PROGRAM, ...OWN]],
  ])(
    "--uninstall --dry-run %j → files to be removed are listed, and stay; without → the same list",
    (args, paths) => {
      install();
      machine.put("var/lib/rollcall/key.json", "{}");
      machine.calls();
      const before = machine.files();
      const lines = paths.map((path) => `  ${machine.at(path)}\n`).join("");
      expect(machine.install("--uninstall", "--dry-run", ...args)).toEqual({
        code: 0,
        stdout: `install.sh: would be removed:\n${lines}`,
        stderr: "",
      });
      expect([machine.files(), machine.calls()]).toEqual([before, []]);
      const { stdout } = machine.install("--uninstall", ...args);
      expect(stdout.startsWith(`install.sh: will be removed:\n${lines}install.sh: removed`)).toBe(true);
      expect(machine.install("--uninstall", "--purge").code).toBe(0);
      expect(machine.install("--uninstall").stdout).toContain(":\n  nothing: it is not here\n");
    },
  );

  it("--uninstall where npm has installed the command → it is not listed, and stays", () => {
    machine.put("usr/local/bin/node-shim", "npm's");
    expect(machine.install("--uninstall", "--dry-run").stdout).not.toContain("bin/node-shim");
    expect(machine.install("--uninstall").code).toBe(0);
    expect(machine.files().join()).toContain("usr/local/bin/node-shim");
  });

  test.each([
    ["node-shim of npm", "usr/local/bin/node-shim", /npm uninstall -g/],
    ["a unit of install-service", `etc/systemd/system/${UNIT}`, /node-shim uninstall-service/],
  ])("%s is there → refused: two installations would conflict", (_situation, path, line) => {
    machine.put(path);
    expectRefused(install, line);
  });
});

describe("on a Debian or an Ubuntu", () => {
  beforeEach(() => {
    machine.put("etc/debian_version", "12.11\n");
    machine.play("dpkg-query", "exit 1");
    machine.play("apt-get", 'echo "apt-get $*" >> "$ROLLCALL_ROOT/calls"');
  });

  it("installed → apt-get gets the verified .deb, and nothing else is touched", () => {
    expect(install().code).toBe(0);
    expect(machine.calls()).toEqual([
      expect.stringMatching(
        /^apt-get install -y .*--force-confold \/.*\/rollcall-node-shim_1\.2\.3_amd64\.deb$/,
      ),
    ]);
    expect(machine.files()).toEqual(["etc/debian_version"]);
  });

  it("apt-get refuses → exit code 1", () => {
    machine.play("apt-get", "exit 100");
    expectRefused(install, /apt-get has not installed/);
  });

  test.each([
    [[], "apt-get remove -y -q rollcall-node-shim"],
    [["--purge"], "apt-get purge -y -q rollcall-node-shim"],
  ])("--uninstall %j → %s", (args, call) => {
    machine.play("dpkg-query", "echo installed");
    expect(machine.install("--uninstall", "--dry-run", ...args).stdout).toBe(
      "install.sh: would be removed:\n  the package rollcall-node-shim\n",
    );
    expect(machine.calls()).toEqual([]);
    expect(machine.install("--uninstall", ...args).code).toBe(0);
    expect(machine.calls()).toEqual([call]);
  });

  test.each([
    ["never installed", "exit 1", "  nothing: it is not here\n"],
    ["removed and not purged", "echo config-files", "  the package rollcall-node-shim\n"],
  ])("%s, and --uninstall --purge --dry-run → what is left", (_, query, listed) => {
    machine.play("dpkg-query", query);
    expect(machine.install("--uninstall", "--purge", "--dry-run").stdout).toBe(
      `install.sh: would be removed:\n${listed}`,
    );
  });

  it("the .tar.gz was installed before → the .tar.gz is upgraded", () => {
    machine.put("opt/rollcall-node-shim/earlier/bin/node-shim");
    expect(install().code).toBe(0);
    expect(machine.calls().filter((call) => call.startsWith("apt-get"))).toEqual([]);
  });
});

describe("nothing is changed", () => {
  const getconf = (libc: string) => `[ "$1" = LONG_BIT ] && echo 64 || echo glibc ${libc}`;
  test.each<[situation: string, program: string, script: string, line: RegExp]>([
    [
      "musl",
      "getconf",
      '[ "$1" = LONG_BIT ] && echo 64',
      /for this system: its C library is not glibc.* Install Node\.js 20 or newer, .*npm install -g/,
    ],
    ["glibc 2.27", "getconf", getconf("2.27"), /for this system: it has glibc 2\.27, .* 2\.28 or newer/],
    [
      "32 bits",
      "uname",
      '[ "$1" = -s ] && echo Linux || echo armv7l',
      /there is no package for armv7l: .* Install Node\.js 20 or newer/,
    ],
    ["32 bits on a kernel of 64", "getconf", "echo 32", /for this system: it has 32 bits/],
    ["another system", "uname", "echo FreeBSD", /there is no package for FreeBSD/],
    ["not root", "id", "echo 1000", /only root can do that: put sudo before sh/],
  ])("%s → refused before anything is fetched", (_situation, program, script, line) => {
    machine.play(program, script);
    rmSync(release, { recursive: true });
    expectRefused(install, line);
  });

  it("no getconf → refused with its name, and not as a system of 32 bits", () => {
    machine.lacks("getconf");
    expectRefused(install, /getconf is missing, .* libc-bin or glibc-common has it/);
  });

  it.each(["2.28", "2.40.9000", "3.0"])("glibc %s, a file:// URL → installed", (version) => {
    machine.play("getconf", getconf(version));
    expect(machine.install("--from", `file://${release}/`).code).toBe(0);
  });

  test.each<[situation: string, spoil: () => void, line: RegExp]>([
    [
      "a package of other bytes",
      () => writeFileSync(tarball(), "half"),
      /\.tar\.gz does not have the sum in SHA256SUMS/,
    ],
    ["the package is missing", () => rmSync(tarball()), /\.tar\.gz cannot be fetched/],
    ["no sums", () => rmSync(join(release, "SHA256SUMS")), /SHA256SUMS cannot be fetched/],
    ["no package for amd64", () => writeSums(""), /one tar\.gz for amd64, but names: none: /],
    [
      "two releases",
      () => writeSums(sums() + sums().replaceAll("1.2.3", "1.2.4")),
      /names: \S+1\.2\.3_amd64\.tar\.gz\n\S+1\.2\.4_/,
    ],
    ["a release that does not run here", () => publish("exit 127"), /does not run here/],
  ])("%s → refused", (_situation, spoil, line) => {
    spoil();
    expectRefused(install, line);
  });
  const tarball = () => join(release, "rollcall-node-shim_1.2.3_amd64.tar.gz");
  const sums = () => readFileSync(join(release, "SHA256SUMS"), "utf8");
  const writeSums = (text: string) => writeFileSync(join(release, "SHA256SUMS"), text);

  it("the sum of SHA256SUMS with --sha256 → installed; another → refused", () => {
    expectRefused(() => install("--sha256", sha256("another")), /SHA256SUMS does not have the SHA-256 sum/);
    expect(install("--sha256", sha256(sums())).code).toBe(0);
  });

  test.each<[situation: string, args: string[], line: RegExp]>([
    ["no place", [], /--from is missing/],
    ["http:// without a sum", ["--from", "http://127.0.0.1:1"], /use https:\/\/ or --sha256/],
    ["another scheme", ["--from", "ftp://127.0.0.1"], /ftp is none of https, http and file/],
    ["a flag without its value", ["--from"], /--from needs a value/],
    ["an unknown flag", ["--form", "x"], /unknown argument --form/],
    ["--purge alone", ["--from", "/tmp", "--purge"], /--purge is for --uninstall/],
    ["--dry-run alone", ["--from", "/tmp", "--dry-run"], /--dry-run is for --uninstall/],
  ])("%s → exit code 2", (_situation, args, line) => {
    expectRefused(() => machine.install(...args), line, 2);
  });
});

describe("the script itself", () => {
  it("next to its packages → needs no --from; --version and --help need nothing", () => {
    const own = join(release, "install.sh");
    writeFileSync(own, readFileSync(SCRIPT));
    expect(machine.sh("", own)).toMatchObject({ code: 0 });
    expect(machine.sh("", own, "--version").stdout).toMatch(/^install\.sh \d+\.\d+\.\d+\n$/);
    expect(machine.sh("", own, "--help").stdout).toContain("--uninstall");
  });

  it("cut off at any byte → changes nothing", () => {
    const lines = readFileSync(SCRIPT, "utf8").split("\n");
    for (const kept of [10, 100, 200, lines.length - 3])
      machine.sh(lines.slice(0, kept).join("\n"), "-s", "--", "--from", release);
    expect(machine.files()).toEqual([]);
  });

  const noShellcheck = spawnSync("shellcheck", ["--version"]).error
    ? " (skipped: shellcheck is not installed)"
    : "";
  test.skipIf(noShellcheck !== "")(`shellcheck → no complaint${noShellcheck}`, () => {
    const files = ["postinst", "prerm", "postrm", "node-shim"].map((file) =>
      join(ROOT, "infra/deb/files", file),
    );
    const { status, stdout } = spawnSync("shellcheck", ["-s", "sh", SCRIPT, ...files], { encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  });
});
