// Tests that machines of one join token cannot fill the cluster's etcd by their number: new Nodes wait for the token's
// share, operators see the token, and machines with other tokens do not wait.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import type { ReadinessAnswer } from "../../shared/protocol/operator-answers.ts";
import { shares, RATE_LIMITS } from "../../worker/storage/token-bucket.ts";
import { sharedLimitsFactor } from "../../worker/env.ts";
import { shift, stopClock } from "../worker/support/clock.ts";
import {
  enrolled,
  enrolling,
  facts,
  HEALTHY,
  mintToken,
  operator,
  send,
  shimOf,
} from "../worker/support/machine.ts";
import { ADMIN_SECRET } from "../worker/support/constants.ts";

afterEach(() => void vi.useRealTimers());

/** Uses a token's share up, so that its next Node waits for `waitMs`. */
function useUp(token: string, waitMs: number): Promise<void> {
  const left = 1 - waitMs / shares(RATE_LIMITS.newNodes, sharedLimitsFactor(env)).everyMs;
  const put = "INSERT OR REPLACE INTO shares VALUES (?, ?, 1e9, ?)";
  return runInDurableObject(
    env.INDEX.getByName("index"),
    (_, { storage }) => void storage.sql.exec(put, token, left, Date.now()),
  );
}

it("a token whose share is used up → its new machines wait with a message, others do not, and operators see it", async () => {
  stopClock();
  const joinToken = await mintToken({ names: "flood-*", uses: 100 });
  const machines = [];
  for (const name of ["flood-1", "flood-2"]) {
    const key = await makeMachineKey();
    const outcome = await enrolling(name, { joinToken, key });
    if (!("kid" in outcome)) throw new Error(outcome.reason);
    machines.push({ name, report: shimOf({ name, key, kid: outcome.kid }) });
  }
  const { body } = await operator<{ tokens: { id: string; names: string }[] }>("GET", "/v1/tokens");
  const { id } = body.tokens.find(({ names }) => names === "flood-*")!;
  await useUp(id, 100_000);

  for (const { name, report } of machines)
    expect(await report(facts(name), HEALTHY)).toMatchObject({
      ok: true,
      value: {
        phase: "registering",
        message: "the limit of new Nodes of its join token is reached: its Node is written later",
      },
    });
  const other = shimOf(await enrolled("site-1"));
  expect(await other(facts("site-1"), HEALTHY)).toMatchObject({ value: { phase: "registered" } });

  const ready = await operator<ReadinessAnswer>("GET", "/readyz");
  const limits = ready.body.checks.find(({ check }) => check === "limits");
  expect(limits).toMatchObject({
    state: "warning",
    message: expect.stringContaining(`new Nodes of ${id}, since 2`) as string,
  });
  const headers = { authorization: `Bearer ${ADMIN_SECRET}`, accept: "text/plain" };
  const metrics = await (await send("/metrics", { headers })).text();
  expect(metrics).toContain(`rollcall_limit_reached{limit="new Nodes",subject="${id}"} 1`);

  shift(101_000);
  for (const { name, report } of machines) {
    await report(facts(name), HEALTHY);
    expect(await report(facts(name), HEALTHY)).toMatchObject({ value: { phase: "registered" } });
  }
});
