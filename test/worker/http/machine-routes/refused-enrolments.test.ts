// Tests the answer to an enrolment for each refusal of the registry, and to other requests that a machine's object
// refuses. The registry and the machine's object are in memory.
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../../node-shim/identity/identity.ts";
import type { Problem } from "../../../../shared/protocol/answers.ts";
import { failure, success } from "../../../../shared/result.ts";
import { challengeTime } from "../../../../worker/identity/issued.ts";
import { parseMacKeys } from "../../../../worker/identity/mac-keys.ts";
import worker from "../../../../worker/index.ts";
import { CHANGE_AGAIN_SECONDS, KEY_REVOKED } from "../../../../worker/machine/answers.ts";
import type { NotAdmitted } from "../../../../worker/registry/admission.ts";
import { setClock } from "../../support/clock.ts";
import { kidOf } from "../../support/connecting.ts";
import { ORIGIN } from "../../support/constants.ts";
import { enrolmentBody, enrolmentPath } from "../../support/enrolling.ts";
import { mintToken } from "../../support/machine.ts";
import { reportHeaders } from "../../support/posting.ts";

const NAME = "refused-enrolment";
const key = await makeMachineKey();
const named = (object: object) => ({ getByName: () => object });

/** Sends an enrolment to a Worker whose registry has this answer, and whose machine's object knows no pin. */
async function enrolling(admitted: unknown) {
  const admit = vi.fn(() => Promise.resolve(admitted));
  const body = await enrolmentBody(NAME, { joinToken: await mintToken(), key });
  const headers = { "content-type": "application/json", "rollcall-until": String(Date.now() + 9000) };
  const request = new Request(ORIGIN + enrolmentPath(NAME), { method: "PUT", headers, body });
  const NODES = named({ enrol: () => Promise.resolve(null) });
  const response = await worker.fetch(
    request,
    { ...env, REGISTRY: named({ admit }), NODES },
    createExecutionContext(),
  );
  expect(admit).toHaveBeenCalledTimes(1);
  const { reason, detail, challenge } = await response.json<Problem>();
  return { status: response.status, wait: response.headers.get("retry-after"), reason, detail, challenge };
}

it.each<[why: NotAdmitted, expected: Partial<Awaited<ReturnType<typeof enrolling>>>]>([
  [
    { reason: "not its turn", waitSeconds: 48, detail: "About 48 s." },
    { status: 503, reason: "busy", wait: "48", detail: "About 48 s." },
  ],
  [
    { reason: "too late" },
    {
      status: 503,
      reason: "busy",
      wait: expect.stringMatching(/^(10|[3-9])$/) as string,
      detail: "Wait as long as Retry-After says, then try again.",
    },
  ],
  [{ reason: "too often" }, { status: 429, reason: "rate-limited", wait: String(CHANGE_AGAIN_SECONDS) }],
  [
    { reason: "pending" },
    {
      status: 409,
      reason: "name-pinned",
      detail: `An operator has to approve this machine's key: rollcall approve ${NAME} ${key.thumbprint}.`,
    },
  ],
  [
    { reason: "full" },
    {
      status: 409,
      reason: "name-pinned",
      detail: "An operator has to approve one of the machines that wait for it before others can.",
    },
  ],
])("a registry that answers %j → %j", async (why, expected) => {
  expect(await enrolling(failure(why))).toMatchObject(expected);
});

it.each([
  ["in the past → a challenge of now", -1, 0],
  ["at a later time by the registry's clock → a challenge that is newer than the change", 1000, 1001],
])("a registry whose last change of the name is %s", async (_, changedMs, challengedMs) => {
  const nowMs = Date.now();
  setClock(nowMs);
  const { reason, challenge } = await enrolling(
    failure({ reason: "not fresh", changedAtMs: nowMs + changedMs }),
  );
  const challenged = { name: NAME, thumbprint: key.thumbprint };
  const timeMs = await challengeTime(parseMacKeys(env.KID_MAC_KEYS), challenged, challenge ?? "", nowMs);
  expect([reason, timeMs]).toEqual(["challenge-stale", nowMs + challengedMs]);
});

it("an object that knows no pin of the machine any more → token-refused, and no kid", async () => {
  expect(await enrolling(success({ name: NAME }))).toMatchObject({ status: 401, reason: "token-refused" });
});

it("a request to leave that the machine's object refuses → the refusal, and the object is not forgotten", async () => {
  const forget = vi.fn();
  const NODES = named({ leave: () => Promise.resolve(KEY_REVOKED), forget });
  const headers = await reportHeaders({ name: NAME, key, kid: await kidOf(NAME, key) }, "{}");
  const request = new Request(`${ORIGIN}/v1/nodes/${NAME}/leave`, { method: "POST", headers, body: "{}" });
  const response = await worker.fetch(request, { ...env, NODES }, createExecutionContext());
  expect([response.status, await response.json()]).toMatchObject([403, { reason: "key-revoked" }]);
  expect(forget).not.toHaveBeenCalled();
});
