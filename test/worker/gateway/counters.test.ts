// Tests the metrics of a gateway.
import { expect, it } from "vitest";
import { Durations, type Sample } from "../../../worker/metrics/metrics.ts";
import { withKnownLabels } from "../support/metric-labels.ts";
import { GATEWAY, INTERVAL_MS, inGateway, START_MS } from "../support/made-up-gateway.ts";

const values = (samples: Sample[] | string | undefined, label: string) =>
  Object.fromEntries(
    (samples as Sample[])
      .filter(({ value }) => value !== 0)
      .map(({ labels, value }) => [labels[label], value]),
  );

it("heartbeats, renewals, and closed sockets by cause, with the start of the count", () =>
  inGateway(async (made) => {
    const socket = await made.connected("edge-1");
    await made.connected("edge-2");
    await made.beat(socket);
    await made.beat(socket, { afterMs: 100 });
    await made.beat(socket, { available: 0 });
    await made.report(socket);
    made.leases.delete("edge-1");
    await made.beat(socket);
    await made.receive(socket, "hello");
    const standing = made.gateway.status();
    expect(standing).toEqual({
      gateway: GATEWAY,
      members: 1,
      isSuspended: false,
      queue: { length: 0, seconds: 0 },
    });
    const measured = withKnownLabels(made.counters.measure(standing!, new Durations(() => 0)));
    expect(measured.rollcall_gateway_machines).toEqual([{ labels: { gateway: "7" }, value: 1 }]);
    expect(measured.rollcall_gateway_heartbeats_total).toEqual([
      { labels: { gateway: "7" }, value: 4, sinceMs: START_MS },
    ]);
    expect(measured.rollcall_gateway_quiet_heartbeats_total).toMatchObject([{ value: 2 }]);
    expect(values(measured.rollcall_gateway_again_total, "reason")).toEqual({ "not quiet": 1, lease: 1 });
    expect(values(measured.rollcall_gateway_renewals_total, "outcome")).toEqual({ renewed: 1, lost: 1 });
    expect(values(measured.rollcall_gateway_closed_sockets_total, "reason")).toEqual({ "bad frame": 1 });
  }));

it("the apiserver fails → the metric of suspended requests", () =>
  inGateway(async (made) => {
    const socket = await made.connected("edge-1");
    made.onPut = () => Promise.resolve({ kind: "failed", isAnswered: true, retryAfterMs: 0 });
    await made.beat(socket, { afterMs: INTERVAL_MS });
    const measured = made.counters.measure(made.gateway.status()!, new Durations(() => 0));
    expect(measured.rollcall_gateway_suspended).toMatchObject([{ value: 1 }]);
    expect(values(measured.rollcall_gateway_renewals_total, "outcome")).toEqual({ failed: 1 });
  }));

it("durations of PUTs, for this gateway", () =>
  inGateway(async (made) => {
    await made.connected("edge-1");
    const durations = new Durations(() => 0);
    durations.note("PUT", "200", 0);
    const { rollcall_gateway_request_duration_seconds: taken } = made.counters.measure(
      made.gateway.status()!,
      durations,
    );
    expect(taken).toMatchObject([{ labels: { gateway: "7", verb: "PUT", code: "200" } }]);
  }));

it("without a machine → no metrics", () =>
  inGateway(async (made) => {
    expect(made.gateway.status()).toBeNull();
    await Promise.resolve();
  }));
