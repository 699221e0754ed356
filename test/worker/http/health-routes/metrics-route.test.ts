// Tests GET /metrics: its credentials, its answer, and its answer if a source does not respond.
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, test } from "vitest";
import worker from "../../../../worker/index.ts";
import { METRICS } from "../../../../worker/metrics/metrics.ts";
import { ADMIN_SECRET, METRICS_SECRET, ORIGIN, VIEW_SECRET } from "../../support/constants.ts";
import { machineName, updateOf } from "../../support/made-up-fleet.ts";
import { expectKnownLabels } from "../../support/metric-labels.ts";

/** The fleet index of this file. The deployment's own has machines of other tests. */
const index = env.INDEX.getByName("metrics-route");
const registry = env.REGISTRY.getByName("metrics-route");
const own = { ...env, INDEX: { getByName: () => index }, REGISTRY: { getByName: () => registry } };

async function ask(
  more: object = {},
  { secret = METRICS_SECRET, path = "/metrics", method = "GET", accept = "*/*" } = {},
) {
  const headers = { authorization: `Bearer ${secret}`, accept };
  const request = new Request(ORIGIN + path, { method, headers });
  const response = await worker.fetch(request, { ...own, ...more }, createExecutionContext());
  return {
    status: response.status,
    headers: response.headers,
    text: new TextDecoder().decode(await response.arrayBuffer()),
  };
}

/** Returns the samples in the text, for example `{ 'rollcall_machines{state="ready"}': 2 }`. */
function samplesOf(text: string): Record<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]),
  );
}

beforeAll(async () => {
  await index.tell(updateOf(1, 1));
  await index.tell(updateOf(2, 1));
  await index.tell(updateOf(2, 2, { state: "silent" }));
});

describe("credentials", () => {
  test.each<[who: string, secret: string, more: object, status: number]>([
    ["the scraper", METRICS_SECRET, {}, 200],
    ["an operator who may look", VIEW_SECRET, {}, 200],
    ["an operator", ADMIN_SECRET, {}, 200],
    ["another client", "wrong", {}, 403],
    ["the scraper, where there is no such secret", METRICS_SECRET, { METRICS_SECRET_SHA256: "" }, 403],
    ["a client with the hash", String(Reflect.get(env, "METRICS_SECRET_SHA256")), {}, 403],
  ])("%s", async (_, secret, more, status) => {
    expect((await ask(more, { secret })).status).toBe(status);
  });

  it("the scraper's secret is refused on every other route", async () => {
    for (const path of ["/readyz", "/v1/tokens", "/v1/audit", "/v1/nodes/a"])
      expect([path, (await ask({}, { path })).status]).toEqual([path, 403]);
    expect((await ask({}, { method: "POST" })).status).toBe(405);
  });
});

describe("the answer", () => {
  it("is OpenMetrics, with the samples of all sources", async () => {
    const { headers, text } = await ask();
    expect([headers.get("content-type"), headers.get("cache-control")]).toEqual([
      "application/openmetrics-text; version=1.0.0; charset=utf-8",
      "no-store",
    ]);
    expect(text).toMatch(/\n# EOF\n$/);
    expect(samplesOf(text)).toMatchObject({
      'rollcall_build_info{version="0.1.0",deployment="rollcall"}': 1,
      'rollcall_source_up{source="index"}': 1,
      'rollcall_source_up{source="registry"}': 1,
      'rollcall_source_up{source="cluster"}': 1,
      'rollcall_source_up{source="gateways"}': 1,
      'rollcall_machines{state="ready"}': 1,
      'rollcall_machines{state="silent"}': 1,
      'rollcall_machines{state="pending"}': 0,
      [`rollcall_machine_state{machine="${machineName(2)}",state="silent"}`]: 1,
      rollcall_index_changes_total: 3,
      'rollcall_refusals_total{reason="the token has expired"}': 0,
      rollcall_cluster_reachable: 1,
      'rollcall_apiserver_request_duration_seconds_count{verb="GET",code="404"}': expect.any(Number),
    });
  });

  it("every metric is in the table, with its labels, and no sample is repeated", async () => {
    const { text } = await ask({}, { accept: "text/plain" });
    const types = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name);
    expect(Object.keys(METRICS)).toEqual(expect.arrayContaining(types));
    expect(new Set(types).size).toBe(types.length);
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    for (const line of lines) expectKnownLabels(line);
    const series = lines.map((line) => line.replace(/ \S+$/, ""));
    expect(new Set(series).size).toBe(series.length);
  });

  it("for a client that accepts plain text only → plain text", async () => {
    const { headers, text } = await ask({}, { accept: "text/plain" });
    expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(text).not.toContain("# EOF");
  });

  it("MACHINE_METRICS = off → no lines for single machines, and the same counts", async () => {
    const { text } = await ask({ MACHINE_METRICS: "off" });
    expect(text).not.toContain(machineName(1));
    expect(samplesOf(text)).toMatchObject({ 'rollcall_machines{state="silent"}': 1 });
  });

  it("wakes no machine's object", async () => {
    const NODES = { getByName: () => expect.fail("woken"), get: () => expect.fail("woken") };
    expect((await ask({ NODES })).status).toBe(200);
  });
});

describe("a source that does not respond → down, without its samples", () => {
  const fails = { getByName: () => ({ metrics: () => Promise.reject(new Error("overloaded")) }) };
  test.each<[source: string, binding: string, absent: string, down: number]>([
    ["index", "INDEX", "rollcall_machine_state", 1],
    ["registry, which knows the gateways", "REGISTRY", "rollcall_refusals", 2],
    ["cluster", "CLUSTER", "rollcall_cluster_reachable", 1],
  ])("%s", async (source, binding, absent, down) => {
    const { status, text } = await ask({ [binding]: fails });
    expect(status).toBe(200);
    expect(text).toContain(`rollcall_source_up{source="${source.split(",")[0]}"} 0\n`);
    expect(text.match(/^rollcall_source_up.* 1$/gm)).toHaveLength(4 - down);
    expect(text).not.toContain(absent);
  });

  test("one gateway of three does not respond → gateways are down; the samples of the others are present", async () => {
    const registry = { gatewaysInUse: () => Promise.resolve([1, 2, 3]), metrics: () => Promise.resolve({}) };
    const sayingOf = (number: string) =>
      number === "2"
        ? Promise.reject(new Error("overloaded"))
        : Promise.resolve({ rollcall_gateway_machines: [{ labels: { gateway: number }, value: 500 }] });
    const { text } = await ask({
      REGISTRY: { getByName: () => registry },
      GATEWAYS: { getByName: (number: string) => ({ metrics: () => sayingOf(number) }) },
    });
    expect(samplesOf(text)).toMatchObject({
      'rollcall_source_up{source="gateways"}': 0,
      'rollcall_gateway_machines{gateway="1"}': 500,
      'rollcall_gateway_machines{gateway="3"}': 500,
    });
    expect(text).not.toContain('gateway="2"');
  });
});
