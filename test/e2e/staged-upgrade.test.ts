// Tests that a Debian under systemd upgrades its own shim from an apt repository, by a Worker's rollout. The test
// plays the Worker; systemd, apt, dpkg and the package are real. Later versions are the same package with another
// version number.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { generateKey } from "openpgp";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { KEY_FILE, publish } from "../../infra/apt/repository.ts";
import { debName } from "../../infra/deb/archives.ts";
import { VERSION } from "../../shared/version.ts";
import { serveFolder } from "../process/infra/apt/apt-machine.ts";
import { bootDebian, type DebianMachine, installDeb, needingDebian, packagesIn } from "./debian-machine.ts";
import { eventually, temporaryFolder } from "./local-cluster.ts";

const GOOD = "9.1.0";
const BAD = "9.2.0";
const UNIT = "rollcall-node-shim.service";
const UPGRADE = "rollcall-node-shim-upgrade";
const SERVICES = [`${UPGRADE}-ask.service`, `${UPGRADE}.service`];
/** The time limit of each test: the shim gathers the facts of its first report in real time. */
const PATIENCE_MS = 600_000;

const { isSkipped, title } = needingDebian("a machine with the timer of upgrades", "systemctl");
describe.skipIf(isSkipped)(title, { timeout: PATIENCE_MS }, () => {
  let folder: ReturnType<typeof temporaryFolder>;
  const ends: (() => void)[] = [];
  let machine: DebianMachine;
  /**
   * The version that the played Worker offers for an upgrade. null if it offers none. `asking` has the version of
   * each shim that asked for an upgrade.
   */
  let given: string | null = null;
  const asking: string[] = [];
  beforeAll(async () => {
    folder = temporaryFolder();
    const worker = await playWorker();
    const repository = await publishVersions();
    machine = await bootDebian("edge-7");
    sh("cat > /etc/apt/key.asc", readFileSync(join(folder.path, "apt", KEY_FILE)));
    sh("rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*");
    sh(`echo "deb [signed-by=/etc/apt/key.asc] ${repository} stable main" > /etc/apt/sources.list`);
    installDeb(machine, debOf(VERSION));
    sh(`systemctl enable --now ${UPGRADE}.timer`);
    const joining = `node-shim join --url ${worker} --join-token-file - --install-service`;
    await inMachine(joining, `rcj1_${"A".repeat(43)}`);
  }, PATIENCE_MS);
  afterAll(async () => {
    await machine?.stop();
    for (const end of ends) end();
    folder.remove();
  });

  async function playWorker(): Promise<string> {
    const server: Server = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      request.once("end", () => response.end(JSON.stringify(answerTo(request.url ?? "", body))));
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    ends.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  function answerTo(path: string, body: string): object {
    if (path.endsWith("/enrolment")) return { kid: "k", ticket: "t" };
    if (path.endsWith("/report")) return { phase: "registered", ready: true, ticket: "t", reportInMs: 1000 };
    asking.push((JSON.parse(body) as { version: string }).version);
    return given === null ? { version: null, why: "no rollout" } : { version: given };
  }

  const debOf = (version: string) => join(folder.path, `rollcall-node-shim_${version}_amd64.deb`);
  async function publishVersions(): Promise<string> {
    const built = await packagesIn(folder.path, "amd64");
    const tree = join(folder.path, "tree");
    execFileSync("dpkg-deb", ["-R", join(built, debName("amd64")), tree]);
    const bundle = join(tree, "usr/lib/rollcall-node-shim/dist/node-shim.cjs");
    const [control, text] = [join(tree, "DEBIAN/control"), readFileSync(bundle, "utf8")];
    const of = readFileSync(control, "utf8");
    for (const version of [VERSION, GOOD, BAD]) {
      writeFileSync(control, of.replace(`\nVersion: ${VERSION}\n`, `\nVersion: ${version}\n`));
      const fault = version === BAD ? 'if(process.argv.includes("run"))process.exit(1);' : "";
      writeFileSync(bundle, fault + text.replaceAll(`"${VERSION}"`, `"${version}"`));
      execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "-z1", "--build", tree, debOf(version)]);
    }
    const { privateKey: armored } = await generateKey({ userIDs: [{ name: "packages" }] });
    const place = join(folder.path, "apt");
    mkdirSync(place);
    const debs = [VERSION, GOOD, BAD].map(debOf);
    await publish({ folder: place, debs, key: { armored }, date: new Date(Date.now() - 3_600_000) });
    const { url, stop } = await serveFolder(place);
    ends.push(stop);
    return url;
  }

  /** The command must not need the played Worker, because this process waits for the command. */
  const sh: DebianMachine["run"] = (script, input) => machine.run(script, input);
  /**
   * Runs a command as a service of the machine. The command may send requests to the Worker that this process
   * plays.
   */
  async function inMachine(command: string, input = ""): Promise<string> {
    sh("cat > /tmp/input", input);
    sh(
      `rm -f /tmp/code; (sh -c '${command}' < /tmp/input > /tmp/said 2>&1; echo $? > /tmp/code) > /dev/null 2>&1 &`,
    );
    await eventually(async () => machine.sh("cat /tmp/code").stdout !== "");
    return sh("cat /tmp/said");
  }
  const installed = () => sh("dpkg-query --show --showformat='${Version}' rollcall-node-shim");
  const property = (unit: string, name: string) => sh(`systemctl show --value --property ${name} ${unit}`);
  const status = () =>
    JSON.parse(machine.sh("node-shim status --json").stdout) as { kind: string; status: { shim: string } };

  /** Runs the upgrade as the timer does. Resolves with the shim's last log line, and the result of each service. */
  async function upgraded(): Promise<{ said: string; results: string[] }> {
    await inMachine(`systemctl start ${UPGRADE}.service`);
    const said = sh(`journalctl -u "${UPGRADE}*.service" -o cat | grep "^node-shim: " | tail -n 1`);
    return { said, results: SERVICES.map((unit) => property(unit, "Result")) };
  }
  const wasStarted = () => property(`${UPGRADE}.service`, "ConditionResult");

  it("no rollout → requested, and nothing changes", async () => {
    expect(property(`${UPGRADE}.timer`, "ActiveState")).toBe("active");
    expect(await upgraded()).toMatchObject({
      said: `node-shim: edge-7 stays with ${VERSION}: there is no rollout`,
      results: ["success", "success"],
    });
    expect(wasStarted()).toBe("no");
    expect([asking, installed()]).toEqual([[VERSION], VERSION]);
  });

  describe("a shell in place of the shim → writes to the unit's own folders alone, without a capability", () => {
    const probe = [
      "exec 2> /dev/null",
      `for folder in $(find / /run /dev -xdev -type d; echo /dev/shm); do`,
      `  if (: > "$folder/probe"); then rm "$folder/probe"; echo "wrote $folder"; fi`,
      "done",
      `systemctl list-units > /dev/null && echo "reached systemd"`,
      "grep CapBnd /proc/self/status",
    ].join("\n");
    // /tmp and /var/tmp are private folders of a unit.
    const PRIVATE = ["/tmp", "/var/tmp"];

    test.each([
      [`${UPGRADE}-ask.service`, ["/run/probe-run", ...PRIVATE], []],
      [UNIT, ["/run/probe-run", ...PRIVATE, "/var/lib/rollcall"], ["reached systemd"]],
    ])("%s", (unit, folders, reached) => {
      sh("cat > /etc/probe", probe);
      const changes = [
        "s|^ExecStart=.*|ExecStart=/bin/sh /etc/probe|",
        "s|^RuntimeDirectory=.*|RuntimeDirectory=probe-run|",
        "s|^Type=.*|Type=oneshot|",
        "/^Restart=/d",
      ];
      const path = `/etc/systemd/system/probe-${unit}`;
      sh(`systemctl cat ${unit} | sed "${changes.join(";")}" > ${path}`);
      sh(`systemctl daemon-reload; systemctl start probe-${unit}`);
      const said = sh(`journalctl -u probe-${unit} -o cat`).split("\n");
      sh(`rm -r ${path} /run/probe-run; systemctl daemon-reload`);
      expect(said.filter((line) => line.startsWith("wrote ")).toSorted()).toEqual(
        folders.map((folder) => `wrote ${folder}`).toSorted(),
      );
      expect(said.filter((line) => line.startsWith("reached "))).toEqual(reached);
      expect(said).toContainEqual(expect.stringMatching(/^CapBnd:\s+0{16}$/));
    });
  });

  it("a version is set → installed by the shim that it replaces, the service runs with it, and the timer stays active", async () => {
    given = GOOD;
    const before = property(UNIT, "MainPID");
    expect(await upgraded()).toMatchObject({
      said: `node-shim: this machine has ${GOOD} now, after ${VERSION}, and it reports`,
      results: ["success", "success"],
    });
    expect(wasStarted()).toBe("yes");
    expect(sh("ls /run/rollcall-node-shim-upgrade")).toBe("");
    expect(installed()).toBe(GOOD);
    expect(status()).toMatchObject({ kind: "Ready", status: { shim: GOOD } });
    expect(property(UNIT, "MainPID")).not.toBe(before);
    expect([
      property(`${UPGRADE}.timer`, "ActiveState"),
      sh(`systemctl is-enabled ${UPGRADE}.timer`),
    ]).toEqual(["active", "enabled"]);
  });

  it("a version that does not run → the former one again, which reports; the bad one is not tried again", async () => {
    given = BAD;
    expect(await upgraded()).toMatchObject({
      said: expect.stringMatching(
        `${BAD} was installed, and has not reported within 3 minutes: ${GOOD} is installed again`,
      ),
      results: ["success", "exit-code"],
    });
    expect(installed()).toBe(GOOD);
    await eventually(async () => status().kind === "Ready");
    expect(status()).toMatchObject({ status: { shim: GOOD } });
    expect((await upgraded()).said).toContain(`${BAD} did not report here; it is tried again after`);
    expect(asking).toEqual([VERSION, VERSION, GOOD, GOOD]);
  });

  it("removed, purged → neither timer nor process is left", () => {
    sh("dpkg -P rollcall-node-shim");
    for (const unit of [UNIT, `${UPGRADE}.timer`, ...SERVICES])
      expect(machine.sh(`systemctl is-active ${unit}`).stdout).toBe("inactive\n");
    expect(machine.sh(`systemctl cat "${UPGRADE}*"; ls -d /run/rollcall-node-shim-upgrade`).stdout).toBe("");
    expect(sh("find /etc/systemd /var/lib/systemd/deb-systemd-helper-enabled -name '*rollcall*'")).toBe("");
  });
});
