// Tests which work the cron trigger starts, and when: each minute, every five minutes, once a day.
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
// oxlint-disable-next-line import/default -- with ?raw the bundler exports the text
import wrangler from "../../wrangler.toml?raw";
import { ClusterObject } from "../../worker/cluster/cluster-object.ts";
import { IndexObject } from "../../worker/fleet/index-object.ts";
import { GatewayObject } from "../../worker/gateway/gateway-object.ts";
import { RegistryObject } from "../../worker/registry/registry-object.ts";
import { pass } from "./support/clock.ts";
import { scheduled } from "../../worker/scheduled.ts";

const ring = (time: string, more: object = {}) =>
  scheduled(
    { scheduledTime: Date.parse(time), cron: "", noRetry: () => undefined },
    {
      ...env,
      ...more,
    },
  );

beforeEach(() => {
  vi.spyOn(RegistryObject.prototype, "gatewaysInUse").mockReturnValue([]);
});
afterEach(() => {
  vi.restoreAllMocks();
});

it("it rings each minute", () => {
  expect(/^crons = (.*)$/m.exec(wrangler)?.[1]).toBe('["* * * * *"]');
});

it.each([
  ["at 03:00", "2026-01-02T03:00:00Z", { REMOVE_SILENT_NODES_DAYS: "30" }, 1],
  ["at 03:00, within the minute", "2026-01-02T03:00:59Z", { REMOVE_SILENT_NODES_DAYS: "30" }, 1],
  ["at 03:01", "2026-01-02T03:01:00Z", { REMOVE_SILENT_NODES_DAYS: "30" }, 0],
  ["at 03:05", "2026-01-02T03:05:00Z", { REMOVE_SILENT_NODES_DAYS: "30" }, 0],
  ["at 04:00", "2026-01-02T04:00:00Z", { REMOVE_SILENT_NODES_DAYS: "30" }, 0],
  ["at 03:00, where it is off", "2026-01-02T03:00:00Z", { REMOVE_SILENT_NODES_DAYS: "" }, 1],
])("%s → ended tokens and Nodes of silent machines are looked for: %#", async (_, time, variables, times) => {
  const removal = vi.spyOn(RegistryObject.prototype, "removeSilentNodes").mockResolvedValue();
  await ring(time, variables);
  expect(removal).toHaveBeenCalledTimes(times);
});

it.each([
  ["at 12:00", "2026-01-02T12:00:00Z", 1],
  ["at 12:04", "2026-01-02T12:04:00Z", 0],
  ["at 12:05", "2026-01-02T12:05:00Z", 1],
  ["at 12:06", "2026-01-02T12:06:00Z", 0],
  ["at 12:59", "2026-01-02T12:59:59Z", 0],
])("%s → the watch of the Nodes and the index are looked after: %i", async (_, time, times) => {
  const watch = vi.spyOn(ClusterObject.prototype, "watchNodes").mockResolvedValue();
  const care = vi.spyOn(IndexObject.prototype, "care").mockResolvedValue();
  await ring(time);
  expect([watch, care].map(({ mock }) => mock.calls.length)).toEqual([times, times]);
});

describe("each minute, gateways", () => {
  const AT = "2026-01-02T12:01:00Z";
  /**
   * Returns an environment with gateways. `inUse`: the registry's list of used gateways. `care`: a gateway's
   * reaction to the call.
   */
  function gateways(inUse: () => Promise<number[]>, care: (number: number) => Promise<void>) {
    const asked: number[] = [];
    const careOf = (number: number) => {
      asked.push(number);
      return care(number);
    };
    return {
      asked,
      REGISTRY: { getByName: () => ({ gatewaysInUse: inUse }) },
      GATEWAYS: { getByName: (name: string) => ({ care: () => careOf(Number(name)) }) },
    };
  }
  const these =
    (...numbers: number[]) =>
    () =>
      Promise.resolve(numbers);
  const well = () => Promise.resolve();
  const silenced = () => vi.spyOn(console, "error").mockImplementation(() => undefined);
  const range = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

  it("that machines have → are asked, and no other", async () => {
    const { asked, ...bindings } = gateways(these(2, 9), well);
    await ring(AT, bindings);
    expect(asked).toEqual([2, 9]);
  });

  it("that are the Worker's own → are asked", async () => {
    const care = vi.spyOn(GatewayObject.prototype, "care");
    vi.spyOn(RegistryObject.prototype, "gatewaysInUse").mockReturnValue([999_001]);
    await ring(AT);
    expect(care).toHaveBeenCalledTimes(1);
  });

  it("of which there are many → are asked 50 at a time, each once", async () => {
    let [now, most] = [0, 0];
    const { asked, ...bindings } = gateways(these(...range(120)), async () => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      now--;
    });
    await ring(AT, bindings);
    expect(most).toBe(50);
    expect(asked).toEqual(range(120));
  });

  it("that fail → are logged, and the others are asked", async () => {
    const log = silenced();
    const fails = (number: number) => (number === 2 ? Promise.reject(new Error("overloaded")) : well());
    const { asked, ...bindings } = gateways(these(1, 2, 3), fails);
    await ring(AT, bindings);
    expect(asked).toEqual([1, 2, 3]);
    expect(log.mock.calls).toEqual([
      ['{"message":"a gateway was not cared for","number":2,"error":"Error: overloaded"}'],
    ]);
  });

  it("that do not answer → are waited for ten seconds", async () => {
    const log = silenced();
    const rung = vi.fn();
    void ring(
      AT,
      gateways(these(1), () => new Promise(() => undefined)),
    ).then(rung);
    await pass(9999);
    expect(rung).not.toHaveBeenCalled();
    await pass(1);
    expect(rung).toHaveBeenCalledTimes(1);
    expect(log).toHaveBeenCalledTimes(1);
  });

  it("of which the registry does not tell → that is logged, and all else is done", async () => {
    const log = silenced();
    const watch = vi.spyOn(ClusterObject.prototype, "watchNodes").mockResolvedValue();
    vi.spyOn(IndexObject.prototype, "care").mockResolvedValue();
    await ring(
      "2026-01-02T12:05:00Z",
      gateways(() => Promise.reject(new Error("overloaded")), well),
    );
    expect(watch).toHaveBeenCalledTimes(1);
    expect(log.mock.calls).toEqual([
      ['{"message":"a gateway was not cared for","error":"Error: overloaded"}'],
    ]);
  });
});
