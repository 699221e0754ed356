// Tests a gateway that does not answer the withdrawal of a loan. The gateway's next PUT conflicts, in any state of the
// apiserver. The node object's alarm retries failed writes.
import { afterEach, describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import type { Lease } from "../../../shared/kubernetes/types.ts";
import { GatewayObject } from "../../../worker/gateway/gateway-object.ts";
import type { Fault } from "../../worker/support/fault.ts";
import {
  enrolling,
  kube,
  mintToken,
  operator,
  requestsAbout,
  setFault,
} from "../../worker/support/machine.ts";
import { leasePath, putsOf } from "./members.ts";
import {
  BEAT_MS,
  evictNode,
  nextBeat,
  objectOf,
  type OnSocket,
  onSocket,
  PUT_LEASE,
  renewedBy,
  ringNode,
  slug,
} from "./on-socket.ts";
import { shift } from "../../worker/support/clock.ts";

const RECALLED = "rollcall.dev/recalled";
const LOST = { type: "again", reason: "lease" };
/** Milliseconds between two attempts of the node object's alarm. */
const AGAIN_MS = 10_000;
const REFUSES: Fault = { kind: "status", code: 500, reason: "InternalError", of: "/leases/" };

afterEach(() => {
  vi.restoreAllMocks();
});

const leaseOf = ({ name }: OnSocket) => kube<Lease>("GET", leasePath(name));
const recalledAt = async (of: OnSocket) => (await leaseOf(of)).metadata?.annotations?.[RECALLED];

/** Returns a machine whose lease is lent, and whose gateway answers only heartbeats and reports. */
async function unanswering(name: string): Promise<OnSocket> {
  const known = await onSocket(name);
  const unanswered = () => Promise.reject(new Error("reset"));
  vi.spyOn(GatewayObject.prototype, "recall").mockImplementation(unanswered);
  vi.spyOn(GatewayObject.prototype, "dismiss").mockImplementation(unanswered);
  shift(BEAT_MS / 2);
  await requestsAbout(name);
  return known;
}

/** Notifies the node object that another writer has changed the machine's Node. */
const isNoticed = ({ name }: OnSocket) => objectOf(name).noticeNode(null);
const isRevoked = async ({ name }: OnSocket) =>
  expect((await operator("POST", `/v1/nodes/${name}/revoke`)).status).toBe(204);

const leaseRequests = async ({ name }: OnSocket) =>
  (await requestsAbout(name)).filter((request) => request.includes(leasePath(name)));
const TOUCHED = ({ name }: OnSocket) => [`GET ${leasePath(name)}`, ...putsOf(name, 1)];

/** Expects that the gateway renews nothing more under the loan. */
async function expectLost(of: OnSocket): Promise<void> {
  const { renewTime } = (await leaseOf(of)).spec ?? {};
  expect(await renewedBy(of.name, async () => expect(await nextBeat(of.socket)).toEqual(LOST))).toBe(0);
  expect((await leaseOf(of)).spec?.renewTime).toBe(renewTime);
}

describe.each([
  ["another writer changes its Node", isNoticed],
  ["its keys are revoked", isRevoked],
])("%s, and its gateway does not answer the withdrawal", (why, withdrawals) => {
  it("→ the lease is written at once, without a renewal; the loan's PUT conflicts", async () => {
    const known = await unanswering(slug("unanswered", why));
    const { renewTime } = (await leaseOf(known)).spec ?? {};
    await withdrawals(known);
    expect(await leaseRequests(known)).toEqual(TOUCHED(known));
    expect(await recalledAt(known)).toBe(new Date().toISOString());
    expect((await leaseOf(known)).spec?.renewTime).toBe(renewTime);
    await expectLost(known);
    // The write has taken effect, so the alarm must not repeat it.
    await leaseRequests(known);
    shift(AGAIN_MS);
    await ringNode(known.name);
    expect(await leaseRequests(known)).not.toContain(putsOf(known.name, 1)[0]);
  });

  it("the lease is renewed during that write → it is read again, and written", async () => {
    const known = await unanswering(slug("unanswered-conflict", why));
    const conflict = { kind: "status", code: 409, reason: "Conflict" } as const;
    await setFault(known.name, { ...conflict, of: PUT_LEASE, times: 1 });
    await withdrawals(known);
    expect(await leaseRequests(known)).toEqual([...TOUCHED(known), ...TOUCHED(known)]);
    await expectLost(known);
  });

  it.each([
    ["awake", false],
    ["evicted", true],
  ])(
    "the apiserver fails, the object %s → the alarm repeats it until it is done",
    async (state, isEvicted) => {
      const known = await unanswering(slug("unanswered-fails", state, why));
      const { name } = known;
      await setFault(name, REFUSES);
      await withdrawals(known);
      if (isEvicted) await evictNode(name);
      shift(AGAIN_MS);
      expect(await ringNode(name)).toBe(true);
      expect(await recalledAt(known)).toBeUndefined();
      await setFault(name, "");
      await leaseRequests(known);
      shift(AGAIN_MS);
      expect(await ringNode(name)).toBe(true);
      expect((await leaseRequests(known)).slice(0, 2)).toEqual(TOUCHED(known));
      expect(await recalledAt(known)).toBe(new Date().toISOString());
      await expectLost(known);
    },
  );
});

it("another machine has the name before the write → the lease is written all the same", async () => {
  const known = await unanswering("unanswered-approved");
  const { name } = known;
  const key = await makeMachineKey();
  const waits = await enrolling(name, { joinToken: await mintToken({ names: name }), key });
  expect(waits).toMatchObject({ reason: "name-pinned" });
  await setFault(name, REFUSES);
  const approval = { thumbprint: key.thumbprint };
  expect((await operator("POST", `/v1/nodes/${name}/approve`, approval)).status).toBe(204);
  await setFault(name, "");
  shift(AGAIN_MS);
  await ringNode(name);
  expect(await recalledAt(known)).toBe(new Date().toISOString());
  await expectLost(known);
});
