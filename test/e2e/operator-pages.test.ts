// Tests the commands that the pages give to operators: runs them word by word on the suite's Worker with two
// machines.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OWN_PROGRAMS } from "../house/page-commands.ts";
import { eventually, temporaryFolder } from "./local-cluster.ts";
import { type PageReader, pageReader } from "./page-reader.ts";
import { thisRun } from "./run-record.ts";
import { type SharedPlace, sharedPlace } from "./shared-place.ts";
import { type SimulatedMachine, simulatedMachine } from "./simulated-machine.ts";

const hasJq = spawnSync("jq", ["--version"]).error === undefined;
/** The commands that run in place of npm's scripts, without npm. tutorial.test.ts runs npm itself. */
const NPM = {
  npm: 'while [ "$1" != -- ]; do last=$1; shift; done; shift; [ "$last" = exec ] || set -- "$last" "$@"; exec "$@"',
};
const MADE_UP = "https://rollcall.example.com";

describe("an operator who follows the pages", () => {
  let place: SharedPlace;
  let reader: PageReader;
  let machines: SimulatedMachine[];
  const run: PageReader["run"] = (...asked) => reader.run(...asked);

  beforeAll(async () => {
    place = await sharedPlace();
    const { worker } = place;
    reader = pageReader(worker, undefined, { ...NPM, pass: `printf %s ${worker.adminSecret}` });
    machines = await Promise.all([1, 2].map((index) => simulatedMachine(worker, index)));
    for (const { report } of machines) expect(await report()).toBe("registered");
    await eventually(async () => (await worker.rollcall(["nodes", "-o", "name"])).stdout.includes("sim-2\n"));
  });
  afterAll(async () => {
    reader?.remove();
  });

  it("keeps contexts, and uses one of them", async () => {
    for (const { report } of machines) await report();
    const folder = join(reader.home, ".config/rollcall");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "prod"), "a-secret", { mode: 0o600 });
    const printed = await run("docs/rollcall.md", "The Worker and the credentials", {
      own: { "https://lab.example.com": place.worker.url },
      env: { ROLLCALL_URL: undefined, ROLLCALL_ADMIN_SECRET: undefined },
    });
    expect(printed).toMatch(/context prod is stored\n[^]*context home is stored\n[^]*sim-1 +ready/);
  });

  it("acts on many machines at once", async () => {
    // The command that forgets machines asks for confirmation. Without a terminal it cannot ask, so it runs with
    // --dry-run.
    const own = {
      "edge-7": "sim-1",
      "edge-8": "sim-2",
      "--changed-until 30d": "--changed-until 30d --dry-run",
    };
    // Both machines are healthy, so the last command of the block finds nothing to do and fails.
    await expect(run("docs/rollcall.md", "Many machines at once", { own })).rejects.toThrow(
      /^0 of 0 would be changed\n[^]*^0 of 0 would be changed\n[^]*^0 of 2 would be changed\nrollcall: there is nothing to do$/m,
    );
  });

  it("makes a rollout, widens it and ends it", async () => {
    const printed = await run("docs/upgrading-shims.md", "A rollout");
    expect(printed).toMatch(/^version +0\.2\.0$/m);
  });

  it("checks whether the deployment works", async () => {
    expect(await run("docs/upgrading.md", "Versions of stored state")).toMatch(/^ok +state +its versions: /m);
    expect(await run("docs/deploy.md", "Checking the deployment")).toMatch(
      /^ok +state +its versions: [^]*^readyz check passed$/m,
    );
  });

  it("upgrades in order: the requests to the Worker and the machines", async () => {
    const [page, heading] = ["docs/upgrading.md", "Order"];
    const file = join(reader.home, "backup.jsonl");
    await run(page, heading, { own: { "before-0.2.0.jsonl": file } });
    expect(readFileSync(file, "utf8")).toContain("sim-1");
    expect(await run(page, heading, { nth: 4 })).toMatch(/^shims +.*\n[^]*^the Worker is /m);
    expect(await run(page, heading, { nth: 5 })).toMatch(/^version +0\.2\.0$/m);
  });

  it("signs a browser in", async () => {
    expect(await run("docs/deploy.md", "A browser")).toContain(`${place.worker.url}/`);
  });

  it("makes a token for many machines, and declares that one has no runtime", async () => {
    const printed = await run("docs/shim.md", "From a golden image", { nth: 2 });
    const [token = ""] = /^rcj1_\S+$/m.exec(printed) ?? [];
    thisRun().secret("join token", token);
    expect(token).not.toBe("");
    const own = { "edge-7": "sim-1" };
    expect(await run("docs/configuration.md", "A missing runtime", { own })).toBe(
      "sim-1: runtime none with its next report\n",
    );
  });

  it("reads the metrics with a secret that opens nothing else", async () => {
    const { stdout } = await place.worker.rollcall(["operators", "add", "prom", "--role", "metrics"]);
    const METRICS_SECRET = stdout.trim();
    thisRun().secret("operator's secret", METRICS_SECRET);
    const own = { [MADE_UP]: place.worker.url };
    expect(await run("docs/metrics.md", "Metrics", { own, env: { METRICS_SECRET } })).toMatch(/^rollcall_/m);
  });

  it("moves a machine to another deployment, except for its service", async () => {
    const folder = temporaryFolder();
    const state = join(folder.path, "state");
    const mover = pageReader(place.worker, undefined, {
      systemctl: "true",
      "node-shim": `[ "$1" = leave ] || set -- "$@" --hostname-override moves\n${OWN_PROGRAMS["node-shim"]} --state ${state}`,
    });
    const token = join(folder.path, "join-token");
    const mint = async () => {
      const { stdout } = await place.worker.rollcall(["token", "create", "--names", "moves"]);
      thisRun().secret("join token", stdout.trim());
      writeFileSync(token, stdout, { mode: 0o600 });
    };
    try {
      await mint();
      await mover.sh(`node-shim join --url ${place.worker.url} --join-token-file ${token}`);
      await mint();
      // This deployment, under another origin, plays the other deployment of the page.
      const own = {
        "https://east.example.com": place.otherOrigin,
        "/root/join-token": token,
        " --install-service": "",
      };
      await mover.run("docs/two-clusters.md", "Moving a machine to another deployment", { own });
      const { stdout } = await place.worker.rollcall(["origin", "machines", place.otherOrigin]);
      expect(stdout).toMatch(/^moves +20/m);
      expect((await place.worker.rollcall(["revocations", "-o", "csv"])).stdout).toContain(",moves,");
    } finally {
      mover.remove();
      folder.remove();
    }
  });

  it("sees what the shim would do on this machine", async () => {
    const own = { "/etc/rollcall/kubelet.yaml": "examples/kubelet.yaml" };
    expect(await run("docs/configuration.md", "Configuring the shim", { own })).toMatch(/^maxPods: 30 /m);
    expect(await run("examples/README.md", "Examples")).toContain("example.com/rack: b7");
  });

  it.skipIf(!hasJq)(
    `reads the facts of this machine${hasJq ? "" : " (skipped: jq is not installed)"}`,
    async () => {
      expect(JSON.parse(await run("docs/facts.md", "Facts"))).toHaveProperty("bootID");
    },
  );
});
