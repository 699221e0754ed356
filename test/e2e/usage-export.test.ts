// Runs a real Prometheus 3 as the receiver of usage: what a machine's shim sends over its socket arrives there, with the
// machine's labels, from the Worker in workerd.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { localParts, untilReady } from "../../infra/local/parts.ts";
import { freePort } from "../../infra/local/ports.ts";
import { USAGE_LIMITS } from "../../shared/protocol/limits.ts";
import { METRICS } from "../../worker/metrics/metrics.ts";
import { missingProgram, programOf } from "../neighbours/programs.ts";
import { embeddedApiserver, type SocketPlace, startSocketPlace } from "./sockets/socket-place.ts";

interface Series {
  metric: Record<string, string>;
  value: [at: number, text: string];
}

describe.skipIf(missingProgram("prometheus") !== null)("a real Prometheus 3 as receiver", () => {
  const parts = localParts(() => undefined);
  let folder = "";
  let url = "";
  let place: SocketPlace;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rollcall-receiver-"));
    url = `http://127.0.0.1:${await freePort()}`;
    const file = join(folder, "prometheus.yml");
    writeFileSync(file, JSON.stringify({ storage: { tsdb: { out_of_order_time_window: "70m" } } }));
    const part = parts.start(
      "prometheus",
      [
        programOf("prometheus"),
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, "data")}`,
        `--web.listen-address=${new URL(url).host}`,
        "--web.enable-otlp-receiver",
        "--log.level=warn",
      ],
      join(folder, "prometheus.log"),
    );
    await untilReady(part, async () => (await fetch(`${url}/-/ready`)).ok);
    place = await startSocketPlace([], async (of) => ({
      ...(await embeddedApiserver(of)),
      variables: {
        USAGE_OTLP_URL: `${url}/api/v1/otlp/v1/metrics`,
        USAGE_OTLP_LABELS: "site rollcall.dev/hostname",
      },
    }));
    await place.shim({ index: 1 });
  });
  afterAll(async () => {
    await place?.stop();
    await parts.stop();
    rmSync(folder, { recursive: true });
  });

  async function query<T = Series>(expression: string): Promise<T[]> {
    const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
    return ((await answer.json()) as { data: { result: T[] } }).data.result;
  }
  /** Repeats the check until it passes. A gateway sends at most twice a minute. */
  const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 110_000, interval: 200 });

  it("has each amount under the name that a scrape gives it, with the machine's labels", () =>
    eventually(async () => {
      const found = await query('{job="rollcall", instance="rollcall", rollcall_dev_hostname="sim-1"}');
      const names = found.map(({ metric }) => metric["__name__"] ?? "").sort();
      const scraped = Object.entries(METRICS).filter(
        ([name, [, , labels]]) =>
          labels.join() === "machine" && /^node_|^rollcall_machine_(?!usage|state)/.test(name),
      );
      expect(names).toEqual(scraped.map(([name]) => name).sort());
      const load = found.find(({ metric }) => metric["__name__"] === "node_load1");
      expect([load?.metric["machine"], load?.value[1]]).toEqual(["sim-1", "1"]);
    }));

  it("has the sample that the machine has kept until its socket was open, with its own time", () =>
    eventually(async () => {
      const found = await query<{ values: [at: number][] }>("node_load1[1h]");
      const [first, second] = found.flatMap(({ values }) => values).sort(([a], [b]) => a - b);
      const apart = (second?.[0] ?? 0) - (first?.[0] ?? 0);
      expect(apart).toBeGreaterThan(0);
      expect(apart).toBeLessThan(USAGE_LIMITS.everySeconds);
    }));

  it("the Worker's metrics count what was sent, and that nothing was lost", () =>
    eventually(async () => {
      const headers = { authorization: `Bearer ${place.worker.adminSecret}` };
      const text = await (await fetch(`${place.worker.url}/metrics`, { headers })).text();
      const outcomes = text.match(/^rollcall_gateway_usage_samples_total\{.*$/gm) ?? [];
      expect(outcomes.map((line) => line.replace(/.*outcome="(\w+)"\} (\d+)/, "$1 $2"))).toEqual([
        expect.stringMatching(/^sent [1-9]/),
        "refused 0",
        "dropped 0",
        "expired 0",
      ]);
    }));
});
