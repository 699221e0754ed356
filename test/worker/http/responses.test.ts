// Tests that a Worker without its configuration reports this to machines. Such a Worker must not refuse their
// signatures or tokens. Also tests the header authorization, and a machine's object that is forgotten.
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import type { Problem } from "../../../shared/protocol/answers.ts";
import { bearer, forget } from "../../../worker/http/responses.ts";
import worker from "../../../worker/index.ts";
import { FORGOTTEN } from "../../../worker/machine/answers.ts";
import type { NodeObject } from "../../../worker/machine/node-object.ts";
import { ADMIN_SECRET, ORIGIN } from "../support/constants.ts";
import { enrolmentBody, enrolmentPath } from "../support/enrolling.ts";
import { enrolled, mintToken, transport } from "../support/machine.ts";
import { leave, rotate } from "../../../node-shim/worker-link/requests.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import type { Transport } from "../../../node-shim/worker-link/exchange.ts";
import { facts, HEALTHY } from "../support/facts.ts";

/** Sends a request to a Worker with other variables and secrets. */
async function sendTo(more: object, path: string, init: RequestInit): Promise<Response> {
  const silent = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const response = await worker.fetch(
    new Request(ORIGIN + path, init),
    { ...env, ...more },
    createExecutionContext(),
  );
  silent.mockRestore();
  return response;
}

const REFUSED = {
  ok: false,
  error: { reason: "refused", problem: { status: 503, reason: "not-configured" } },
};

describe.each<[situation: string, more: object]>([
  ["without origins", { ORIGINS: "" }],
  ["without the variable for origins", { ORIGINS: undefined }],
  ["without the keys of kids", { KID_MAC_KEYS: undefined }],
  ["with keys of kids that cannot be read", { KID_MAC_KEYS: "1:+" }],
  ["with a bound that is no number", { MIN_LEASE_SECONDS: "20s" }],
  ["with too few requests", { MACHINE_REQUESTS: "1" }],
  ["without a deployment", { DEPLOYMENT: "" }],
])("a Worker %s → 503 not-configured", (situation, more) => {
  const through: Transport = async ({ method, path, headers, body }) => {
    const response = await sendTo(more, path, { method, headers, body });
    return { status: response.status, body: await response.text() };
  };

  it("for enrolments, reports, rotations and leaves", async () => {
    const name = `configured-${situation.replaceAll(/[^a-z]/g, "-")}`;
    const machine = { ...(await enrolled(name)), origin: ORIGIN };
    const key = await makeMachineKey();
    const body = await enrolmentBody(name, { joinToken: await mintToken({ names: name }), key });
    const enrolment = await sendTo(more, enrolmentPath(name), { method: "PUT", body });
    expect(await enrolment.json<Problem>()).toMatchObject(REFUSED.error.problem);
    const report = (send: Transport) =>
      reporter({ ...machine, startId: "s", send, machineTime: () => "2026-01-02T03:04:05Z" });
    expect(await report(through)(facts(name), HEALTHY)).toMatchObject(REFUSED);
    expect(await rotate(through, machine, key)).toMatchObject(REFUSED);
    expect(await leave(through, machine)).toMatchObject(REFUSED);
    // No request counted as a failed attempt: the machine reports again once the Worker is configured.
    expect(await report(transport)(facts(name), HEALTHY)).toMatchObject({ ok: true });
  });
});

it("machines are served without an apiserver, without operators and with an expired token", async () => {
  const name = "configured-enough";
  const key = await makeMachineKey();
  const body = await enrolmentBody(name, { joinToken: await mintToken({ names: name }), key });
  const more = { KUBE_URL: "", KUBE_TOKEN: "", ADMIN_SECRET_SHA256: "" };
  expect((await sendTo(more, enrolmentPath(name), { method: "PUT", body })).status).toBe(200);
});

it("no operator can sign in → 503 with the missing setting, and no failure is counted", async () => {
  const headers = { authorization: `Bearer ${ADMIN_SECRET}` };
  const more = { ADMIN_SECRET_SHA256: "", VIEW_SECRET_SHA256: "" };
  for (const path of ["/v1/tokens", "/readyz"]) {
    const response = await sendTo(more, path, { headers });
    expect(await response.json()).toMatchObject({
      status: 503,
      reason: "not-configured",
      detail: expect.stringContaining("ADMIN_SECRET_SHA256"),
    });
  }
});

it("a faulty limit refuses machines, but not operators; livez still answers", async () => {
  const headers = { authorization: `Bearer ${ADMIN_SECRET}` };
  const more = { MAX_IMAGES: "all", ORIGINS: "" };
  expect((await sendTo(more, "/v1/tokens", { headers })).status).toBe(200);
  expect(await (await sendTo(more, "/livez", {})).text()).toBe("ok");
});

it.each([
  ["Bearer a.b~c+d/e-f_1=", "a.b~c+d/e-f_1="],
  ["bearer  secret", "secret"],
  ["Bearer", null],
  ["Bearer secret more", null],
  ["Basic Bearer secret", null],
  [undefined, null],
])("the header authorization: %s → the secret %s", (header, secret) => {
  expect(bearer(header)).toBe(secret);
});

describe("a machine's object that is forgotten", () => {
  const failing = (error: Error) =>
    ({ forget: () => Promise.reject(error) }) as unknown as DurableObjectStub<NodeObject>;

  it("aborts itself → forgotten", async () => {
    await expect(forget(failing(new Error(`Error: ${FORGOTTEN}`)))).resolves.toBeUndefined();
  });

  it("fails otherwise → the request fails", async () => {
    await expect(forget(failing(new Error("overloaded")))).rejects.toThrow("overloaded");
  });
});
