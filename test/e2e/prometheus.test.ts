// Runs a real Prometheus with the scrape configuration and the rules of infra/prometheus. Tests that it accepts all
// metrics of the Worker, finds the same machines as the fleet index, and has what a machine uses for the dashboard.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parse, stringify } from "yaml";
import { localParts, untilReady } from "../../infra/local/parts.ts";
import { freePort } from "../../infra/local/ports.ts";
import type { FleetState } from "../../shared/fleet/state.ts";
import { FLEET_START_MS, machineName, updateOf } from "../worker/support/made-up-fleet.ts";
import { METRICS } from "../../worker/metrics/metrics.ts";
import { ROOT } from "./local-cluster.ts";
import { localWorker, type LocalWorker, randomSecret, sha256 } from "./local-worker.ts";
import { sharedSocketPlace, type SocketPlace } from "./sockets/socket-place.ts";
import type { WorkerAccess } from "./own-worker.ts";

const INFRA = join(ROOT, "infra/prometheus");
const hasPrometheus = spawnSync("prometheus", ["--version"]).status === 0;
const STATES: FleetState[] = ["ready", "ready", "silent", "silent", "blocked"];

/** The number of the machine that sends its usage. No other file of the suite uses it. */
const USING = 790;

interface Series {
  metric: Record<string, string>;
  value: [at: number, text: string];
}

describe.skipIf(!hasPrometheus)("a real Prometheus", () => {
  let folder = "";
  const parts = localParts(() => undefined);
  let worker: LocalWorker;
  /** A Worker with a machine that sends its usage. */
  let place: SocketPlace<WorkerAccess>;
  let url = "";

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rollcall-prometheus-"));
    const secret = randomSecret();
    worker = await localWorker(folder);
    await worker.deploy({
      entry: join(ROOT, "test/worker/support/telling-entry.ts"),
      // No apiserver listens at this address.
      kubeUrl: "http://127.0.0.1:9",
      kubeCa: undefined,
      kubeToken: "a-token-of-no-cluster",
      macKeys: `1:${randomSecret()}`,
      adminSecretSha256: sha256(randomSecret()),
      variables: { METRICS_SECRET_SHA256: sha256(secret) },
    });
    const tellings = STATES.map((state, index) => {
      const silentSinceMs = state === "silent" ? FLEET_START_MS : null;
      return updateOf(index, 1, { state, silentSinceMs, address: "203.0.113.1" });
    });
    await fetch(`${worker.url}/tell`, { method: "POST", body: JSON.stringify(tellings) });
    place = await sharedSocketPlace();
    await place.shim({ index: USING });
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const file = writeConfiguration(folder, [
      { target: worker.url, secret },
      { target: place.worker.url, secret: place.worker.adminSecret },
    ]);
    const data = [`--storage.tsdb.path=${join(folder, "data")}`, `--web.listen-address=127.0.0.1:${port}`];
    const command = ["prometheus", `--config.file=${file}`, ...data, "--log.level=warn"];
    const part = parts.start("prometheus", command, join(folder, "prometheus.log"));
    await untilReady(part, async () => (await fetch(`${url}/-/ready`)).ok);
  });
  afterAll(async () => {
    await parts.stop();
    await place.stop();
    await worker.stop();
    rmSync(folder, { recursive: true });
  });

  async function api<T>(path: string): Promise<T> {
    const { data } = (await (await fetch(`${url}/api/v1/${path}`)).json()) as { data: T };
    return data;
  }
  /** Returns the current result of a Prometheus query. */
  async function query(expression: string): Promise<Series[]> {
    return (await api<{ result: Series[] }>(`query?query=${encodeURIComponent(expression)}`)).result;
  }

  const own = () => `{instance="${new URL(worker.url).host}"}`;

  /**
   * Repeats the check until it passes. The time limit is long because a scrape may come late: it only ends a test
   * that hangs.
   */
  const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 110_000, interval: 100 });

  it("scrapes with the secret, as OpenMetrics, and takes every line", () =>
    eventually(async () => {
      const { activeTargets } = await api<{ activeTargets: object[] }>("targets");
      const target = { health: "up", lastError: "", labels: { job: "rollcall" } };
      expect(activeTargets).toMatchObject([target, target]);
      expect(
        await query("up and scrape_samples_scraped == scrape_samples_post_metric_relabeling"),
      ).toHaveLength(2);
    }));

  it("has of each machine what the index has", () =>
    eventually(async () => {
      const states = await query(`rollcall_machine_state${own()}`);
      const known = Object.fromEntries(states.map(({ metric }) => [metric["machine"], metric["state"]]));
      expect(known).toEqual(Object.fromEntries(STATES.map((state, index) => [machineName(index), state])));
      const counts = await query(`rollcall_machines${own()} > 0`);
      expect(Object.fromEntries(counts.map(({ metric, value }) => [metric["state"], value[1]]))).toEqual({
        ready: "2",
        silent: "2",
        blocked: "1",
      });
      expect(await query('rollcall_outage_machines{network="203.0.113.1"} == 2')).toHaveLength(1);
      expect(await query(`rollcall_cluster_reachable${own()} == 0`)).toHaveLength(1);
    }));

  it("has each value of the usage dashboard for a machine that sends its usage", () =>
    eventually(async () => {
      const text = readFileSync(join(INFRA, "usage-dashboard.json"), "utf8");
      const { panels } = JSON.parse(text) as { panels: { targets: { expr: string }[] }[] };
      const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
      for (const expression of expressions) {
        const asked = expression.replaceAll("$instance", ".*").replaceAll("$machine", `sim-${USING}`);
        expect([expression, (await query(asked)).length]).toEqual([expression, 1]);
      }
    }));

  it("has read each metric's type", () =>
    eventually(async () => {
      const known = await api<Record<string, { type: string }[]>>("metadata");
      const types = Object.entries(METRICS).flatMap(([name, [type]]) => {
        const family = name.replace(/_(total|info)$/, "");
        return family in known ? [[name, type, known[family]?.[0]?.type]] : [];
      });
      expect(types.length).toBeGreaterThan(8);
      expect(types.filter(([, type, read]) => type !== read)).toEqual([]);
    }));

  it("has loaded the rules, and an alert that begins is pending", () =>
    eventually(async () => {
      const alerts = await query('ALERTS{alertstate="pending"}');
      expect(alerts.map(({ metric }) => metric["alertname"])).toEqual(
        expect.arrayContaining([
          "RollcallClusterUnreachable",
          "RollcallOutage",
          "RollcallMachineSilent",
          "RollcallMachineBlocked",
        ]),
      );
    }));
});

/**
 * Writes the configuration of infra/prometheus with the addresses and secrets of these Workers and without an
 * Alertmanager. Prometheus scrapes every two seconds.
 */
function writeConfiguration(folder: string, workers: readonly { target: string; secret: string }[]): string {
  const { alerting: _, ...own } = parse(readFileSync(join(INFRA, "prometheus.yml"), "utf8")) as {
    alerting: object;
    global: object;
    rule_files: string[];
    scrape_configs: { job_name: string }[];
  };
  mkdirSync(join(folder, "config"));
  const file = join(folder, "config", "prometheus.yml");
  const configuration = {
    ...own,
    global: { scrape_interval: "2s", evaluation_interval: "1s" },
    rule_files: own.rule_files.map((name) => join(INFRA, name)),
    scrape_configs: own.scrape_configs.flatMap((each) =>
      workers.map(({ target, secret }, index) => {
        const secretFile = join(folder, "config", `secret-${index}`);
        writeFileSync(secretFile, secret, { mode: 0o600 });
        return {
          ...each,
          // Prometheus wants another name for each secret, and all have the job that the rules select.
          job_name: `${each.job_name}-${index}`,
          scheme: "http",
          scrape_timeout: "2s",
          authorization: { credentials_file: secretFile },
          static_configs: [{ targets: [new URL(target).host], labels: { job: each.job_name } }],
        };
      }),
    ),
  };
  writeFileSync(file, stringify(configuration));
  return file;
}
