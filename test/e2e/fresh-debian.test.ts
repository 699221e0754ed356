// A fresh Debian under systemd: the .deb is installed, joins `npm start`'s cluster, and purging it leaves nothing.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mintToken } from "../../infra/local/admin.ts";
import { buildPackages, DEB } from "../infra/deb/build-packages.ts";
import { bootDebian, type DebianMachine } from "./debian-machine.ts";
import { adminOf, eventually, type Start, startLocal, temporaryFolder } from "./local-cluster.ts";

/** debootstrap --variant=minbase --include=nodejs,systemd,systemd-sysv,dbus trixie FOLDER */
const root = process.env["DEBIAN_ROOT"] ?? "";
const missing =
  process.geteuid?.() !== 0
    ? "needs root"
    : existsSync(join(root, "usr/bin/node"))
      ? null
      : "set DEBIAN_ROOT to a debootstrapped folder with nodejs, systemd, systemd-sysv and dbus";

const NAME = "fresh-debian";
const UNIT = "rollcall-node-shim.service";

describe.skipIf(missing !== null)(
  `the .deb on a fresh Debian${missing === null ? "" : ` (skipped: ${missing})`}`,
  () => {
    const folder = temporaryFolder();
    let machine: DebianMachine;
    let cluster: Start;
    let url: string;
    beforeAll(async () => {
      buildPackages(folder.path);
      cluster = startLocal(["--state", join(folder.path, "cluster")]);
      [, url = ""] = await cluster.printed(/^Worker ready at (http:\S+)/m);
      machine = await bootDebian(root, NAME);
    });
    afterAll(async () => {
      await machine?.stop();
      cluster?.process.kill("SIGINT");
      await cluster?.ended;
      folder.remove();
    });

    /** Standard output of what must go well. */
    function sh(script: string, input?: string | Buffer): string {
      const { code, stdout, stderr } = machine.sh(script, input);
      if (code !== 0)
        throw new Error(`${script}: ${code}: ${stderr}${machine.sh("journalctl -n 30 -o cat").stdout}`);
      return stdout.trim();
    }
    const property = (name: string) => sh(`systemctl show --value --property ${name} ${UNIT}`);
    /** What a package may leave behind; caches, journals and dpkg's own database are not its. */
    const files = () =>
      sh(
        "find / -xdev ! -path '/var/lib/dpkg/*' ! -path '/var/log/*' ! -path '/tmp/*' ! -path '/var/tmp/*' | sort",
      );
    async function nodeReady(): Promise<boolean> {
      const api = adminOf(join(folder.path, "cluster")).makeApiClient(CoreV1Api);
      const node = await api.readNode({ name: NAME });
      return (
        node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
      );
    }

    it("installed → enabled, waiting; joined → a Ready Node, with no capability; killed → back; purged → nothing", async () => {
      const before = files();
      sh(`cat > /tmp/${DEB}`, readFileSync(join(folder.path, DEB)));
      sh(`dpkg -i /tmp/${DEB}`);
      expect([
        sh(`systemctl is-enabled ${UNIT}`),
        property("ActiveState"),
        property("ConditionResult"),
      ]).toEqual(["enabled", "inactive", "no"]);

      const adminSecret = readFileSync(join(folder.path, "cluster/admin-secret"), "utf8").trim();
      const token = await mintToken(url, adminSecret, { names: NAME, uses: 1, withoutFactsOnlyTaint: false });
      sh(`node-shim join --url ${url} --join-token-file - --install-service`, token);
      await eventually(nodeReady);
      expect(property("ActiveState")).toBe("active");
      const pid = property("MainPID");
      const confined = sh(`grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/${pid}/status`);
      expect(confined.replaceAll(/\s+/g, " ")).toBe("CapEff: 0000000000000000 NoNewPrivs: 1 Seccomp: 2");
      // What the service sees, without flags.
      const doctor = sh("node-shim doctor");
      expect(doctor).toMatch(/^ok +Ready +machine is posting ready status$/m);
      expect(doctor).toMatch(new RegExp(`^ok +shim +process ${pid}: ${NAME} is Ready$`, "m"));
      expect(sh("setpriv --reuid 65534 --clear-groups node-shim status")).toMatch(/^fresh-debian is Ready\n/);
      expect(sh("stat -c %a /run/rollcall-node-shim/status.json")).toBe("644");
      expect(sh("stat -c %a /var/lib/rollcall /var/lib/rollcall/key.json")).toBe("700\n600");

      sh(`kill -KILL ${pid}`);
      await eventually(async () => property("ActiveState") === "active" && property("MainPID") !== pid);
      // Nothing but its own lines and systemd's: no token, no warning of Node.js.
      const journal = sh(`journalctl -u ${UNIT} -o cat`);
      expect(journal).not.toContain(token);
      expect(journal).toContain('"message":"phase: registered, node Ready');
      expect(journal).not.toContain("Warning");

      sh("dpkg -P rollcall-node-shim");
      expect(machine.sh(`systemctl status ${UNIT}`).code).toBe(4);
      expect(machine.sh("pgrep -f node-shim").stdout).toBe("");
      expect(files()).toBe(before);
    });
  },
);
