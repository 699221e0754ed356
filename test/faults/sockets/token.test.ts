// Tests an apiserver that refuses a gateway's cluster token: the gateway uses the next token of the chain within
// the same heartbeat.
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { clusterObject } from "../../../worker/env.ts";
import { setClock } from "../../worker/support/clock.ts";
import { kube, setFault } from "../../worker/support/machine.ts";
import { crash, lentMachine, live, putsOf, stoppedClock } from "./members.ts";
import { BEAT_MS, PUT_LEASE } from "./on-socket.ts";

const before = env.KUBE_TOKEN;
const [NAMESPACE, ACCOUNT] = ["rollcall-system", "rollcall"];

/** Creates the ServiceAccount of docs/deploy.md. Returns a token of it. */
async function accountToken(): Promise<string> {
  const make = (path: string, object: { metadata: { name: string } } & Record<string, unknown>) =>
    kube("POST", path, object);
  const ofNamespace = `/api/v1/namespaces/${NAMESPACE}`;
  const metadata = { name: ACCOUNT };
  await make("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  await make(`${ofNamespace}/serviceaccounts`, { metadata });
  await make(`${ofNamespace}/secrets`, { metadata });
  await make("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: ACCOUNT, namespace: NAMESPACE }],
  });
  const boundObjectRef = { apiVersion: "v1", kind: "Secret", name: ACCOUNT };
  const issued = await kube<{ status: { token: string } }>(
    "POST",
    `${ofNamespace}/serviceaccounts/${ACCOUNT}/token`,
    { spec: { boundObjectRef, expirationSeconds: 3600 } },
  );
  return issued.status.token;
}

/** Gives the Worker this cluster token from now on, as a deployment does. */
async function deploy(token: string): Promise<void> {
  Object.assign(env, { KUBE_TOKEN: token });
  await crash(clusterObject(env));
}

beforeAll(async () => deploy(await accountToken()));
// The clock is the real one, because the apiserver computes a token's end in real time.
beforeEach(() => setClock(vi.getRealSystemTime()));
afterAll(() => deploy(before));
afterEach(() => void vi.restoreAllMocks());

it("once → another token is requested, and the same heartbeat renews the lease; later requests use that token", async () => {
  const clock = stoppedClock();
  const machine = await lentMachine("token-refused", clock);
  // A gateway requests a token when it starts, and at most once a minute: it may request one again now.
  await live([machine], clock, 80_000);
  await machine.asked();
  const renewals = (await machine.renewals()).length;
  const refused = { kind: "status", code: 401, reason: "Unauthorized" } as const;
  await setFault(machine.name, { ...refused, of: PUT_LEASE, times: 1 });
  clock.shift(BEAT_MS);
  expect(await machine.beat()).toMatchObject({ type: "answer" });
  expect(await machine.asked()).toEqual(putsOf(machine.name, 2));
  expect((await machine.renewals()).length).toBe(renewals + 1);
  clock.shift(BEAT_MS);
  expect(await machine.beat()).toMatchObject({ type: "answer" });
  expect(await machine.asked()).toEqual(putsOf(machine.name, 1));
  expect(await clusterObject(env).tokenStatus()).toMatchObject({ source: "renewed" });
});
