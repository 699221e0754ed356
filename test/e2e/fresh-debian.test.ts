// Tests that the packages can be installed on a fresh Debian under systemd and join `npm start`'s cluster, and that
// purging them leaves nothing. A Debian with nodejs takes the plain .deb. A Debian without it takes the .deb and
// the .tar.gz that contain a Node.js.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { mintToken } from "../../infra/local/admin.ts";
import { DEB } from "../process/infra/deb/build-packages.ts";
import { bootDebian, type DebianMachine, hasNode, needingDebian, packagesIn } from "./debian-machine.ts";
import { adminOf, eventually, type Start, startLocal, temporaryFolder } from "./local-cluster.ts";

const { isSkipped, title } = needingDebian("a fresh Debian", "systemctl");

interface Way {
  name: string;
  hostname: string;
  prepare: string;
  install: string;
  purge: string;
}
const INSTALLER = "sh /tmp/packages/install.sh";
const WAYS: readonly Way[] = hasNode
  ? [
      {
        name: "the .deb",
        hostname: "with-nodejs",
        prepare: "true",
        install: `dpkg -i /tmp/packages/${DEB}`,
        purge: "dpkg -P rollcall-node-shim",
      },
    ]
  : [
      {
        name: "install.sh",
        hostname: "debian",
        prepare: "true",
        install: INSTALLER,
        purge: `${INSTALLER} --uninstall --purge`,
      },
      {
        name: "install.sh, where there is no Debian",
        hostname: "no-debian",
        prepare: "rm /etc/debian_version",
        install: INSTALLER,
        purge: `${INSTALLER} --uninstall --purge`,
      },
    ];

const UNIT = "rollcall-node-shim.service";

describe.skipIf(isSkipped)(title, () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let machine: DebianMachine;
  let cluster: Start;
  let packages: string;
  let url: string;
  beforeAll(async () => {
    folder = temporaryFolder();
    packages = await packagesIn(folder.path, hasNode ? "all" : "amd64");
    cluster = startLocal(["--state", join(folder.path, "cluster")]);
    [, url = ""] = await cluster.printed(/^Worker ready at (http:\S+)/m);
  });
  afterEach(() => machine?.stop());
  afterAll(async () => {
    cluster?.end("SIGINT");
    await cluster?.ended;
    folder.remove();
  });

  const sh: DebianMachine["run"] = (script, input) => machine.run(script, input);
  const property = (name: string) => sh(`systemctl show --value --property ${name} ${UNIT}`);
  /**
   * Lists the files that a package could have left. Caches, journals and the databases of dpkg and apt belong to
   * other programs, so they are left out.
   */
  const files = () => {
    const others = ["lib/dpkg", "lib/apt", "cache", "log", "tmp"].map((path) => `! -path '/var/${path}/*'`);
    return sh(`find / -xdev ! -type d ! -path '/tmp/*' ${others.join(" ")} | sort`);
  };
  async function nodeReady(name: string): Promise<boolean> {
    const api = adminOf(join(folder.path, "cluster")).makeApiClient(CoreV1Api);
    const node = await api.readNode({ name });
    return (
      node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
    );
  }

  test.each(WAYS)(
    "$name: installed → waiting; joined → a Ready Node; killed → back; purged → nothing",
    async (way) => {
      machine = await bootDebian(way.hostname);
      sh(
        "mkdir /tmp/packages && tar -x -C /tmp/packages",
        execFileSync("tar", ["-c", "-C", packages, "."], { maxBuffer: 2 ** 30 }),
      );
      sh(way.prepare);
      const before = files();
      sh(way.install);
      expect([
        sh(`systemctl is-enabled ${UNIT}`),
        property("ActiveState"),
        property("ConditionResult"),
      ]).toEqual(["enabled", "inactive", "no"]);

      const adminSecret = readFileSync(join(folder.path, "cluster/admin-secret"), "utf8").trim();
      const token = await mintToken(url, adminSecret, {
        names: way.hostname,
        uses: 1,
        withoutFactsOnlyTaint: false,
      });
      sh(`node-shim join --url ${url} --join-token-file - --install-service`, token);
      await eventually(async () => nodeReady(way.hostname));
      expect(property("ActiveState")).toBe("active");
      const pid = property("MainPID");
      const confined = sh(`grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/${pid}/status`);
      expect(confined.replaceAll(/\s+/g, " ")).toBe("CapEff: 0000000000000000 NoNewPrivs: 1 Seccomp: 2");
      // The shim's doctor needs no flags here: the service runs without flags.
      const doctor = sh("node-shim doctor");
      expect(doctor).toMatch(/^ok +Ready +machine is posting ready status$/m);
      expect(doctor).toMatch(new RegExp(`^ok +shim +process ${pid}: ${way.hostname} is Ready$`, "m"));
      const isReadyAsNobody = () => {
        const { stdout } = machine.sh("setpriv --reuid 65534 --clear-groups node-shim status");
        return stdout.startsWith(`${way.hostname} is Ready\n`);
      };
      expect(isReadyAsNobody()).toBe(true);
      expect(sh("stat -c %a /run/rollcall-node-shim/status.json")).toBe("644");
      expect(sh("stat -c %a /var/lib/rollcall /var/lib/rollcall/key.json")).toBe("700\n600");

      sh(`kill -KILL ${pid}`);
      // systemd counts the service as active before the shim has locked its state folder.
      await eventually(async () => isReadyAsNobody());
      expect([property("ActiveState"), property("MainPID") === pid]).toEqual(["active", false]);
      // The journal may have only lines of the service and of systemd: no token, and no warning of Node.js.
      const journal = sh(`journalctl -u ${UNIT} -o cat`);
      expect(journal).not.toContain(token);
      expect(journal).toContain('"message":"phase: registered, node Ready');
      expect(journal).not.toContain("Warning");

      const { stderr: refused } = machine.sh("node-shim leave");
      expect(refused).toContain(": stop it (systemctl stop rollcall-node-shim), or pass another --state\n");
      const leaving = "node-shim uninstall-service && node-shim leave";
      expect(sh(`${leaving} 2>&1`)).toMatch(new RegExp(`${way.hostname} has left; its key is gone$`));
      expect(sh("node-shim leave 2>&1")).toMatch(/has left already: nothing has changed$/);

      sh(way.purge);
      expect(machine.sh(`systemctl status ${UNIT}`).code).toBe(4);
      expect(machine.sh("pgrep -f '[n]ode-shim'").stdout).toBe("");
      expect(files()).toBe(before);
    },
  );
});
